"""What the gateway asks about model calls, where the platform answers late, never, or what it cannot know."""

from __future__ import annotations

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
