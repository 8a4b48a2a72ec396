"""A job's language models over HTTPS."""

from __future__ import annotations

import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from loopback_site import KEY, LoopbackSite

from gauntlet_runtime.jobs import Claim, LeaseLost, RunSpec, SourceUnavailable
from gauntlet_runtime.metering import NoModels, Refusal, Reservation, Settlement, Shortage
from gauntlet_runtime.remote.errors import SiteAway
from gauntlet_runtime.remote.source import HttpJobSource

ACCESS = {
    "url": "http://127.0.0.1:1/v1",
    "key": KEY,
    "limit_field": "max_tokens",
    "set_by": "organizer",
    "public_only": False,
}
RESERVATION = Reservation(id="r", tokens=5, cost=Decimal("0.25"))
SETTLEMENT = Settlement(id="r", tokens=3, cost=Decimal("0.125"), paid=True)


def test_the_organizers_provider_and_its_budget(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, tmp_path: Path
) -> None:
    models = source.models(claimed)
    assert models.access() is None
    loopback.access = ACCESS
    access = models.access()
    assert access is not None
    assert (access.url, access.key.get_secret_value(), access.set_by) == (ACCESS["url"], KEY, "organizer")

    assert models.reserve(RESERVATION) is None
    loopback.refusal = {"shortage": "cost", "limit": "1", "used": "0.9"}
    assert models.reserve(RESERVATION) == Refusal(shortage=Shortage.COST, limit="1", used="0.9")
    models.settle(SETTLEMENT)
    assert (loopback.reserved, loopback.settled) == ([RESERVATION, RESERVATION], [SETTLEMENT])

    into = tmp_path / "answer"
    assert not models.find_answer("abc", into)
    assert not into.exists()
    kept = tmp_path / "kept"
    kept.write_bytes(b'{"said": "yes"}')
    models.keep_answer("abc", kept)
    assert models.find_answer("abc", into)
    assert into.read_bytes() == kept.read_bytes()


def test_a_job_without_models_asks_for_none(loopback: LoopbackSite, source: HttpJobSource, plain_spec: RunSpec) -> None:
    loopback.add(plain_spec.model_copy(update={"llm": None}))
    claim = source.claim(queues=[], worker="w:1")
    assert claim is not None
    assert isinstance(source.models(claim), NoModels)


@pytest.mark.parametrize("call", ["reserve", "settle", "find_answer", "keep_answer"])
@pytest.mark.parametrize(("fault", "error"), [(409, LeaseLost), (503, SourceUnavailable), ("drop", SourceUnavailable)])
def test_a_fault_is_told_at_once_to_who_asks_again(
    loopback: LoopbackSite,
    source: HttpJobSource,
    claimed: Claim,
    tmp_path: Path,
    call: str,
    fault: Any,
    error: type[Exception],
) -> None:
    models = source.models(claimed)
    (tmp_path / "kept").write_bytes(b"{}")
    ask = {
        "reserve": lambda: models.reserve(RESERVATION),
        "settle": lambda: models.settle(SETTLEMENT),
        "find_answer": lambda: models.find_answer("abc", tmp_path / "answer"),
        "keep_answer": lambda: models.keep_answer("abc", tmp_path / "kept"),
    }[call]
    loopback.plant("models", fault)
    with pytest.raises(error):
        ask()
    assert loopback.asked("models") == 1
    assert not (tmp_path / "answer").exists()


def test_a_key_is_in_no_text(
    loopback: LoopbackSite, source: HttpJobSource, claimed: Claim, capsys: pytest.CaptureFixture[str]
) -> None:
    models = source.models(claimed)
    loopback.access = ACCESS
    said = [repr(models.access()), repr(models), repr(vars(models))]
    loopback.access = {**ACCESS, "set_by": "a stranger"}  # what cannot be read is not quoted either
    with pytest.raises(SiteAway) as away:
        models.access()
    said += traceback.format_exception(away.value)
    assert [text for text in [*said, *capsys.readouterr()] if KEY in text] == []
