"""What a gateway knows of each sandbox of the agent that runs: what it was given, and what it may still have."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel

from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.messages import AgentIdle, JobSetup
from gauntlet_runtime.jobs import EpisodeSpec, Isolation

_LOOK_SECONDS: Final = 0.2  # between two looks at who is idle


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

    @property
    def may_go_on(self) -> bool:
        """It has not had all that it may have, and is not to leave."""
        return not (self.done or self.overdue or self.told_idle)

    def parallel(self, slots: int) -> int:
        """How many episodes it may have open at once."""
        return 1 if self.isolation == "scenario" else slots

    def may_have(self, spec: EpisodeSpec) -> bool:
        """No two trials of one scenario share a sandbox, and no two scenarios where each has a sandbox of its own."""
        if self.done or (self.isolation == "scenario" and self.had not in (None, spec.episode)):
            return False
        return self.trials.get(spec.key, spec.trial) == spec.trial


class Agents:
    """The sandboxes that run, by generation, and which of them has been idle for too long.

    Args:
        notify: tells the supervisor
        is_busy: whether one works, or waits for work that may come
    """

    def __init__(
        self, setup: JobSetup, notify: Callable[[BaseModel], None], *, is_busy: Callable[[Agent], bool]
    ) -> None:
        self._setup = setup
        self._notify = notify
        self._is_busy = is_busy
        self._agents: dict[int, Agent] = {}

    def __contains__(self, generation: int) -> bool:
        return generation in self._agents

    def get(self, generation: int) -> Agent | None:
        """The one with this number, while it runs."""
        return self._agents.get(generation)

    def running(self, generation: int) -> Agent:
        """The one with this number, which may open episodes.

        Raises:
            ApiError: 410, it is over.
        """
        agent = self._agents.get(generation)
        if agent is None or agent.told_idle:  # an episode that it opened now would be lost with it
            raise ApiError(410, "agent_ended", "This sandbox is over.")
        return agent

    def keeps_for_another(self, agent: Agent, spec: EpisodeSpec) -> bool:
        """Another sandbox had this episode, lost it with its environment, and may have no other any more."""
        return any(
            other is not agent and other.isolation == "scenario" and other.had == spec.episode and other.may_go_on
            for other in self._agents.values()
        )

    def starting(self, generation: int) -> None:
        """A new one may open episodes from now on."""
        self._agents[generation] = Agent(generation, isolation=self._setup.isolation, idle_since=time.monotonic())

    def pop(self, generation: int) -> Agent:
        """It has ended."""
        return self._agents.pop(generation)

    async def watch_idleness(self) -> None:
        """Tell of each that neither works nor leaves; runs as long as the job does."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            for agent in self._agents.values():
                if self._is_busy(agent) or agent.told_idle:
                    agent.idle_since = now
                elif now - agent.idle_since > self._patience(agent):
                    agent.told_idle = True
                    self._notify(AgentIdle(generation=agent.generation))

    def _patience(self, agent: Agent) -> float:
        if agent.done:
            return self._setup.leave_seconds
        return self._setup.grace_seconds if agent.overdue else self._setup.idle_seconds
