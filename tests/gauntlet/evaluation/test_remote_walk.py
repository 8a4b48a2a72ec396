"""Every field of every message that a worker sends, with everything that can be in its place: never a fault of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from pydantic import SecretStr

from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.metering.models import Account
from gauntlet.metering.services import set_provider

pytestmark = pytest.mark.django_db

LLM = {"provider": "ours", "models": ["small"], "per_evaluation": {"tokens": 5000}}
STRANGE: list[Any] = [
    *(None, -1, 2**63, 10**400, float("nan"), float("inf")),
    *("", "\0", "\ud800", "x" * 5000, "1e-20000", str(uuid4())),
    *([["x"]], {}, {"x": {"y": ["\0"]}}),
]


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a JSON value; of a list's entries only to the first."""
    if way:
        yield way
    if isinstance(value, dict):
        for name, one in value.items():
            yield from places(one, (*way, name))
    if isinstance(value, list) and value:
        yield from places(value[0], (*way, 0))


def changed(message: str, way: tuple[Any, ...], value: Any) -> bytes:
    """The message with something else in one place."""
    content = json.loads(message)
    place = content
    for step in way[:-1]:
        place = place[step]
    place[way[-1]] = value
    return json.dumps(content).encode()


class _Undo(Exception):
    """Takes back what a message that was accepted brought about."""


def walk(remote: Any, claim: Any, path: str, message: str) -> set[int]:
    """The statuses of all answers; each request finds the job as it was."""
    seen = set()
    for way in places(json.loads(message)):
        for value in STRANGE:
            try:
                with transaction.atomic():
                    body = changed(message, way, value)
                    answer = remote.about(claim, "POST", path, body) if claim else remote.ask("POST", path, body)
                    assert answer.status_code < 500, (path, way, value, answer.content)
                    if answer.status_code >= 400:
                        assert answer.json()["message"], (path, way, value)
                        assert claim is None or str(Job.objects.get(pk=claim.job).token) == claim.token
                    seen.add(answer.status_code)
                    raise _Undo
            except _Undo:
                pass
    return seen


@pytest.fixture
def small(remote: Any, own_phase: Any, start: Any) -> Any:
    """An evaluation of one episode, with models of the organizer's own."""
    phase = own_phase(scenarios=1, llm=LLM)
    key = SecretStr("sk-organizers-key")
    set_provider(competition=phase.competition, name="ours", url="https://example.org/v1", key=key, trusted=False)
    return start(phase)


def test_whatever_stands_in_a_sign_of_life_is_taken_or_refused(remote: Any) -> None:
    beat = {"worker": "box:1", "state": "idle", "reason": "none", "sandbox": "docker", "version": "1"}
    assert walk(remote, None, "heartbeat", json.dumps(beat)) == {200, 400}


@pytest.mark.usefixtures("small")
def test_whatever_a_worker_says_of_its_job_is_taken_or_refused(remote: Any) -> None:
    claim = remote.must_claim()
    wanted = {"id": str(uuid4()), "tokens": 1, "cost": "0.1"}
    failure = {"code": "infrastructure", "message": "The disk is full."}
    report = {"event": "episode_ended", "detail": {"episode": claim.spec.episodes[0].episode}}
    assert walk(remote, claim, "models/reserve", json.dumps(wanted)) == {204, 400, 422}
    assert walk(remote, claim, "models/settle", json.dumps({**wanted, "paid": True})) == {204, 400}
    assert walk(remote, claim, "report", json.dumps(report)) == {400, 422}
    assert walk(remote, claim, "give-back", json.dumps(failure)) == {204, 400, 422}
    assert not Account.objects.exists()


def test_whatever_stands_in_a_run_jobs_result_is_taken_or_refused(remote: Any, small: Any) -> None:
    claim = remote.must_claim()
    message = remote.finished(claim)
    full = json.loads(message.model_dump_json())
    full["result"]["failure"] = {"code": "infrastructure", "message": "The disk is full."}
    full["result"]["provenance"] = {"sandbox": "docker"}
    assert walk(remote, claim, "finish", json.dumps(full)) == {204, 400, 422}
    assert remote.about(claim, "POST", "finish", message).status_code == 204
    assert Evaluation.objects.get(pk=small.pk).state == "scoring"


def test_whatever_stands_in_a_score_jobs_result_is_taken_or_refused(remote: Any, small: Any) -> None:
    remote.finish(remote.must_claim())
    claim = remote.must_claim()
    message = remote.finished(claim)
    assert walk(remote, claim, "finish", message.model_dump_json()) == {204, 400, 422}
    assert remote.about(claim, "POST", "finish", message).status_code == 204
    assert Evaluation.objects.get(pk=small.pk).state == "finished"
