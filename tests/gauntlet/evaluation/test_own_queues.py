"""Which queue a phase uses, as it changes: what has not begun moves along, and no job waits in a queue that is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import kombu
import pytest
from django.contrib.auth.models import Permission
from django.core.files.base import ContentFile
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gauntlet.accounts.models import Event, User
from gauntlet.competitions.errors import NotOrganizer
from gauntlet.competitions.models import Competition, Phase
from gauntlet.competitions.services import join
from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation import claims
from gauntlet.evaluation.models import Evaluation, Job, Worker, WorkerState
from gauntlet.evaluation.own_queues import change_phase_queue, delete_queue, send_phase_back
from gauntlet.evaluation.queue_lines import queue_detail, queue_lines
from gauntlet.evaluation.selectors import submission_story
from gauntlet.evaluation.services import start_evaluations
from gauntlet.evaluation.transitions import database_now
from gauntlet.evaluation.workers import report_worker, report_worker_of, taking_workers
from gauntlet.queues.errors import NotQueueOwner, QueueInUse, QueueNotUsable
from gauntlet.queues.models import Queue
from gauntlet.queues.services import create_queue, issue_token, revoke_token, share_queue, unshare_queue
from gauntlet.submissions.services import receive

if TYPE_CHECKING:
    from tests.gauntlet.evaluation.conftest import FakeWorker

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


@pytest.fixture
def owner(phase: Phase) -> User:
    """The organizer, who may have queues."""
    organizer = phase.competition.organizer
    organizer.user_permissions.add(Permission.objects.get(codename="add_competition"))
    return organizer


@pytest.fixture
def queue(owner: User) -> Queue:
    return create_queue("lab", owner=owner)


def queues_of(evaluation: Evaluation) -> set[str]:
    """Where its jobs are."""
    return set(evaluation.jobs.values_list("queue", flat=True))


def test_what_waits_moves_along(phase: Phase, owner: User, queue: Queue, start: Callable[..., Evaluation]) -> None:
    waiting = [start(phase) for _ in range(3)]
    other = start()
    assert change_phase_queue(phase, queue="lab", actor=owner) == 3
    assert [queues_of(one) for one in (*waiting, other)] == [{"lab"}] * 3 + [{"default"}]
    assert Phase.objects.get(pk=phase.pk).queue == "lab"
    assert queues_of(start(phase)) == {"lab"}
    assert change_phase_queue(phase, queue="lab", actor=owner) == 0
    (event,) = Event.objects.filter(name="phase.queue_changed")
    assert (event.actor, event.data) == (owner, {"before": "default", "after": "lab", "jobs": 3})


def test_what_has_begun_ends_where_it_began(
    phase: Phase, owner: User, queue: Queue, start: Callable[..., Evaluation], worker: FakeWorker
) -> None:
    begun, waiting = start(phase), start(phase)
    claim = worker.must_claim()
    assert claim.evaluation == str(begun.pk)
    assert change_phase_queue(phase, queue="lab", actor=owner) == 1
    worker.finish_all()
    worker.source.finish(claim, worker.run(claim))
    worker.finish_all()
    begun.refresh_from_db()
    assert (begun.state, queues_of(begun), queues_of(waiting)) == ("finished", {"default"}, {"lab"})


def test_what_was_begun_and_waits_again_stays_too(
    phase: Phase,
    owner: User,
    queue: Queue,
    start: Callable[..., Evaluation],
    worker: FakeWorker,
    platform_failure: Any,
) -> None:
    begun = start(phase)
    worker.source.give_back(worker.must_claim(), platform_failure)
    assert change_phase_queue(phase, queue="lab", actor=owner) == 0
    assert (begun.jobs.get().state, queues_of(begun)) == ("ready", {"default"})


def test_what_is_accepted_with_a_phase_that_was_read_before_waits_in_the_new_queue(
    phase: Phase, owner: User, queue: Queue, make_submission: Callable[..., Any]
) -> None:
    submission = make_submission(phase)
    read_before = type(submission).objects.select_related("phase").get(pk=submission.pk)
    change_phase_queue(phase, queue="lab", actor=owner)
    (evaluation,) = start_evaluations(read_before)
    assert queues_of(evaluation) == {"lab"}


def test_only_organizers_change_it_and_only_to_what_they_may_use(
    phase: Phase, queue: Queue, make_user: Callable[..., User]
) -> None:
    collaborator, stranger = make_user(), make_user()
    phase.competition.collaborators.add(collaborator)
    with pytest.raises(NotOrganizer):
        change_phase_queue(phase, queue="lab", actor=stranger)
    for name in ("lab", "nothing", ""):
        with pytest.raises(QueueNotUsable):
            change_phase_queue(phase, queue=name, actor=collaborator)
    assert Phase.objects.get(pk=phase.pk).queue == "default"
    share_queue(queue, username=collaborator.username, actor=queue.owner)
    change_phase_queue(phase, queue="lab", actor=collaborator)
    assert Phase.objects.get(pk=phase.pk).queue == "lab"


def test_the_owner_serves_anothers_phase_no_longer(
    queue: Queue, owner: User, make_phase: Callable[..., Phase], start: Callable[..., Evaluation]
) -> None:
    phase = make_phase()
    friend = phase.competition.organizer
    share_queue(queue, username=friend.username, actor=owner)
    change_phase_queue(phase, queue="lab", actor=friend)
    waiting = start(phase)
    unshare_queue(queue, username=friend.username, actor=owner)
    assert queues_of(waiting) == {"lab"}
    with pytest.raises(NotQueueOwner):
        send_phase_back(phase, queue=queue, actor=friend)
    assert send_phase_back(phase, queue=queue, actor=owner) == 1
    assert (Phase.objects.get(pk=phase.pk).queue, queues_of(waiting)) == ("default", {"default"})
    with pytest.raises(QueueNotUsable):
        send_phase_back(phase, queue=queue, actor=owner)
    with pytest.raises(QueueNotUsable):
        change_phase_queue(phase, queue="lab", actor=friend)


def test_a_queue_is_deleted_once_nothing_uses_it(
    phase: Phase, owner: User, queue: Queue, start: Callable[..., Evaluation], make_user: Callable[..., User]
) -> None:
    token, _ = issue_token(queue, label="x", actor=owner)
    share_queue(queue, username=make_user("friend").username, actor=owner)
    change_phase_queue(phase, queue="lab", actor=owner)
    begun = start(phase)
    assert claims.claim_next(queues=["lab"], worker="lab/host:1", queue_token=token) is not None
    with pytest.raises(QueueInUse, match=f"“{phase.name}” of “{phase.competition.title}”"):
        delete_queue(queue, actor=owner)
    change_phase_queue(phase, queue="default", actor=owner)
    assert queues_of(begun) == {"lab"}
    with pytest.raises(QueueInUse, match="1 job of evaluations that began here"):
        delete_queue(queue, actor=owner)
    begun.jobs.update(state="failed", token=None)
    with pytest.raises(NotQueueOwner):
        delete_queue(queue, actor=make_user())
    assert queue.tokens.count() == 1
    delete_queue(queue, actor=owner)
    assert not Queue.objects.exists()
    (event,) = Event.objects.filter(name="queue.deleted")
    assert event.data == {"name": "lab"}


def test_a_refusal_does_not_tell_of_anothers_draft(queue: Queue, owner: User, make_phase: Callable[..., Phase]) -> None:
    draft = make_phase(queue="lab")
    Competition.objects.filter(pk=draft.competition_id).update(published=False, title="Secret plans")
    with pytest.raises(QueueInUse) as caught:
        delete_queue(queue, actor=owner)
    assert "Secret" not in caught.value.message
    assert f"a draft of {draft.competition.organizer.username}" in caught.value.message


@pytest.mark.django_db(transaction=True)
def test_a_job_that_is_claimed_meanwhile_stays(
    phase: Phase,
    owner: User,
    queue: Queue,
    start: Callable[..., Evaluation],
    until_somebody_waits: Callable[[], None],
) -> None:
    claimed, waiting = start(phase), start(phase)
    moved: list[int] = []
    thread = threading.Thread(target=_then_close, args=(lambda: moved.append(_change(phase, owner)),))
    with transaction.atomic():
        job = claims.claim_next(queues=["default"], worker="host:1")
        assert job is not None
        assert job.evaluation_id == claimed.pk
        thread.start()
        until_somebody_waits()
    thread.join()
    assert (moved, queues_of(claimed), queues_of(waiting)) == ([1], {"default"}, {"lab"})
    assert claimed.jobs.get().state == "leased"


@pytest.mark.django_db(transaction=True)
def test_a_queue_that_a_phase_begins_to_use_is_not_deleted_meanwhile(
    phase: Phase, owner: User, queue: Queue, until_somebody_waits: Callable[[], None]
) -> None:
    refused: list[QueueInUse] = []

    def delete() -> None:
        try:
            delete_queue(queue, actor=owner)
        except QueueInUse as error:
            refused.append(error)

    thread = threading.Thread(target=_then_close, args=(delete,))
    with transaction.atomic():
        change_phase_queue(phase, queue="lab", actor=owner)
        thread.start()
        until_somebody_waits()
    thread.join()
    assert len(refused) == 1
    assert Queue.objects.filter(pk=queue.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_accepted_while_the_queue_changes_waits_where_the_phase_does(
    phase: Phase,
    owner: User,
    queue: Queue,
    make_submission: Callable[..., Any],
    until_somebody_waits: Callable[[], None],
) -> None:
    submission = make_submission(phase)
    thread = threading.Thread(target=_then_close, args=(lambda: start_evaluations(submission),))
    with transaction.atomic():
        change_phase_queue(phase, queue="lab", actor=owner)
        thread.start()
        until_somebody_waits()
    thread.join()
    assert queues_of(submission.evaluations.get()) == {"lab"}


def _change(phase: Phase, owner: User) -> int:
    return change_phase_queue(Phase.objects.get(pk=phase.pk), queue="lab", actor=owner)


def _then_close(work: Callable[[], object]) -> None:
    try:
        work()
    finally:
        connections.close_all()


def test_an_owner_sees_who_serves_what_waits_and_which_phases(
    phase: Phase, owner: User, queue: Queue, start: Callable[..., Evaluation]
) -> None:
    change_phase_queue(phase, queue="lab", actor=owner)
    (line,) = queue_lines([queue])
    assert (line.workers, line.waiting, line.in_work, line.phases, line.unserved) == (0, 0, 0, 1, False)
    for _ in range(3):
        start(phase)
    token, _ = issue_token(queue, label="x", actor=owner)
    assert claims.claim_next(queues=["lab"], worker="lab/host:1", queue_token=token) is not None
    assert queue_lines([queue])[0].unserved
    for number, state in enumerate(["busy", "idle", "paused", "stopped"]):
        by_token = {"queues": ["lab"], "queue_token": token}
        Worker.objects.create(name=f"lab/host:{number}", host="host", state=state, seen_at=database_now(), **by_token)
    Worker.objects.create(name="other:1", host="other", queues=["default"], seen_at=database_now())
    detail = queue_detail(queue)
    line = detail.line
    assert (line.workers, line.waiting, line.in_work, line.unserved) == (2, 2, 1, False)
    assert [(one.worker.name, one.state) for one in detail.workers] == [
        ("lab/host:0", "busy"),
        ("lab/host:1", "idle"),
        ("lab/host:2", "paused"),
        ("lab/host:3", "stopped"),
    ]
    assert detail.phases == [phase]


def test_a_worker_of_the_platforms_that_listens_to_an_own_queue_does_not_serve_it(
    phase: Phase, owner: User, queue: Queue, start: Callable[..., Evaluation]
) -> None:
    """It gets no job there: a queue may have been made with a name that somebody's `celery -Q` had before."""
    change_phase_queue(phase, queue="lab", actor=owner)
    submission = start(phase).submission

    def unserved() -> list[str]:
        story = submission_story(submission, audience=Audience.OWNER, now=timezone.now())
        return [one.unserved_queue for one in story.evaluations]

    report_worker(name="host:1", queues=["default", "lab"], state=WorkerState.IDLE)
    assert taking_workers(["default", "lab"]) == {"default": 1, "lab": 0}
    assert unserved() == ["lab"]
    assert queue_detail(queue).workers == []
    token, _ = issue_token(queue, label="x", actor=owner)
    report_worker_of(token, worker="host:1", state=WorkerState.IDLE)
    assert taking_workers(["default", "lab"]) == {"default": 1, "lab": 1}
    assert unserved() == [""]
    assert [one.worker.name for one in queue_detail(queue).workers] == ["lab/host:1"]
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert taking_workers(["lab"]) == {"lab": 0}
    User.objects.filter(pk=owner.pk).update(is_active=True)
    revoke_token(token, actor=owner)
    assert taking_workers(["default", "lab"]) == {"default": 1, "lab": 0}


