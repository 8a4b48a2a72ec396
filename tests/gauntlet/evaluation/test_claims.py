"""Jobs as workers hold them: leases, fences, retries, fairness, the sweep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from gauntlet.accounts.models import Event
from gauntlet.competitions.models import Phase
from gauntlet.evaluation import claims, job_source, queue
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.evaluation.services import cancel_evaluation, cancel_submission, start_evaluations
from gauntlet.submissions.checks import check_next, put_back
from gauntlet_runtime.jobs import Claim, Failure, LeaseLost, RunSpec


def states(evaluation: Evaluation) -> list[str]:
    return list(evaluation.jobs.order_by("created_at").values_list("state", flat=True))


def ready_now() -> None:
    """Let the backoff of retries pass."""
    Job.objects.filter(state="ready").update(available_at=Now(), avoided_until=None)


def test_a_claim_leases_the_job_and_starts_the_evaluation(start: Callable[..., Evaluation], worker: Any) -> None:
    evaluation = start()
    claim = worker.must_claim()
    evaluation.refresh_from_db()
    assert (evaluation.state, claim.evaluation, claim.attempt) == ("running", str(evaluation.pk), 1)
    assert isinstance(claim.spec, RunSpec)
    assert claim.spec.probe
    job = Job.objects.get(pk=claim.job)
    assert (job.state, str(job.token), job.worker) == ("leased", claim.token, "worker")
    assert worker.claim() is None


def test_a_queue_that_the_worker_does_not_serve_is_left_alone(start: Callable[..., Evaluation], worker: Any) -> None:
    start()
    assert worker.source.claim(queues=["gpu"], worker="worker") is None


def test_the_participant_with_fewest_running_jobs_goes_first(
    start: Callable[..., Evaluation], make_phase: Callable[..., Phase], make_user: Callable[..., Any], worker: Any
) -> None:
    phase, busy, other = make_phase(), make_user(), make_user()
    for _ in range(5):
        start(phase, participant=busy)
    alone = start(phase, participant=other)
    worker.must_claim()
    assert worker.must_claim().evaluation == str(alone.pk)


def test_a_renewal_extends_the_lease(
    start: Callable[..., Evaluation], worker: Any, expire: Callable[[Claim], None]
) -> None:
    start()
    claim = worker.must_claim()
    expire(claim)
    worker.source.renew(claim)
    assert claims.sweep() == 0


@pytest.mark.django_db(transaction=True)
def test_a_renewal_that_waits_while_the_job_is_taken_away_learns_so(
    start: Callable[..., Evaluation],
    worker: Any,
    expire: Callable[[Claim], None],
    until_somebody_waits: Callable[[], None],
) -> None:
    start()
    claim = worker.must_claim()
    expire(claim)

    def renew() -> None:
        try:
            worker.source.renew(claim)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert claims.take_from_dead_workers() == 1
            late = pool.submit(renew)
            until_somebody_waits()
        assert isinstance(late.exception(timeout=60), LeaseLost)
    job = Job.objects.get(pk=claim.job)
    assert (job.state, job.leased_until) == ("ready", None)


def test_a_lease_that_ran_out_is_found_and_the_job_tried_again(
    start: Callable[..., Evaluation], worker: Any, expire: Callable[[Claim], None]
) -> None:
    evaluation = start()
    first = worker.must_claim()
    expire(first)
    assert claims.sweep() == 1
    assert states(evaluation) == ["ready"]
    ready_now()
    second = worker.must_claim()
    assert (second.job, second.attempt) == (first.job, 2)
    assert second.token != first.token


def test_whoever_claims_finds_what_a_dead_worker_held_without_a_sweep(
    start: Callable[..., Evaluation], worker: Any, expire: Callable[[Claim], None]
) -> None:
    start()
    held = worker.must_claim()
    expire(held)
    assert worker.claim() is None  # it is ready again, and waits for its backoff
    ready_now()
    again = worker.must_claim()
    assert (again.job, again.attempt) == (held.job, 2)


def test_a_late_result_of_an_expired_attempt_is_refused_and_stores_nothing(
    start: Callable[..., Evaluation], worker: Any, expire: Callable[[Claim], None]
) -> None:
    evaluation = start()
    late = worker.must_claim()
    expire(late)
    claims.sweep()
    ready_now()
    current = worker.must_claim()
    with pytest.raises(LeaseLost):
        worker.source.finish(late, worker.run(late))
    assert not evaluation.episodes.exclude(outcome="").exists()
    worker.source.finish(current, worker.run(current, only=1))
    assert evaluation.episodes.exclude(outcome="").count() == 1


def test_a_job_that_the_platform_fails_three_times_fails_the_evaluation_and_refunds(
    start: Callable[..., Evaluation], worker: Any, platform_failure: Failure
) -> None:
    evaluation = start()
    for attempt in (1, 2, 3):
        ready_now()
        claim = worker.must_claim()
        assert claim.attempt == attempt
        worker.source.give_back(claim, platform_failure)
    evaluation.refresh_from_db()
    assert (evaluation.state, evaluation.failure_code) == ("failed", "infrastructure")
    assert evaluation.submission.counts_as == "nothing"
    ready_now()
    assert worker.claim() is None


def test_a_retry_waits_for_its_backoff(
    start: Callable[..., Evaluation], worker: Any, platform_failure: Failure
) -> None:
    start()
    worker.source.give_back(worker.must_claim(), platform_failure)
    assert worker.claim() is None


def test_a_job_that_failed_by_a_hosts_fault_goes_to_another_first_and_comes_back_ever_later(
    start: Callable[..., Evaluation], make_worker: Callable[[str], Any], platform_failure: Failure
) -> None:
    sick, same_host, other = make_worker("sick:1"), make_worker("sick:2"), make_worker("well:1")
    start()
    waits = []
    for _ in range(2):
        ready_now()
        sick.source.give_back(sick.must_claim(), platform_failure)
        job = Job.objects.get()
        waits.append((job.avoided_until - job.available_at).total_seconds())
        Job.objects.update(available_at=Now())
        assert sick.claim() is None
        assert same_host.claim() is None
    assert waits[1] > 3 * waits[0] > 0
    assert other.must_claim().attempt == 3


def test_a_job_that_failed_by_the_organizers_fault_is_kept_from_no_host(
    start: Callable[..., Evaluation], worker: Any, scoring_failure: Failure
) -> None:
    start()
    worker.source.give_back(worker.must_claim(), scoring_failure)
    Job.objects.update(available_at=Now())
    assert worker.must_claim().attempt == 2


def test_a_job_that_was_handed_back_is_ready_at_once_and_used_no_attempt(
    start: Callable[..., Evaluation], worker: Any
) -> None:
    evaluation = start()
    first = worker.must_claim()
    worker.source.hand_back(first)
    with pytest.raises(LeaseLost):
        worker.source.finish(first, worker.run(first))
    second = worker.must_claim()
    assert (second.job, second.attempt) == (first.job, 1)
    assert second.token != first.token
    evaluation.refresh_from_db()
    assert evaluation.state == "running"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", ["received", "checking"])
def test_cancel_while_it_is_checked_is_final(
    make_phase: Callable[..., Phase], make_submission: Callable[..., Any], state: str
) -> None:
    submission = make_submission(make_phase(), state=state, check_attempts=int(state == "checking"))
    assert cancel_submission(submission, actor=submission.participant) == 1
    assert cancel_submission(submission, actor=submission.participant) == 0
    assert not put_back(submission, reason="The checker died.")
    submission.refresh_from_db()
    assert (submission.state, submission.counts_as) == ("cancelled", "attempt")
    assert not check_next(sandbox=None, on_accept=start_evaluations)
    assert not submission.evaluations.exists()


def test_every_transition_leaves_an_event(start: Callable[..., Evaluation], worker: Any) -> None:
    evaluation = start()
    worker.must_claim()
    events = Event.objects.filter(subject_type="evaluation", subject_id=str(evaluation.pk))
    assert [(event.before, event.after) for event in events] == [("", "queued"), ("queued", "running")]


@pytest.mark.parametrize("when", ["queued", "running", "scoring"])
@pytest.mark.django_db(transaction=True)
def test_cancel_is_final_and_takes_the_lease_from_the_worker(
    start: Callable[..., Evaluation], worker: Any, when: str
) -> None:
    evaluation = start()
    claim: Claim | None = None
    if when != "queued":
        claim = worker.must_claim()
    if when == "scoring":
        worker.source.finish(claim, worker.run(claim, only=1))
        claim = worker.must_claim()
        worker.source.finish(claim, worker.run(claim))
        claim = worker.must_claim()
    assert cancel_evaluation(evaluation.pk, actor=evaluation.submission.participant)
    assert not cancel_evaluation(evaluation.pk, actor=evaluation.submission.participant)
    evaluation.refresh_from_db()
    assert evaluation.state == "cancelled"
    assert "ready" not in states(evaluation)
    assert worker.claim() is None
    if claim is not None:
        with pytest.raises(LeaseLost):
            worker.source.renew(claim)
        with pytest.raises(LeaseLost):
            worker.source.finish(claim, worker.run(claim) if claim.spec.kind == "run" else worker.scores(claim))
    evaluation.refresh_from_db()
    assert evaluation.state == "cancelled"


@pytest.mark.django_db(transaction=True)
def test_workers_that_claim_at_once_never_get_the_same_job(
    start: Callable[..., Evaluation], worker: Any, at_once: Any
) -> None:
    for _ in range(8):
        start()
    claimed = at_once(4, lambda: [claim.job for _ in range(2) if (claim := worker.claim())])
    jobs = [job for several in claimed for job in several]
    assert len(jobs) == len(set(jobs)) == 8


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_they_do(
    start: Callable[..., Evaluation], monkeypatch: pytest.MonkeyPatch, at_once: Any
) -> None:
    """The control of the test above: the same reading without the locks gives one job to several."""
    start()
    together = Barrier(4)
    monkeypatch.setattr(queue, "_LOCK", "SELECT 1")
    monkeypatch.setattr(queue, "_NEXT", queue._NEXT.replace("FOR UPDATE OF job SKIP LOCKED", ""))

    def pick() -> str:
        with transaction.atomic():
            job = queue.lock_next(queues=["default"], host="host")
            together.wait(timeout=30)
            return str(job)

    assert len(set(at_once(4, pick))) == 1


def test_whoever_finds_a_job_rings_for_the_next_process(
    start: Callable[..., Evaluation], worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ring wakes one process; without this the others of a host that has just come up would wait for the beat."""
    rung: list[str] = []
    monkeypatch.setattr(job_source, "ring", rung.append)
    source = job_source.DatabaseJobSource()
    assert source.claim(queues=["default"], worker="host:1") is None
    assert rung == []
    for _ in range(3):
        start()
    for _ in range(2):  # short jobs, one after the other
        assert source.claim(queues=["default"], worker="host:1") is not None
    assert rung == ["default"]
    monkeypatch.setattr(job_source, "_PASS_ON_SECONDS", 0.0)
    assert source.claim(queues=["default"], worker="host:1") is not None
    assert rung == ["default"] * 2


