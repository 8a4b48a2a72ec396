"""What the gateway asks, asked of a platform that is away for a while: nothing that it was told is lost."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from gauntlet_runtime import model_relay
from gauntlet_runtime.gateway.messages import ModelReply, ModelReserve, ModelSettled
from gauntlet_runtime.jobs import LeaseLost
from gauntlet_runtime.metering import NoModels, Refusal, Reservation, Settlement
from gauntlet_runtime.model_relay import ModelRelay


@dataclass
class Away(NoModels):
    """A platform that fails so many times at a settlement, and never takes one of these."""

    times: int = 0
    never: str = ""
    error: type[Exception] = ConnectionError
    settled: list[str] = field(default_factory=list)
    failed: threading.Event = field(default_factory=threading.Event)  # so many times

    def reserve(self, reservation: Reservation) -> Refusal | None:
        return None

    def settle(self, settlement: Settlement) -> None:
        if self.times:
            self.times -= 1
            if self.times == 0:
                self.failed.set()
            raise self.error("away")
        if settlement.id == self.never:
            raise ValueError("this one is not taken")
        self.settled.append(settlement.id)


@dataclass
class Told:
    """The gateway's side: what it was answered."""

    replies: queue.SimpleQueue[ModelReply] = field(default_factory=queue.SimpleQueue)

    def send(self, reply: ModelReply) -> None:
        self.replies.put(reply)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_relay, "_PAUSE_SECONDS", 0.001)


def settled(name: str) -> ModelSettled:
    return ModelSettled(settlement=Settlement(id=name, tokens=1, cost=Decimal(0), paid=True))


def wanted(name: str) -> ModelReserve:
    return ModelReserve(reservation=Reservation(id=name, tokens=1, cost=Decimal(0)))


def relayed(supply: Away, *notices: Any) -> list[str]:
    """The calls whose replies came, after all was said."""
    told = Told()
    relay = ModelRelay(supply, told)  # type: ignore[arg-type]
    for notice in notices:
        relay.take(notice)
    heard = [told.replies.get(timeout=30).id for notice in notices if isinstance(notice, ModelReserve)]
    relay.close()
    return heard


def test_a_settlement_that_the_platform_did_not_hear_is_told_before_the_next_call() -> None:
    supply = Away(times=model_relay._TRIES)
    assert relayed(supply, settled("a"), wanted("b")) == ["b"]
    assert supply.settled == ["a"]


def test_or_at_the_end_of_the_job() -> None:
    supply = Away(times=model_relay._TRIES)
    relay = ModelRelay(supply, Told())  # type: ignore[arg-type]
    relay.take(settled("a"))
    assert supply.failed.wait(30)
    relay.close()
    assert supply.settled == ["a"]


def test_what_the_platform_does_not_take_keeps_no_other_from_it() -> None:
    supply = Away(never="a")
    assert relayed(supply, settled("a"), settled("b"), wanted("c"), settled("c")) == ["c"]
    assert supply.settled == ["b", "c"]


def test_after_a_lost_lease_nobody_insists() -> None:
    supply = Away(times=1000, error=LeaseLost)
    relayed(supply, settled("a"), settled("b"), wanted("c"))
    assert supply.settled == []
    assert supply.times >= 1000 - 4  # once at each notice, and at the end
