"""What began in an own queue whose workers do not come back: who waits is told, and the organizer decides."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gauntlet.accounts.models import Event
from gauntlet.competitions.errors import NotOrganizer
from gauntlet.competitions.models import Phase
from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation import claims
from gauntlet.evaluation.errors import QueueIsServed, RunsNowhereElse
from gauntlet.evaluation.models import Evaluation, Job, Worker
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.services import cancel_submission
from gauntlet.evaluation.stranded import end_stranded, stranded_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(own_phase: Callable[..., Phase]) -> Phase:
    return own_phase(scenarios=2)


@pytest.fixture
def begun(phase: Phase, start: Callable[..., Evaluation], remote: Any, expire: Any) -> Evaluation:
    """An evaluation whose worker did not come back from its first job."""
    evaluation = start(phase)
    remote.ask("POST", "heartbeat", {"worker": remote.name, "state": "busy"})
    expire(remote.must_claim())
    claims.sweep()
    Worker.objects.update(state="stopped")
    evaluation.refresh_from_db()
    return evaluation


def unserved(evaluation: Evaluation) -> str:
    """The queue that its submission's page and the API say nobody serves."""
    story = submission_story(evaluation.submission, audience=Audience.OWNER, now=timezone.now())
    (told,) = [one for one in story.evaluations if one.id == evaluation.pk]
    return told.unserved_queue


def test_who_waits_is_told_as_long_as_nobody_works_there(begun: Evaluation, remote: Any) -> None:
    assert (begun.state, unserved(begun)) == ("running", "gpu-lab")
    remote.ask("POST", "heartbeat", {"worker": remote.name, "state": "idle"})
    assert unserved(begun) == ""
    Job.objects.update(available_at=timezone.now(), avoided=[])
    claim = remote.must_claim()
    Worker.objects.update(state="stopped")
    assert unserved(begun) == ""  # it is in work
    remote.finish(claim)
    assert unserved(begun) == "gpu-lab"  # its next job waits


def test_the_organizer_ends_it_and_the_attempt_is_given_back(
    begun: Evaluation, phase: Phase, django_capture_on_commit_callbacks: Any
) -> None:
    organizer = phase.competition.organizer
    (line,) = stranded_of(phase.competition)
    assert (line.phase, line.queue, line.evaluations, line.may_run_again) == (phase, "gpu-lab", 1, False)
    with pytest.raises(RunsNowhereElse, match="Give it another one first"):
        end_stranded(phase, queue="gpu-lab", again=True, actor=organizer)
    with django_capture_on_commit_callbacks(execute=True):
        assert end_stranded(phase, queue="gpu-lab", again=False, actor=organizer) == 1
    begun.refresh_from_db()
    begun.submission.refresh_from_db()
    assert (begun.state, begun.failure_code) == ("failed", "environment_error")
    assert "did not come back" in begun.failure_message
    assert (begun.submission.counts_as, begun.submission.given_back_for) == ("nothing", "organizer")
    assert set(begun.jobs.values_list("state", flat=True)) == {"failed"}
    assert stranded_of(phase.competition) == []
    assert end_stranded(phase, queue="gpu-lab", again=False, actor=organizer) == 0
    event = Event.objects.get(name="phase.stranded_ended")
    assert (event.actor, event.data) == (organizer, {"queue": "gpu-lab", "again": False, "evaluations": 1})


def test_or_runs_it_again_where_the_phase_waits_by_then(
    begun: Evaluation, phase: Phase, worker: Any, django_capture_on_commit_callbacks: Any
) -> None:
    organizer = phase.competition.organizer
    Phase.objects.filter(pk=phase.pk).update(queue="default")
    phase.refresh_from_db()
    with django_capture_on_commit_callbacks(execute=True):
        assert end_stranded(phase, queue="gpu-lab", again=True, actor=organizer) == 1
    worker.finish_all()
    first, second = begun.submission.evaluations.order_by("number")
    assert (first.state, second.state, second.number, second.in_force) == ("cancelled", "finished", 2, True)
    assert set(second.jobs.values_list("queue", flat=True)) == {"default"}
    begun.submission.refresh_from_db()
    assert begun.submission.counts_as == "attempt"
    event = Event.objects.filter(name="evaluation.cancelled").get()
    assert (event.actor, event.reason) == (organizer, "Its workers do not come back.")


