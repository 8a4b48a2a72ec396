"""Jobs as workers hold them: claimed, renewed, given back, swept up.

Locks are taken in one order everywhere: a job, then its evaluation, then its submission. Whoever ends an evaluation
therefore does not touch its other jobs while holding it: they are dropped after the commit, and by the sweep.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from gauntlet.celery import ring
from gauntlet.competitions.models import Takes
from gauntlet.evaluation.models import Evaluation, Job, JobKind
from gauntlet.evaluation.queue import lock_next
from gauntlet.evaluation.states import EvaluationState, JobState
from gauntlet.evaluation.transitions import database_now, move_evaluation, move_job
from gauntlet.one_by_one import one_by_one
from gauntlet.queues.models import QueueToken
from gauntlet.submissions.parking import note_fault
from gauntlet.submissions.services import count_as_failed_start, refund
from gauntlet_runtime.jobs import Failure, LeaseLost
from gauntlet_scoring.failures import FailureCode, Owner

log = structlog.get_logger(__name__)
_BACKOFF: Final = timedelta(seconds=2)
_GROWTH: Final = 4  # of the time for which a job is kept from the hosts that it failed on
GOING_ON: Final = (EvaluationState.QUEUED, EvaluationState.RUNNING, EvaluationState.SCORING)


@transaction.atomic
def claim_next(*, queues: Sequence[str], worker: str, queue_token: QueueToken | None = None) -> Job | None:
    """Lease the next job to a worker, or return None where there is none; see `gauntlet.evaluation.queue`.

    Locks the claims of all workers, then the job, then its evaluation. Emits job.leased, and with the first job
    evaluation.running, or evaluation.scoring where results were submitted.

    Args:
        queue_token: by which the worker of an own queue comes; nobody else gets jobs of queues that somebody owns
    """
    host, owned = host_of(worker), queue_token is not None
    with_spec = ("submission__phase", "submission__agent_bundle", "task__reference_data")  # its spec is built at once
    evaluations = Evaluation.objects.select_for_update(of=["self"]).select_related(*with_spec)
    while (pk := lock_next(queues=queues, host=host, owned=owned)) is not None:
        job = Job.objects.get(pk=pk)
        evaluation = evaluations.get(pk=job.evaluation_id)
        if evaluation.state in GOING_ON:
            _lease(job, evaluation, worker=worker, queue_token=queue_token)
            return job
        move_job(job, JobState.FAILED)  # it was cancelled, or failed, while this waited for it
    return None


def _lease(job: Job, evaluation: Evaluation, *, worker: str, queue_token: QueueToken | None) -> None:
    """Lease a locked job. Its times are the database's, and not read again here: nobody else claims until this ends."""
    job.attempt += 1
    job.token = uuid.uuid4()
    job.worker = worker
    job.queue_token = queue_token
    job.started_at = database_now()
    job.leased_until = database_now() + timedelta(seconds=settings.LEASE_SECONDS)
    move_job(job, JobState.LEASED)
    if evaluation.state == EvaluationState.QUEUED:
        begun = EvaluationState.SCORING if job.kind == JobKind.SCORE else EvaluationState.RUNNING
        move_evaluation(evaluation, begun)
    job.evaluation = evaluation


def renew(*, job: uuid.UUID, token: uuid.UUID) -> None:
    """Hold a job for another lease, counted from now on the database's clock.

    Raises:
        LeaseLost: the token is no longer the job's.
    """
    until = database_now() + timedelta(seconds=settings.LEASE_SECONDS)
    # No join: then the row's own conditions are looked at anew where this waits for whoever takes the job away.
    going_on = Evaluation.objects.filter(state__in=GOING_ON)
    held = Job.objects.filter(pk=job, token=token, state=JobState.LEASED, evaluation__in=going_on)
    if not held.update(leased_until=until):
        raise LeaseLost(f"job {job} is no longer ours")