def test_a_worker_of_the_platforms_that_is_started_for_an_own_queue_does_not_start(
    owner: User, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gauntlet.celery import app
    from gauntlet.evaluation.listening import refuse_own_queues

    monkeypatch.setattr(connection, "close", lambda: None)  # the test's transaction
    monkeypatch.setattr(app.amqp, "queues", [kombu.Queue("default")])
    refuse_own_queues()
    monkeypatch.setattr(app.amqp, "queues", [kombu.Queue("default"), kombu.Queue("lab")])
    with pytest.raises(SystemExit) as refused:
        refuse_own_queues()
    assert f"'lab' is {owner.username}'s own" in str(refused.value)
    assert "Leave it out of -Q" in str(refused.value)


def test_lines_take_the_same_queries_however_many_there_are(owner: User, queue: Queue) -> None:
    with CaptureQueriesContext(connection) as few:
        queue_lines([queue])
    more = [queue, *(create_queue(f"lab-{number}", owner=owner) for number in range(5))]
    with CaptureQueriesContext(connection) as many:
        assert len(queue_lines(more)) == 6
    assert len(many) == len(few) == 3


def test_jobs_of_an_own_queue_ring_no_bell(
    phase: Phase,
    owner: User,
    queue: Queue,
    start: Callable[..., Evaluation],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    """Nobody would hear it: their workers ask by themselves."""
    from gauntlet import celery

    rung: list[str] = []
    monkeypatch.setattr(celery, "_send", rung.append)
    with django_capture_on_commit_callbacks(execute=True):
        change_phase_queue(phase, queue="lab", actor=owner)
        start(phase)
    assert rung == []
    with django_capture_on_commit_callbacks(execute=True):
        change_phase_queue(phase, queue="default", actor=owner)
    assert rung == ["default"]
    assert Job.objects.get().queue == "default"


def test_what_is_sent_to_a_phase_on_an_own_queue_is_checked_by_the_platforms_workers(
    phase: Phase,
    owner: User,
    queue: Queue,
    make_user: Callable[..., User],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    from gauntlet import celery

    rung: list[str] = []
    monkeypatch.setattr(celery, "_send", rung.append)
    change_phase_queue(phase, queue="lab", actor=owner)
    sender = make_user()
    join(phase.competition, user=sender, terms_accepted=True)
    with django_capture_on_commit_callbacks(execute=True):
        receive(phase=phase, participant=sender, upload=ContentFile(b"received unread"), file_name="mine.zip")
    assert rung == ["default"]
