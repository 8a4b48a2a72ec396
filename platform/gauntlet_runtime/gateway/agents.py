"""What a gateway knows of each sandbox of the agent that runs: what it was given, and what it may still have."""

from __future__ import annotations

from dataclasses import dataclass, field

from gauntlet_runtime.jobs import EpisodeSpec, Isolation


@dataclass(eq=False)
class Agent:
    """One running sandbox of the agent.

    Where each scenario has a sandbox of its own, that sandbox brings one episode to an end and is then to leave.
    """

    generation: int
    isolation: Isolation
    opened: int = 0
    ended: int = 0
    asked: bool = False
    overdue: bool = False  # nothing is left for it, or it let an episode run out of time
    had: str | None = None  # the episode that it was handed last
    trials: dict[str, int] = field(default_factory=dict)  # which trial of a scenario, by its key, it was given
    idle_since: float = 0.0
    told_idle: bool = False

    @property
    def done(self) -> bool:
        """It has had all that it may have."""
        return self.isolation == "scenario" and self.ended > 0

    def parallel(self, slots: int) -> int:
        """How many episodes it may have open at once."""
        return 1 if self.isolation == "scenario" else slots

    def may_have(self, spec: EpisodeSpec) -> bool:
        """No two trials of one scenario share a sandbox, and no two scenarios where each has a sandbox of its own."""
        if self.done or (self.isolation == "scenario" and self.had not in (None, spec.episode)):
            return False
        return self.trials.get(spec.key, spec.trial) == spec.trial