def lease_of(job: Job) -> uuid.UUID:
    """The fence of a leased job."""
    if job.token is None:
        raise ValueError(f"job {job.pk} is not leased")
    return job.token


def lock_held(*, job: uuid.UUID, token: uuid.UUID) -> tuple[Job, Evaluation]:
    """Lock a job that is still held under this token, then its evaluation; inside a transaction.

    Raises:
        LeaseLost: the token is no longer the job's, or the evaluation has ended.
    """
    held = Job.objects.select_for_update().filter(pk=job, token=token, state=JobState.LEASED).first()
    if held is None:
        raise LeaseLost(f"job {job} is no longer ours")
    evaluation = Evaluation.objects.select_for_update().get(pk=held.evaluation_id)
    if evaluation.state not in GOING_ON:
        raise LeaseLost(f"evaluation {evaluation.pk} is {evaluation.state}")
    held.evaluation = evaluation
    return held, evaluation


@transaction.atomic
def give_back(*, job: uuid.UUID, token: uuid.UUID, failure: Failure) -> None:
    """Try a job again whose worker could not do it, while attempts last; else fail its evaluation and refund.

    Raises:
        LeaseLost: the token is no longer the job's.
    """
    held, evaluation = lock_held(job=job, token=token)
    if failure.code.owner is Owner.PLATFORM:
        _leave_to_others(held)
    retry_or_fail(held, evaluation, failure=failure)


def host_of(worker: str) -> str:
    """The host of a worker, by its name: "<host>:<process>"."""
    return worker.rpartition(":")[0] or worker


def _leave_to_others(job: Job) -> None:
    """Another host may well do what this one could not. Where there is none, this one may be well again later."""
    job.avoided = [*job.avoided, host_of(job.worker)]
    wait = timedelta(seconds=settings.RETRY_SECONDS) * _GROWTH ** (job.attempt - 1)
    job.avoided_until = database_now() + wait


@transaction.atomic
def hand_back(*, job: uuid.UUID, token: uuid.UUID) -> None:
    """Let another worker do a job at once whose own worker is to end; the attempt does not count.

    Emits job.lost and job.ready.

    Raises:
        LeaseLost: the token is no longer the job's.
    """
    held, _ = lock_held(job=job, token=token)
    _hand_on(held, reason="Its worker was to end and handed it back.")


def _hand_on(job: Job, *, reason: str) -> None:
    """Let another worker do a locked, leased job at once; the attempt does not count."""
    move_job(job, JobState.LOST, reason=reason)
    job.attempt -= 1
    job.available_at = database_now()
    move_job(job, JobState.READY)
    ring(job.queue)


def retry_or_fail(
    job: Job, evaluation: Evaluation, *, failure: Failure, wait: timedelta | None = None, survived: bool = False
) -> None:
    """A locked, leased job did not come to its end, and not by the participant's fault.

    Args:
        wait: before it is tried a second time, and longer before each further one; some seconds where None
        survived: see `fail_evaluation`
    """
    move_job(job, JobState.LOST, failure=failure)
    if job.attempt < job.max_attempts:
        job.failure_code = job.failure_message = ""
        pause = _BACKOFF * 2 ** (job.attempt - 1) if wait is None else wait * _GROWTH ** (job.attempt - 1)
        job.available_at = database_now() + pause
        move_job(job, JobState.READY)
        ring(job.queue)
        return
    move_job(job, JobState.FAILED, failure=failure)
    fail_evaluation(evaluation, failure=failure, survived=survived)


