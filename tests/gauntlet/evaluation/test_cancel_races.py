"""Cancel against everything else that moves an evaluation: in both orders, each begun before the other is committed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from gauntlet.accounts.models import Event
from gauntlet.competitions.models import Phase
from gauntlet.evaluation import claims
from gauntlet.evaluation.models import Evaluation, Job, Score
from gauntlet.evaluation.services import cancel_evaluation, cancel_submission, start_evaluations
from gauntlet.leaderboards.models import Entry
from gauntlet.submissions import checks
from gauntlet.submissions.models import Submission
from gauntlet_runtime.jobs import Claim, Failure, JobEvent, LeaseLost, RunResult
from gauntlet_scoring.failures import FailureCode

if TYPE_CHECKING:
    from tests.gauntlet.evaluation.conftest import FakeWorker

PLATFORM_FAILURE = Failure(code=FailureCode.INFRASTRUCTURE, message="The sandbox could not be started.")
AGENT_FAILURE = Failure(code=FailureCode.AGENT_ERROR, message="The agent ended with exit code 1.")

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Ground:
    """An evaluation with what its worker holds."""

    evaluation: Evaluation
    worker: FakeWorker
    held: Claim | None = None

    @property
    def claim(self) -> Claim:
        assert self.held is not None
        return self.held

    def cancel(self) -> bool:
        return cancel_evaluation(self.evaluation.pk, actor=self.evaluation.submission.participant)

    def state(self) -> str:
        self.evaluation.refresh_from_db()
        return self.evaluation.state

    def expire(self, *, attempt: int = 1) -> None:
        Job.objects.filter(pk=UUID(self.claim.job)).update(leased_until=Now(), attempt=attempt)


def _claim(ground: Ground) -> Any:
    return ground.worker.claim()


def _finish_run(ground: Ground) -> None:
    ground.worker.source.finish(ground.claim, ground.worker.run(ground.claim))


def _finish_part_of_a_run(ground: Ground) -> None:
    ground.worker.source.finish(ground.claim, ground.worker.run(ground.claim, only=1))


def _fail_to_start(ground: Ground) -> None:
    ground.worker.source.finish(ground.claim, RunResult(episodes=[], failure=AGENT_FAILURE))


def _finish_scoring(ground: Ground) -> None:
    ground.worker.source.finish(ground.claim, ground.worker.scores(ground.claim))


def _report(ground: Ground) -> None:
    ground.worker.source.report(
        ground.claim, JobEvent.EPISODE_ENDED, {"episode": ground.claim.spec.episodes[0].episode}
    )


def _report_start(ground: Ground) -> None:
    ground.worker.source.report(ground.claim, JobEvent.AGENT_STARTED, {})


def _give_back(ground: Ground) -> None:
    ground.worker.source.give_back(ground.claim, PLATFORM_FAILURE)


def _give_back_last(ground: Ground) -> None:
    Job.objects.filter(pk=UUID(ground.claim.job)).update(attempt=3)
    _give_back(ground)


def _hand_back(ground: Ground) -> None:
    ground.worker.source.hand_back(ground.claim)


def _renew(ground: Ground) -> None:
    ground.worker.source.renew(ground.claim)


def _reap(ground: Ground) -> int:
    ground.expire()
    return claims.take_from_dead_workers()


def _reap_last(ground: Ground) -> int:
    ground.expire(attempt=3)
    return claims.take_from_dead_workers()


#: What is done, in which state of the evaluation, and in which one it is then where it comes first.
MOVES: dict[str, tuple[Callable[[Ground], Any], str, str]] = {
    "claim": (_claim, "queued", "running"),
    "finish a run": (_finish_run, "running", "scoring"),
    "finish a part of a run": (_finish_part_of_a_run, "running", "running"),
    "fail to start": (_fail_to_start, "running", "failed"),
    "finish the scoring": (_finish_scoring, "scoring", "finished"),
    "report an episode": (_report, "running", "running"),
    "report the agent's start": (_report_start, "running", "running"),
    "give back": (_give_back, "running", "running"),
    "give back for the third time": (_give_back_last, "running", "failed"),
    "hand back": (_hand_back, "running", "running"),
    "renew": (_renew, "running", "running"),
    "reap": (_reap, "running", "running"),
    "reap for the third time": (_reap_last, "scoring", "failed"),
}


@pytest.fixture
def ground(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], worker: FakeWorker, settings: Any
) -> Callable[[str], Ground]:
    """An evaluation in a state, with the job that a worker holds in it."""

    def make(state: str) -> Ground:
        settings.RUN_SLICE = 2
        made = Ground(start(make_phase(scenarios=2)), worker)
        if state != "queued":
            made.held = worker.must_claim()
        if state == "scoring":
            _finish_run(made)
            made.held = worker.must_claim()
        return made

    return make


def _assert_cancelled_for_good(ground: Ground) -> None:
    """Nothing is done for it any more, and nothing that comes late changes it."""
    claims.sweep()
    assert ground.state() == "cancelled"
    assert not ground.evaluation.jobs.filter(state__in=["ready", "leased", "lost"]).exists()
    assert not Score.objects.exists()
    assert not Entry.objects.exists()
    assert ground.worker.claim() is None
    for claim in ground.worker.claims:
        with pytest.raises(LeaseLost):
            ground.worker.source.renew(claim)
    told = Event.objects.filter(subject_id=str(ground.evaluation.pk)).values_list("after", flat=True)
    assert list(told)[-1] == "cancelled"
    assert not ground.cancel()


@pytest.mark.parametrize("move", MOVES)
def test_what_comes_while_it_is_cancelled_changes_nothing(
    move: str, ground: Callable[[str], Ground], overlapping: Any
) -> None:
    do, state, _ = MOVES[move]
    here = ground(state)
    jobs = here.evaluation.jobs.count()
    outcome = overlapping(here.cancel, lambda: do(here))
    if do is _claim:
        assert outcome is None  # no worker begins what is cancelled
    elif do in (_reap, _reap_last):
        assert outcome in (0, 1)  # whoever drops the job
    elif do is not _renew:  # which waits for nobody: the next one is told
        assert isinstance(outcome, LeaseLost)
    _assert_cancelled_for_good(here)
    assert here.evaluation.jobs.count() == jobs
    assert here.evaluation.submission.counts_as == "attempt"
    assert here.evaluation.episodes.exclude(outcome="").exists() == (state == "scoring")


@pytest.mark.parametrize("move", MOVES)
def test_a_cancel_that_comes_while_something_else_is_done_is_final_or_too_late(
    move: str, ground: Callable[[str], Ground], overlapping: Any
) -> None:
    do, state, then = MOVES[move]
    here = ground(state)
    cancelled = overlapping(lambda: do(here), here.cancel)
    if then not in ("failed", "finished"):
        assert cancelled is True
        _assert_cancelled_for_good(here)
        return
    assert cancelled is False
    assert here.state() == then
    assert Score.objects.exists() == (then == "finished")
    claims.sweep()
    assert not here.evaluation.jobs.filter(state__in=["ready", "leased", "lost"]).exists()


@pytest.mark.parametrize("move", MOVES)
def test_truly_at_once_one_of_the_two_ends_holds_wholly(move: str, ground: Callable[[str], Ground]) -> None:
    do, state, then = MOVES[move]
    here = ground(state)
    together = threading.Barrier(2)

    def run(what: Callable[[], Any]) -> Any:
        try:
            together.wait(60)
            return what()
        except LeaseLost as lost:
            return lost
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        done, cancelled = pool.map(run, [lambda: do(here), here.cancel])
    if cancelled:
        _assert_cancelled_for_good(here)
        return
    assert then in ("failed", "finished")
    assert not isinstance(done, LeaseLost)
    assert here.state() == then
    assert Score.objects.exists() == (then == "finished")


def test_control_without_the_lock_what_is_cancelled_is_finished_all_the_same(
    ground: Callable[[str], Ground], overlapping: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the tests above would notice a missing lock."""
    here = ground("scoring")
    monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *args, **kwargs: self)
    outcome = overlapping(here.cancel, lambda: _finish_scoring(here))
    assert not isinstance(outcome, LeaseLost)
    assert (here.state(), Score.objects.exists()) == ("finished", True)
    assert Event.objects.filter(name="evaluation.cancelled").exists()