def test_a_job_that_cannot_be_put_together_goes_back_and_keeps_no_other_waiting(
    start: Callable[..., Evaluation], make_artifact: Callable[..., Any], worker: Any
) -> None:
    broken, fine = start(agent_bundle=None), start()
    assert worker.must_claim().evaluation == str(fine.pk)
    assert states(broken) == ["ready"]
    for _ in range(2):
        ready_now()
        assert worker.claim() is None
    broken.refresh_from_db()
    assert (broken.state, broken.failure_code) == ("failed", "infrastructure")
    assert broken.submission.counts_as == "nothing"
    assert states(broken) == ["failed"]


def test_a_dead_workers_job_of_an_evaluation_that_has_just_ended_stops_no_sweep(
    start: Callable[..., Evaluation],
    make_user: Callable[..., Any],
    worker: Any,
    expire: Callable[[Claim], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluation = start()
    claim = worker.must_claim()
    Job.objects.filter(pk=claim.job).update(attempt=3)
    expire(claim)
    monkeypatch.setattr(claims, "_drop_jobs", lambda jobs: 0)  # it ends between the sweep's two looks
    cancel_evaluation(evaluation.pk, actor=make_user())
    assert claims.sweep() == 1
    evaluation.refresh_from_db()
    assert (evaluation.state, states(evaluation)) == ("cancelled", ["failed"])
