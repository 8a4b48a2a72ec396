"""Language models of jobs in the hands of own queues' workers: whose key goes where, and whose calls count."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from gauntlet.evaluation import remote_models
from gauntlet.evaluation.models import Job
from gauntlet.metering.configuration import Provider
from gauntlet.metering.models import Account, KeptAnswer, Reservation
from gauntlet.metering.services import set_provider

pytestmark = pytest.mark.django_db

OPERATORS, ORGANIZERS = "sk-operators-key", "sk-organizers-key"
LLM = {"provider": "ours", "models": ["small"], "per_evaluation": {"tokens": 5000, "cost": "0.5"}, "cache": True}
JUDGE = {"provider": "ours", "model": "small", "runs": 5, "temperature": 0.3, "concurrency": 2, "cost_budget": "1"}
KEY = "a" * 64


@pytest.fixture(autouse=True)
def offered(settings: Any) -> None:
    """The operator's provider."""
    settings.MODEL_PROVIDERS = {"ours": Provider(url="https://api.example.org/v1", key=SecretStr(OPERATORS))}


@pytest.fixture
def organizers(own_phase: Any) -> Any:
    """A phase with models of the organizer's own provider, in a queue of their own."""
    phase = own_phase(llm=LLM)
    set_provider(
        competition=phase.competition,
        name="ours",
        url="https://models.example.org/v1",
        key=SecretStr(ORGANIZERS),
        trusted=False,
    )
    return phase


def test_the_organizers_key_is_given_to_their_workers_and_to_no_log(
    remote: Any, organizers: Any, start: Any, caplog: pytest.LogCaptureFixture
) -> None:
    start(organizers)
    with capture_logs() as logs:
        claim = remote.must_claim()
        answer = remote.about(claim, "GET", "models/access")
    assert answer.json() == {
        "url": "https://models.example.org/v1",
        "key": ORGANIZERS,
        "limit_field": "max_tokens",
        "set_by": "organizer",
        "public_only": True,
    }
    assert answer["Cache-Control"] == "no-store"
    assert ORGANIZERS not in f"{logs} {caplog.text} {claim.model_dump_json()}"


def test_a_job_with_the_operators_models_fails_by_the_organizers_fault_and_is_not_handed_out(
    remote: Any, own_phase: Any, start: Any
) -> None:
    phase = own_phase(llm=LLM)
    evaluation = start(phase)
    Job.objects.update(max_attempts=1)
    assert remote.claim() is None
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "environment_error")
    assert "'ours'" in evaluation.failure_message
    assert "operator's" in evaluation.failure_message


def test_the_same_of_a_judge_and_of_a_provider_that_the_operator_set_for_the_competition(
    remote: Any, own_phase: Any, start: Any
) -> None:
    phase = own_phase()
    set_provider(
        competition=phase.competition, name="ours", url="http://gpu/v1", key=SecretStr(OPERATORS), trusted=True
    )
    phase.tasks.update(judge=JUDGE)
    evaluation = start(phase)
    remote.finish(remote.must_claim())
    Job.objects.update(max_attempts=1)
    assert remote.claim() is None
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "scoring_error")
    assert "operator's" in evaluation.failure_message


def test_a_key_that_becomes_the_operators_meanwhile_is_not_given_out(remote: Any, organizers: Any, start: Any) -> None:
    start(organizers)
    claim = remote.must_claim()
    organizers.competition.model_providers.all().delete()
    answer = remote.about(claim, "GET", "models/access")
    assert (answer.status_code, answer.content) == (204, b"")


def test_a_key_that_cannot_be_read_any_more_is_told(remote: Any, organizers: Any, start: Any, settings: Any) -> None:
    start(organizers)
    claim = remote.must_claim()
    settings.GAUNTLET_SECRET = "x" * 40
    answer = remote.about(claim, "GET", "models/access")
    assert (answer.status_code, answer.json()["code"]) == (409, "key_unreadable")


def test_a_provider_that_nobody_set_is_the_workers_to_tell(remote: Any, own_phase: Any, start: Any) -> None:
    start(own_phase(llm={**LLM, "provider": "nowhere"}))
    assert remote.about(remote.must_claim(), "GET", "models/access").status_code == 204


def test_the_platforms_own_workers_have_the_operators_models_as_before(
    make_phase: Any, start: Any, worker: Any
) -> None:
    phase = make_phase(llm=LLM)
    start(phase)
    access = worker.source.models(worker.must_claim()).access()
    assert access.key.get_secret_value() == OPERATORS


