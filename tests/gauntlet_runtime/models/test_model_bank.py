"""What the gateway asks about model calls, where the platform answers late, never, or what it cannot know."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from gauntlet_runtime.gateway import model_bank
from gauntlet_runtime.gateway.messages import ModelReply, ModelSettled
from gauntlet_runtime.gateway.model_bank import ModelBank
from gauntlet_runtime.metering import Refusal, Reservation, Shortage

WANTED = Reservation(id="r1", tokens=100, cost=Decimal("0.1"))


@pytest.mark.parametrize("answered", [False, True])
async def test_what_may_be_held_although_nobody_knows_is_given_back(tmp_path, monkeypatch, answered):
    monkeypatch.setattr(model_bank, "PATIENCE_SECONDS", 30.0 if answered else 0.05)
    told = []

    def tell(notice):
        told.append(notice)
        if answered and len(told) == 1:
            bank.reply(ModelReply(id="r1", refusal=Refusal(shortage=Shortage.UNAVAILABLE)))

    bank = ModelBank(tell, tmp_path)
    refusal = await bank.reserve(WANTED)
    assert refusal is not None
    assert refusal.shortage is Shortage.UNAVAILABLE
    settled = told[-1]
    assert isinstance(settled, ModelSettled)
    assert (settled.settlement.id, settled.settlement.tokens, settled.settlement.paid) == ("r1", 0, False)


async def test_what_was_refused_needs_no_settling(tmp_path):
    told = []

    def tell(notice):
        told.append(notice)
        bank.reply(ModelReply(id="r1", refusal=Refusal(shortage=Shortage.TOKENS, limit="1", used="1")))

    bank = ModelBank(tell, tmp_path)
    assert (await bank.reserve(WANTED)).shortage is Shortage.TOKENS
    assert len(told) == 1


LATER = Refusal(shortage=Shortage.CONCURRENCY, retry_after=0.01)


def answering(tmp_path, *refusals):
    """A bank whose platform answers so, the last one for good, and what it was told."""
    told, left = [], list(refusals)

    def tell(notice):
        told.append(notice)
        bank.reply(ModelReply(id="r1", refusal=left.pop(0) if len(left) > 1 else left[0]))

    bank = ModelBank(tell, tmp_path)
    return bank, told


@pytest.mark.parametrize("shortage", [Shortage.CONCURRENCY, Shortage.RATE, Shortage.TOKENS, Shortage.COST])
async def test_what_fits_after_others_calls_is_waited_for(tmp_path, shortage):
    bank, told = answering(tmp_path, *[Refusal(shortage=shortage, retry_after=0.01)] * 3, None)
    assert await bank.reserve_in_turn(WANTED, over=asyncio.Event(), seconds=60.0) is None
    assert len(told) == 4


@pytest.mark.parametrize("shortage", [Shortage.UNAVAILABLE, Shortage.TOKENS, Shortage.COST])
async def test_what_never_fits_is_refused_at_once(tmp_path, shortage):
    bank, _ = answering(tmp_path, Refusal(shortage=shortage))
    refusal = await bank.reserve_in_turn(WANTED, over=asyncio.Event(), seconds=60.0)
    assert (refusal.shortage, refusal.retry_after) == (shortage, None)


async def test_nobody_waits_longer_than_was_said(tmp_path):
    bank, told = answering(tmp_path, LATER)
    assert await bank.reserve_in_turn(WANTED, over=asyncio.Event(), seconds=0.05) == LATER
    assert len(told) > 1


async def test_nobody_waits_for_what_is_over(tmp_path):
    bank, told = answering(tmp_path, LATER.model_copy(update={"retry_after": 60.0}))
    over = asyncio.Event()
    waiting = asyncio.create_task(bank.reserve_in_turn(WANTED, over=over, seconds=60.0))
    asyncio.get_running_loop().call_later(0.1, over.set)
    assert (await waiting).retry_after == 60.0
    assert len(told) == 2
