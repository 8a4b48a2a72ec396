"""What a viewer of live events costs: one cheap statement a tick, and the story only where it changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from gauntlet.competitions.models import Phase
from gauntlet.evaluation import api
from gauntlet.evaluation.models import Evaluation
from gauntlet_runtime.jobs import JobEvent

tell = async_to_sync(api._tell)
told_anew = async_to_sync(api._told_anew)


def status(told: Any) -> str:
    return str(json.loads(told.payload)["status"])


def test_a_tick_without_a_change_is_one_statement(
    start: Callable[..., Evaluation], django_assert_num_queries: Any
) -> None:
    evaluation = start()
    owner, pk = evaluation.submission.participant, evaluation.submission_id
    told = tell(owner, pk)
    with django_assert_num_queries(1):
        assert told_anew(owner, pk, told) is told


def test_every_step_of_a_run_is_told(start: Callable[..., Evaluation], make_phase: Any, worker: Any) -> None:
    evaluation = start(make_phase(visibility="full"))
    owner, pk = evaluation.submission.participant, evaluation.submission_id
    told = tell(owner, pk)
    heard = [status(told)]

    def listen() -> None:
        nonlocal told
        told = told_anew(owner, pk, told)
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
    told = told_anew(submission.participant, submission.pk, told)
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
    assert json.loads(told_anew(owner, pk, told).payload)["scores"]


def test_a_submission_whose_checker_died_does_not_go_back_to_received(
    make_phase: Callable[..., Phase], make_submission: Callable[..., Any]
) -> None:
    from gauntlet.submissions.checks import put_back

    submission = make_submission(make_phase(), state="checking", check_attempts=1)
    put_back(submission, reason="The checker died.")
    submission.refresh_from_db()
    assert submission.state == "received"
    assert status(tell(submission.participant, submission.pk)) == "checking"
