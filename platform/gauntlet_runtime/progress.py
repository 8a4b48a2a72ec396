"""How far a run job is: which episodes have their results, and whether its agent has shown that it works."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gauntlet_runtime.gateway.messages import EpisodeEnded
from gauntlet_runtime.gateway.recorder import pack
from gauntlet_runtime.jobs import EpisodeResult, EpisodeSpec, Failure, JobEvent, RunSpec
from gauntlet_scoring.failures import Owner
from gauntlet_scoring.trajectory import Outcome


class Progress:
    """The episodes of a run job as they end. Call it from the thread that owns the job.

    Args:
        folder: the job's; trajectories are packed into it
        on_event: told of each end, that the agent has come up, and of the proof that it works
    """

    def __init__(self, spec: RunSpec, *, folder: Path, on_event: Callable[[JobEvent, dict[str, Any]], None]) -> None:
        self._spec = spec
        self._folder = folder
        self._on_event = on_event
        self._results: dict[str, EpisodeResult] = {}
        self._crashed: set[str] = set()
        self.probing = spec.probe
        self._told_start = False
        self.failure: Failure | None = None  # of the whole evaluation
        self.done_at: float | None = None  # (monotonic) when the last episode had its result

    def left(self) -> list[EpisodeSpec]:
        """The episodes without a result, in their order."""
        return [episode for episode in self._spec.episodes if episode.episode not in self._results]

    def results(self) -> list[EpisodeResult]:
        """What came out so far, in the episodes' order."""
        return [self._results[one.episode] for one in self._spec.episodes if one.episode in self._results]

    def begin(self) -> None:
        """An episode was opened: an agent that does that has come up, and others of it may."""
        if self.probing and not self._told_start:
            self._told_start = True
            self._on_event(JobEvent.AGENT_STARTED, {})

    def keep(self, ended: EpisodeEnded) -> None:
        """An episode ended: its result, its record, and what its end shows."""
        trajectory = None
        if ended.folder is not None:
            trajectory = pack(ended.folder, self._folder / f"trajectory-{ended.folder.name}.zip")
        self._results[ended.episode] = EpisodeResult(
            episode=ended.episode,
            outcome=ended.outcome,
            failure=ended.failure,
            message=ended.message,
            seconds=ended.seconds,
            steps=ended.steps,
            tool_calls=ended.tool_calls,
            model_calls=ended.model_calls,
            tokens=ended.tokens,
            cost=ended.cost,
            trajectory=trajectory,
        )
        if ended.lost:
            self._crashed.add(ended.episode)
        self._tell_end(ended.episode)
        if self.probing and ended.proves_agent:
            self.probing = False
            self._on_event(JobEvent.AGENT_PROVEN, {})

    def _tell_end(self, episode: str) -> None:
        result = self._results[episode]
        self._on_event(
            JobEvent.EPISODE_ENDED,
            {"episode": episode, "outcome": result.outcome.value, "failure": result.failure and result.failure.value},
        )
        if not self.left():
            self.done_at = time.monotonic()

    def probe_failed(self, *, opened: int, failure: Failure, unopened: Failure) -> bool:
        """One of the agent's sandboxes ended: whether that fails the evaluation.

        It does while the agent is not proven, where it opened no episode, or has lost the first two, or all there are,
        to crashes.

        Args:
            opened: how many episodes that sandbox opened
            failure: why it ended
            unopened: the same, for an agent that had no episode
        """
        if not self.probing:
            return False
        telling = self._telling()
        if not opened and not telling and self.left():
            self.failure = unopened
        elif telling and self._crashed.issuperset(telling) and (len(telling) > 1 or not self.left()):
            self.failure = failure
        return self.failure is not None

    def _telling(self) -> set[str]:
        """The episodes that say something of the agent: those that the environment or the platform ended do not."""
        ended = self._results.items()
        return {name for name, one in ended if one.failure is None or one.failure.owner is Owner.PARTICIPANT}

    def give_up(self, failure: Failure) -> None:
        """No start of the agent is worth trying any more: what is left ends with this."""
        for episode in self.left():
            self._results[episode.episode] = EpisodeResult(
                episode=episode.episode,
                outcome=Outcome.FAILED,
                failure=failure.code,
                message=failure.message,
                seconds=0.0,
            )
            self._crashed.add(episode.episode)
            self._tell_end(episode.episode)
        if self.probing and self._crashed.issuperset(self._telling()):
            self.failure = failure