# While it is checked


def _checked(submission: Submission) -> None:
    """The end of a check that found nothing wrong."""
    checks._conclude(submission, checks.Outcome(findings=[], agent={"name": "x"}), on_accept=start_evaluations)


@pytest.fixture
def checking(make_phase: Callable[..., Phase], make_submission: Callable[..., Submission]) -> Submission:
    return make_submission(make_phase(), state="checking", check_attempts=1)


def test_a_check_that_ends_while_its_submission_is_cancelled_starts_nothing(
    checking: Submission, overlapping: Any
) -> None:
    user = checking.participant
    overlapping(lambda: cancel_submission(checking, actor=user), lambda: _checked(checking))
    checking.refresh_from_db()
    assert checking.state == "cancelled"
    assert not Evaluation.objects.exists()
    assert not Job.objects.exists()


def test_a_cancel_that_comes_while_the_check_ends_cancels_what_that_started(
    checking: Submission, overlapping: Any, worker: FakeWorker
) -> None:
    user = checking.participant
    assert overlapping(lambda: _checked(checking), lambda: cancel_submission(checking, actor=user)) == 1
    checking.refresh_from_db()
    evaluation = checking.evaluations.get()
    assert (checking.state, evaluation.state) == ("accepted", "cancelled")
    assert worker.claim() is None
    assert evaluation.jobs.get().state == "failed"


def test_control_without_the_lock_a_cancelled_submission_is_accepted(
    checking: Submission, overlapping: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *args, **kwargs: self)
    user = checking.participant
    overlapping(lambda: cancel_submission(checking, actor=user), lambda: _checked(checking))
    checking.refresh_from_db()
    assert checking.state == "accepted"
    assert Evaluation.objects.exists()
