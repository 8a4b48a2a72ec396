"""Live events: what a viewer costs, one cheap statement a tick and the story only where it changed; and who is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth import logout
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.utils import timezone

from gauntlet.accounts.models import ApiToken, User
from gauntlet.accounts.services import create_token
from gauntlet.competitions.models import Phase
from gauntlet.evaluation import api
from gauntlet.evaluation.models import Evaluation
from gauntlet_runtime.jobs import JobEvent

tell = async_to_sync(api._tell)
told_anew = async_to_sync(api._told_anew)


def by_token(user: User) -> HttpRequest:
    secret = create_token(user, name="test")[1]
    return RequestFactory().get("/", headers={"Authorization": f"Bearer {secret}"})


def by_session(user: User) -> HttpRequest:
    client = Client()
    client.force_login(user)
    request = RequestFactory().get("/")
    request.session = client.session
    return request


def status(told: Any) -> str:
    return str(json.loads(told.payload)["status"])


def test_a_tick_without_a_change_is_one_statement(
    start: Callable[..., Evaluation], django_assert_num_queries: Any
) -> None:
    evaluation = start()
    owner, pk = evaluation.submission.participant, evaluation.submission_id
    told, request = tell(owner, pk), by_token(owner)
    with django_assert_num_queries(1):
        assert told_anew(request, pk, told) is told


def test_every_step_of_a_run_is_told(start: Callable[..., Evaluation], make_phase: Any, worker: Any) -> None:
    evaluation = start(make_phase(visibility="full"))
    owner, pk = evaluation.submission.participant, evaluation.submission_id
    told, request = tell(owner, pk), by_token(owner)
    heard = [status(told)]

    def listen() -> None:
        nonlocal told
        told = told_anew(request, pk, told)
        heard.append(status(told))

    claim = worker.must_claim()
    listen()
    worker.source.report(claim, JobEvent.EPISODE_ENDED, {"episode": claim.spec.episodes[0].episode})
    listen()
    assert json.loads(told.payload)["evaluations"][0]["episodes_done"] == 1
    worker.source.finish(claim, worker.run(claim))
    listen()
    claim = worker.must_claim()
    worker.source.finish(claim, worker.scores(claim))
    listen()
    assert heard == ["queued", "running", "running", "scoring", "finished"]
    assert told.final
    assert json.loads(told.payload)["scores"]


@pytest.mark.parametrize("state", ["received", "checking"])
def test_what_is_cancelled_while_it_is_checked_is_told_as_final(
    make_phase: Callable[..., Phase], make_submission: Callable[..., Any], state: str
) -> None:
    from gauntlet.evaluation.services import cancel_submission

    submission = make_submission(make_phase(), state=state)
    told = tell(submission.participant, submission.pk)
    assert json.loads(told.payload)["can_cancel"]
    cancel_submission(submission, actor=submission.participant)
    told = told_anew(by_token(submission.participant), submission.pk, told)
    assert (status(told), told.final, json.loads(told.payload)["can_cancel"]) == ("cancelled", True, False)


def test_what_time_brings_is_told_though_nothing_changed(
    start: Callable[..., Evaluation], make_phase: Any, worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = start(make_phase(visibility="none"))
    owner, pk = evaluation.submission.participant, evaluation.submission_id
    worker.finish_all()
    told = tell(owner, pk)
    Phase.objects.update(reveal_at=timezone.now())
    monkeypatch.setattr(api, "_WHOLE_SECONDS", 0.0)
    assert json.loads(told_anew(by_token(owner), pk, told).payload)["scores"]


def test_a_submission_whose_checker_died_does_not_go_back_to_received(
    make_phase: Callable[..., Phase], make_submission: Callable[..., Any]
) -> None:
    from gauntlet.submissions.checks import put_back

    submission = make_submission(make_phase(), state="checking", check_attempts=1)
    put_back(submission, reason="The checker died.")
    submission.refresh_from_db()
    assert submission.state == "received"
    assert status(tell(submission.participant, submission.pk)) == "checking"


def revoke(request: HttpRequest) -> None:
    ApiToken.objects.update(revoked_at=timezone.now())


def narrow(request: HttpRequest) -> None:
    ApiToken.objects.update(scopes=[])


def switch_off(request: HttpRequest) -> None:
    User.objects.update(is_active=False)


def log_out_elsewhere(request: HttpRequest) -> None:
    other = RequestFactory().get("/")
    other.session = type(request.session)(request.session.session_key)
    logout(other)


@pytest.mark.security
@pytest.mark.parametrize(
    ("come", "change"),
    [
        (by_token, revoke),
        (by_token, narrow),
        (by_token, switch_off),
        (by_session, switch_off),
        (by_session, log_out_elsewhere),
    ],
)
def test_who_may_not_read_any_more_is_told_nothing_more(
    come: Callable[[User], HttpRequest],
    change: Callable[[HttpRequest], None],
    start: Callable[..., Evaluation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr(api, "_WHOLE_SECONDS", 0.0)
    evaluation = start()
    request = come(evaluation.submission.participant)

    async def listen() -> list[bytes]:
        heard: list[bytes] = []
        answer: Any = await api.submission_events(request, evaluation.submission_id)
        async for line in answer.streaming_content:
            heard.append(line)
            if len(heard) == 2:
                await sync_to_async(change)(request)
            assert len(heard) < 5, "it goes on"
        return heard

    first, *more = async_to_sync(listen)()
    assert first.startswith(b"event: state")
    assert more == [b": still here\n\n"]  # the same reader was looked at again, and then the change came
