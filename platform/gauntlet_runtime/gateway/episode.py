"""One open episode: its clock, what it has used of its limits, and its record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from gauntlet_runtime.gateway.clock import EpisodeClock, Stopwatch
from gauntlet_runtime.gateway.environment import EnvironmentLink
from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.meter import EpisodeMeter
from gauntlet_runtime.gateway.recorder import Recorder
from gauntlet_runtime.jobs import EpisodeLimits, EpisodeSpec
from gauntlet_runtime.metering import ModelBudget

NOTES_LIMIT: Final = 500
PLANS_LIMIT: Final = 50


class Episode:
    """An episode between hand-out and end. Holds no rule about what an end means: that is the job's."""

    def __init__(
        self,
        spec: EpisodeSpec,
        *,
        attempt: int,
        limits: EpisodeLimits,
        link: EnvironmentLink,
        slot: int,
        generation: int,
        models: ModelBudget | None = None,
        folder: Path,
        on_full: Callable[[Episode], None],
    ) -> None:
        self.spec = spec
        self.attempt = attempt
        # A scenario that is handed out again after its environment died has another id for the agent, so that what is
        # still on its way to the first one cannot reach the second.
        self.id = spec.episode if attempt == 1 else f"{spec.episode}.{attempt}"
        self.limits = limits
        self.link = link
        self.slot = slot
        self.generation = generation
        self.clock = EpisodeClock(limits.episode_seconds)
        self.waits = Stopwatch()  # for its environment
        self.recorder = Recorder(folder, episode=spec.episode, limit=limits.record_bytes, on_full=lambda: on_full(self))
        self.messages = [{"role": "user", "text": spec.text}]  # the conversation so far
        self.ending = asyncio.Event()  # set for good once it is being closed
        self.answered = False
        self.finished = asyncio.Event()
        self.malformed = 0
        self.refused = 0
        self.actions = 0
        self.tool_calls = 0
        self.notes = 0
        self.plans = 0
        self.meter = EpisodeMeter(models)
        self._in_flight = 0
        self._coding = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The agent waits for the environment: its clock stands still and the episode is not closed meanwhile."""
        self._in_flight += 1
        self._quiet.clear()
        try:
            with self.clock.stopped(), self.waits.running():
                yield
        finally:
            self._in_flight -= 1
            if self._in_flight == 0:
                self._quiet.set()

    @contextmanager
    def coding(self) -> Iterator[None]:
        """Code of the agent's runs in a sandbox of its own: on the agent's clock, and the environment is not busy."""
        self._coding += 1
        try:
            yield
        finally:
            self._coding -= 1

    @property
    def closing(self) -> bool:
        """Whether it is being closed, or is."""
        return self.ending.is_set()

    async def quiet(self, seconds: float) -> bool:
        """Wait until the environment has answered everything; False where it has not within ``seconds``."""
        try:
            async with asyncio.timeout(seconds):
                await self._quiet.wait()
        except TimeoutError:
            return False
        return True

    @property
    def busy(self) -> bool:
        """A call is under way."""
        return self._in_flight + self._coding > 0

    def tool_refusal(self) -> str | None:
        """Why no further tool call is possible now, as a sentence for the agent, or None."""
        if self.actions >= self.limits.turns:
            return f"This episode's limit of {self.limits.turns} turns is used up. Give the answer now."
        if self.tool_calls >= self.limits.tool_calls:
            return f"This episode's limit of {self.limits.tool_calls} tool calls is used up. Give the answer now."
        if self._in_flight + self._coding >= self.limits.parallel_tool_calls:
            return (
                f"{self.limits.parallel_tool_calls} tool calls may be under way at once in this episode. "
                "Wait for one of them."
            )
        return None

    def admit_message(self) -> None:
        """Count a message to the user.

        Raises:
            ApiError: 429, the turns are used up.
        """
        if self.actions >= self.limits.turns:
            raise ApiError(429, "turn_limit", f"This episode's limit of {self.limits.turns} turns is used up.")
        self.actions += 1

    def admit_note(self) -> None:
        """Count a note.

        Raises:
            ApiError: 429, too many.
        """
        if self.notes >= NOTES_LIMIT:
            raise ApiError(429, "note_limit", f"An episode keeps {NOTES_LIMIT} notes; this one has them.")
        self.notes += 1

    def admit_plan(self) -> None:
        """Count a plan.

        Raises:
            ApiError: 429, too many.
        """
        if self.plans >= PLANS_LIMIT:
            raise ApiError(429, "plan_limit", f"A plan may be replaced {PLANS_LIMIT} times; this one was.")
        self.plans += 1

    def describe(self) -> dict[str, Any]:
        """The episode as the agent is told it: an allow-list, in which the organizer's key does not occur."""
        left = self.clock.left
        return {
            "id": self.id,
            "scenario": {"id": self.spec.scenario, "text": self.spec.text, "show": self.spec.show},
            "messages": self.messages,
            "deadline": (datetime.now(UTC) + timedelta(seconds=left)).isoformat(),
            "seconds_left": round(left, 3),
            "budget": {
                "turns": max(0, self.limits.turns - self.actions),
                "tool_calls": max(0, self.limits.tool_calls - self.tool_calls),
                "parallel_tool_calls": self.limits.parallel_tool_calls,
                "answer_bytes": self.limits.answer_bytes,
                **self.meter.left(),
            },
        }