def test_calls_are_reserved_and_settled_in_the_accounts_of_the_evaluation(
    remote: Any, organizers: Any, start: Any
) -> None:
    evaluation = start(organizers)
    claim = remote.must_claim()
    wanted = {"id": str(uuid4()), "tokens": 3000, "cost": "0.1"}
    for _ in range(2):  # the same id counts once
        assert remote.about(claim, "POST", "models/reserve", wanted).status_code == 204
    refused = remote.about(claim, "POST", "models/reserve", {**wanted, "id": str(uuid4())})
    assert refused.status_code == 200
    assert (refused.json()["shortage"], refused.json()["limit"]) == ("tokens", "5000")
    settled = {**wanted, "tokens": 10, "cost": "0.01", "paid": True}
    assert remote.about(claim, "POST", "models/settle", settled).status_code == 204
    account = Account.objects.get(pk=evaluation.pk)
    assert (account.tokens, account.cost, account.paid) == (10, Decimal("0.01"), Decimal("0.01"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("id", "x"), ("id", ""), ("tokens", -1), ("tokens", 10**13), ("tokens", 10**30), ("tokens", 1.5)),
        *(("cost", "-0.1"), ("cost", "NaN"), ("cost", "Infinity"), ("cost", "1e10"), ("surprise", 1)),
    ],
)
def test_amounts_that_no_call_uses_are_refused(
    field: str, value: Any, remote: Any, organizers: Any, start: Any
) -> None:
    start(organizers)
    claim = remote.must_claim()
    said = {"id": str(uuid4()), "tokens": 1, "cost": "0", field: value}
    for path, more in (("reserve", {}), ("settle", {"paid": True})):
        answer = remote.about(claim, "POST", f"models/{path}", {**said, **more})
        assert answer.status_code == 400
        assert field in answer.json()["message"]
    assert not Account.objects.exists()


def test_nobody_settles_or_takes_up_a_call_of_another_job(
    remote: Any, make_remote: Any, organizers: Any, own_phase: Any, make_phase: Any, start: Any
) -> None:
    first = start(organizers)
    other = make_remote("other-lab")
    theirs = make_phase(queue="other-lab", competition=organizers.competition, llm=LLM)
    start(theirs)
    claim, hostile = remote.must_claim(), other.must_claim()
    wanted = {"id": str(uuid4()), "tokens": 100, "cost": "0.1"}
    assert remote.about(claim, "POST", "models/reserve", wanted).status_code == 204
    settled = {**wanted, "tokens": 0, "cost": "0", "paid": False}
    assert other.about(hostile, "POST", "models/settle", settled).status_code == 204
    assert Reservation.objects.get(pk=wanted["id"]).settled_at is None
    assert Account.objects.get(pk=first.pk).tokens == 100
    assert other.about(hostile, "POST", "models/reserve", wanted).status_code == 422
    assert Account.objects.get(pk=first.pk).tokens == 100


def test_answers_are_kept_for_the_submission_and_found_again(
    remote: Any, make_remote: Any, organizers: Any, make_phase: Any, start: Any
) -> None:
    start(organizers)
    claim = remote.must_claim()
    place, content = f"models/answers/{KEY}", b'[{"choices": ["\\u0000"]}]'
    missing = remote.about(claim, "GET", place)
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert remote.about(claim, "PUT", place, content).status_code == 204
    assert remote.about(claim, "PUT", place, b'[{"second": true}]').status_code == 204
    assert remote.got(claim, place) == content
    other = make_remote("other-lab")
    start(make_phase(queue="other-lab", competition=organizers.competition, llm=LLM))
    assert other.about(other.must_claim(), "GET", place).status_code == 404


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"[1]", b"[" * 10_000, b"\xff", b'{"choices": []}'])
def test_an_answer_that_no_gateway_could_read_is_not_kept(
    body: bytes, remote: Any, organizers: Any, start: Any
) -> None:
    start(organizers)
    answer = remote.about(remote.must_claim(), "PUT", f"models/answers/{KEY}", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert not KeptAnswer.objects.exists()


@pytest.mark.parametrize("key", ["x", "..", "%2e%2e", "A" * 64, "a" * 65, "a" * 1000])
def test_a_key_is_a_digest(key: str, remote: Any, organizers: Any, start: Any) -> None:
    start(organizers)
    claim = remote.must_claim()
    for method, body in (("GET", None), ("PUT", b"[{}]")):
        assert remote.about(claim, method, f"models/answers/{key}", body).status_code in (400, 404)
    assert not KeptAnswer.objects.exists()


def test_a_submissions_answers_fill_no_disk(
    remote: Any, organizers: Any, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_models, "_MOST_KEPT", 10)
    start(organizers)
    claim = remote.must_claim()
    content = json.dumps([{"x": "y" * 20}]).encode()
    assert remote.about(claim, "PUT", f"models/answers/{KEY}", content).status_code == 204
    assert remote.about(claim, "PUT", f"models/answers/{'b' * 64}", content).status_code == 204
    assert KeptAnswer.objects.get().key == KEY


def test_a_job_without_models_has_none(remote: Any, own_phase: Any, start: Any) -> None:
    start(own_phase())
    claim = remote.must_claim()
    calls = {"models/access": ("GET", None), f"models/answers/{KEY}": ("GET", None)}
    calls["models/reserve"] = ("POST", {"id": str(uuid4()), "tokens": 1, "cost": "0"})
    for path, (method, body) in calls.items():
        answer = remote.about(claim, method, path, body)
        assert (answer.status_code, answer.json()["code"]) == (404, "no_models")
