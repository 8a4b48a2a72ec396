"""The places for environments: which program serves each, which are free, and which are given up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from gauntlet_runtime.gateway.environment import EnvironmentLink
from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.errors import EnvironmentFailed


@dataclass
class Slot:
    """A place for an environment, and the episode that it serves."""

    number: int
    link: EnvironmentLink | None = None
    down: bool = False
    taken: bool = False
    episode: Episode | None = None

    def free(self) -> None:
        """Nobody has it any more."""
        self.episode = None
        self.taken = False


class Slots:
    """All places of a job. Single-threaded: every method runs on the gateway's event loop.

    Args:
        call_seconds: after which an unanswered call means that an environment hangs
        spawn: runs something beside, for as long as the job lasts
        ready: is told of the place of an environment that has started
        lost: is told of an environment that cannot go on, and why
        changed: is told that one may be free now
    """

    def __init__(
        self,
        count: int,
        *,
        call_seconds: float,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        ready: Callable[[int], None],
        lost: Callable[[Slot, EnvironmentLink, str], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        self._slots = [Slot(number) for number in range(count)]
        self._call_seconds = call_seconds
        self._spawn = spawn
        self._ready = ready
        self._lost = lost
        self._changed = changed

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, number: int) -> Slot:
        return self._slots[number]

    @property
    def all_down(self) -> bool:
        """No environment will come any more."""
        return all(slot.down for slot in self._slots)

    def up(self, number: int, stdin: int, stdout: int) -> None:
        """A program was started for this place."""
        slot = self._slots[number]
        slot.link = EnvironmentLink(stdin, stdout, call_seconds=self._call_seconds)
        self._spawn(self._watch(slot, slot.link))
        self._changed()

    async def _watch(self, slot: Slot, link: EnvironmentLink) -> None:
        try:
            await link.tools()
            self._ready(slot.number)
            self._changed()
            await link.ended.wait()
            reason = "it ended"
        except EnvironmentFailed as error:
            reason = str(error)
        await self._lost(slot, link, reason)

    async def take(self, change: Callable[[], Awaitable[None]]) -> Slot | None:
        """A free place whose program has started; None where all are given up.

        ``change`` waits for the next change; what it raises ends the waiting for a place.
        """
        while not self.all_down:
            for slot in self._slots:
                if slot.link is not None and slot.link.served and not slot.taken:
                    slot.taken = True
                    return slot
            await change()
        return None

    async def final_state(self, episode: Episode, patience: float) -> tuple[Any | None, str | None]:
        """What gauntlet_state says, and why the environment cannot go on, where it cannot."""
        if not await episode.quiet(patience):
            return None, "it was still busy when its episode ended"
        if self._slots[episode.slot].link is not episode.link and not episode.link.keeps_state():
            return None, None
        try:
            return await episode.link.state(), None
        except EnvironmentFailed as error:
            return None, str(error)