def test_nothing_is_ended_that_has_a_worker_or_is_the_platforms(
    begun: Evaluation, phase: Phase, remote: Any, start: Callable[..., Evaluation], make_user: Any
) -> None:
    organizer = phase.competition.organizer
    with pytest.raises(NotOrganizer):
        end_stranded(phase, queue="gpu-lab", again=False, actor=make_user())
    with pytest.raises(QueueIsServed):
        end_stranded(phase, queue="default", again=False, actor=organizer)
    waiting = start(phase)  # which has not begun, and moves along with its phase
    remote.ask("POST", "heartbeat", {"worker": remote.name, "state": "idle"})
    assert stranded_of(phase.competition) == []
    with pytest.raises(QueueIsServed):
        end_stranded(phase, queue="gpu-lab", again=False, actor=organizer)
    Job.objects.update(available_at=timezone.now(), avoided=[])
    remote.name = "box:2"
    held = [remote.must_claim() for _ in range(2)]
    Worker.objects.update(state="stopped")
    assert stranded_of(phase.competition) == []
    assert end_stranded(phase, queue="gpu-lab", again=False, actor=organizer) == 0
    assert {claim.evaluation for claim in held} == {str(begun.pk), str(waiting.pk)}
    assert set(Evaluation.objects.values_list("state", flat=True)) == {"running"}


def test_lines_take_the_same_queries_however_much_waits(
    begun: Evaluation, phase: Phase, start: Callable[..., Evaluation]
) -> None:
    with CaptureQueriesContext(connection) as few:
        assert stranded_of(phase.competition)[0].evaluations == 1
    for _ in range(4):
        Evaluation.objects.filter(pk=start(phase).pk).update(state="running")
    with CaptureQueriesContext(connection) as many:
        assert stranded_of(phase.competition)[0].evaluations == 5
    assert len(many) == len(few)


def test_by_the_api_and_on_the_organizers_page(begun: Evaluation, phase: Phase, make_user: Any) -> None:
    client = Client()
    api = f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/queue"
    page = f"/competitions/{phase.competition.slug}/organizer/workers/"
    client.force_login(make_user())
    sent = {"queue": "gpu-lab", "again": False}
    assert client.post(api, sent, "application/json").status_code == 403
    client.force_login(phase.competition.organizer)
    assert client.post(api, {"queue": "gpu-lab"}, "application/json").status_code == 400
    refused = client.post(api, {"queue": "gpu-lab", "again": True}, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (409, "runs_nowhere_else")
    shown = client.get(page).content.decode()
    assert "Begun where nobody works now" in shown
    assert "give the phase another queue first" in shown
    served = client.post(page, {"phase": phase.index, "queue": "default", "stranded": "end"})
    assert (served.status_code, "Nothing was ended" in served.content.decode()) == (409, True)
    Phase.objects.filter(pk=phase.pk).update(queue="default")
    assert "Run again in default" in client.get(page).content.decode()
    done = client.post(page, {"phase": phase.index, "queue": "gpu-lab", "stranded": "again"}, follow=True)
    assert "1 run began again." in done.content.decode()
    assert client.post(api, sent, "application/json").json() == {"ended": 0}
    assert "Begun where nobody works now" not in client.get(page).content.decode()


@pytest.mark.django_db(transaction=True)
def test_who_cancels_while_it_is_started_anew_cancels_what_is_started(
    begun: Evaluation, phase: Phase, until_somebody_waits: Callable[[], None]
) -> None:
    Phase.objects.filter(pk=phase.pk).update(queue="default")
    phase.refresh_from_db()
    participant = begun.submission.participant

    def cancel() -> int:
        try:
            return cancel_submission(begun.submission, actor=participant)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Evaluation.objects.select_for_update().get(pk=begun.pk)
            cancelled = pool.submit(cancel)
            until_somebody_waits()  # it has listed the first one
            assert end_stranded(phase, queue="gpu-lab", again=True, actor=phase.competition.organizer) == 1
        assert cancelled.result(timeout=60) == 1
    first, second = begun.submission.evaluations.order_by("number")
    assert (first.state, second.state) == ("cancelled", "cancelled")
    assert set(second.jobs.values_list("state", flat=True)) == {"failed"}
    assert cancel_submission(begun.submission, actor=participant) == 0