def fail_evaluation(evaluation: Evaluation, *, failure: Failure, survived: bool = False) -> None:
    """Fail a locked evaluation, drop its other jobs, and give the attempt back where it was not the participant's.

    Args:
        survived: the worker says so itself, such as of a language model that is away: nothing killed it
    """
    reason = f"evaluation {evaluation.pk}: {failure.code}"
    if failure.code is FailureCode.SCORING_ERROR and evaluation.task.takes == Takes.RESULTS:
        # A program that fails at somebody's results, or the results: nobody can tell, so it is free, but not for ever.
        count_as_failed_start(evaluation.submission, reason=reason)
    elif failure.code.owner is not Owner.PARTICIPANT:
        refund(evaluation.submission, fault_of=failure.code.owner, reason=reason)
    if not survived and _may_be_the_file(evaluation, failure) and (parked := note_fault(evaluation.submission)):
        failure = failure.model_copy(update={"message": f"{failure.message} {parked}"})
    move_evaluation(evaluation, EvaluationState.FAILED, failure=failure)
    drop_jobs_on_commit(evaluation)


def _may_be_the_file(evaluation: Evaluation, failure: Failure) -> bool:
    """Whether what was sent may be why the platform failed: it is not where a host lacks an image.

    Nor is what happened to an organizer's own worker: it must not keep a file out of other competitions.
    """
    if failure.code is not FailureCode.INFRASTRUCTURE:
        return False
    return not evaluation.jobs.filter(queue_token__isnull=False).exists()


def drop_jobs_on_commit(evaluation: Evaluation) -> None:
    """Fail what is left of an ended evaluation's jobs; their workers lose the lease and kill their sandboxes."""
    transaction.on_commit(lambda: _drop_jobs(evaluation.jobs.all()), robust=True)


def _drop_jobs(jobs: QuerySet[Job]) -> int:
    leftovers = jobs.filter(state__in=[JobState.READY, JobState.LEASED]).exclude(evaluation__state__in=GOING_ON)
    return one_by_one(leftovers.values_list("pk", flat=True), _drop)


@transaction.atomic
def _drop(pk: uuid.UUID) -> int:
    job = Job.objects.select_for_update().filter(pk=pk, state__in=[JobState.READY, JobState.LEASED]).first()
    if job is None:
        return 0
    move_job(job, JobState.FAILED)
    return 1


def sweep() -> int:
    """Find leases that ran out, whose worker died or was cut off, and jobs of ended evaluations; return how many.

    One transaction a job, so that one that cannot be moved keeps no other waiting.
    """
    return _drop_jobs(Job.objects.all()) + take_from_dead_workers()


def take_from_dead_workers() -> int:
    """Find leases that ran out, and those of tokens that were revoked; return how many.

    Workers do so whenever they claim: while all of them are busy the bell's sweep waits behind their work.
    """
    return one_by_one(_left_behind().values_list("pk", flat=True), _take_from_dead_worker)


def _left_behind() -> QuerySet[Job]:
    over = Q(leased_until__lt=database_now()) | Q(queue_token__revoked_at__isnull=False)
    return Job.objects.filter(over, state=JobState.LEASED)


@transaction.atomic
def _take_from_dead_worker(pk: uuid.UUID) -> int:
    held = _left_behind().select_related("queue_token").select_for_update(of=["self"], skip_locked=True)
    job = held.filter(pk=pk).first()
    if job is None:
        return 0
    log.warning("job.lost", job=str(job.pk), worker=job.worker, attempt=job.attempt)
    evaluation = Evaluation.objects.select_for_update().get(pk=job.evaluation_id)
    if evaluation.state not in GOING_ON:  # it ended a moment ago
        move_job(job, JobState.FAILED)
        return 1
    if job.queue_token is not None and job.queue_token.revoked_at is not None:
        _hand_on(job, reason="The token of its worker was revoked.")
        return 1
    sentence = f"The worker {job.worker} did not report for {settings.LEASE_SECONDS} s."
    retry_or_fail(job, evaluation, failure=Failure(code=FailureCode.INFRASTRUCTURE, message=sentence))
    return 1


def jobs_waiting(evaluation: Evaluation, kind: JobKind) -> bool:
    """Whether a job of this kind is still ready, leased or lost."""
    return evaluation.jobs.filter(kind=kind, state__in=[JobState.READY, JobState.LEASED, JobState.LOST]).exists()
