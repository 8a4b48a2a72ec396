"""What the gateway asks its supervisor about model calls: budgets that other jobs draw on too, and kept answers.

The gateway has no way to the platform of its own; the supervisor asks in its place, in the order of the notices.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from gauntlet_runtime.gateway.messages import (
    ModelAnswerKept,
    ModelAnswerWanted,
    ModelReply,
    ModelReserve,
    ModelSettled,
)
from gauntlet_runtime.metering import Refusal, Reservation, Settlement, Shortage

PATIENCE_SECONDS: Final = 60.0  # for the platform's word, which takes milliseconds where it can be had


class ModelBank:
    """Single-threaded, on the gateway's event loop."""

    def __init__(self, notify: Callable[[BaseModel], None], folder: Path) -> None:
        self._notify = notify
        self._folder = folder
        self._waiting: dict[str, asyncio.Future[ModelReply]] = {}
        self._answers = 0

    async def reserve(self, reservation: Reservation) -> Refusal | None:
        """Hold the call's maximum against the evaluation's budget, or say why not."""
        reply = await self._ask(reservation.id, ModelReserve(reservation=reservation))
        refusal = Refusal(shortage=Shortage.UNAVAILABLE) if reply is None else reply.refusal
        if refusal is not None and refusal.shortage is Shortage.UNAVAILABLE:
            # Its answer was lost or comes too late: it may be held all the same, for a call that nobody makes.
            self.settle(Settlement(id=reservation.id, tokens=0, cost=Decimal(0), paid=False))
        return refusal

    async def reserve_in_turn(self, reservation: Reservation, *, over: asyncio.Event, seconds: float) -> Refusal | None:
        """The same, and where other calls only have to end before it fits, wait for that.

        Args:
            over: set when nobody wants the call any more
            seconds: for which it is worth waiting; then the refusal still says when to try again
        """
        until = time.monotonic() + seconds
        while (refusal := await self.reserve(reservation)) is not None and refusal.retry_after is not None:
            left = until - time.monotonic()
            if left <= 0 or over.is_set():
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(refusal.retry_after, left)):
                    await over.wait()
        return refusal

    def settle(self, settlement: Settlement) -> None:
        """Give back what was not used."""
        self._notify(ModelSettled(settlement=settlement))

    async def find_answer(self, key: str) -> bytes | None:
        """The kept answer to a request, or None."""
        path = self._next_path()
        reply = await self._ask(f"{key}-{path.name}", ModelAnswerWanted(id=f"{key}-{path.name}", key=key, into=path))
        if reply is None or not reply.found:
            return None
        content = path.read_bytes()
        path.unlink()
        return content

    def keep_answer(self, key: str, answer: bytes) -> None:
        """Keep the answer to a request."""
        path = self._next_path()
        path.write_bytes(answer)
        self._notify(ModelAnswerKept(key=key, answer=path))

    def reply(self, reply: ModelReply) -> None:
        """The supervisor's word on what was asked."""
        waiting = self._waiting.pop(reply.id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)

    async def _ask(self, name: str, notice: BaseModel) -> ModelReply | None:
        waiting: asyncio.Future[ModelReply] = asyncio.get_running_loop().create_future()
        self._waiting[name] = waiting
        self._notify(notice)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await waiting
        except TimeoutError:
            return None
        finally:
            self._waiting.pop(name, None)

    def _next_path(self) -> Path:
        self._answers += 1
        return self._folder / f"answer-{self._answers}.json"
