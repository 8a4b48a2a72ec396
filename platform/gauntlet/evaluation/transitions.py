"""Every change of an evaluation's or a job's state goes through here: checked against the table, stored, logged."""

from __future__ import annotations

from django.db.models.functions import Now

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.evaluation.models import Evaluation, Job, JobKind
from gauntlet.evaluation.states import EVALUATION, JOB, EvaluationState, JobState
from gauntlet.metering.services import abandon, give_back_all
from gauntlet_runtime.jobs import Failure

_TIME_FIELD = {
    EvaluationState.RUNNING: "started_at",
    EvaluationState.SCORING: "scoring_at",
    EvaluationState.FINISHED: "ended_at",
    EvaluationState.FAILED: "ended_at",
    EvaluationState.CANCELLED: "ended_at",
}


def move_evaluation(
    evaluation: Evaluation,
    state: EvaluationState,
    *,
    actor: User | None = None,
    failure: Failure | None = None,
    reason: str = "",
) -> None:
    """Put a locked evaluation into another state and write the event.

    Raises:
        IllegalTransition: the table has no such transition.
    """
    before = evaluation.state
    EVALUATION.check(before, state)
    evaluation.state = state
    if field := _TIME_FIELD.get(state):
        setattr(evaluation, field, database_now())
    if failure:
        evaluation.failure_code, evaluation.failure_message = failure.code, failure.message
    evaluation.save()
    record_event(
        evaluation,
        f"evaluation.{state}",
        actor=actor,
        before=before,
        after=state,
        reason=reason or (f"{failure.code}: {failure.message}" if failure else ""),
    )


def move_job(job: Job, state: JobState, *, failure: Failure | None = None, reason: str = "") -> None:
    """Put a locked job into another state and write the event; a job that is not leased holds no token.

    Raises:
        IllegalTransition: the table has no such transition.
    """
    before = job.state
    JOB.check(before, state)
    job.state = state
    if state in (JobState.DONE, JobState.FAILED):
        job.ended_at = database_now()  # as it began: an estimate is made of the difference
    if state != JobState.LEASED:
        job.token = job.leased_until = None
    if before == JobState.LEASED:
        abandon(job.pk)
        if state == JobState.LOST and job.kind == JobKind.RUN:
            give_back_all(job.pk)  # of a judge's answers each is kept, and bought once
    if failure:
        job.failure_code, job.failure_message = failure.code, failure.message
    job.save()
    record_event(
        job,
        f"job.{state}",
        before=before,
        after=state,
        reason=failure.message if failure else reason,
        data={"evaluation": str(job.evaluation_id), "attempt": job.attempt, "worker": job.worker},
    )


def database_now() -> Now:
    """The database's clock. All leases and times of steps use it, because the clocks of hosts may differ."""
    return Now()
