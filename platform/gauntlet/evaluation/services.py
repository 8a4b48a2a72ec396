"""Use cases of evaluations: start, cancel, run again."""

from __future__ import annotations

import secrets
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Max

import gauntlet
from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.models import Takes, Task
from gauntlet.evaluation.claims import GOING_ON, drop_jobs_on_commit
from gauntlet.evaluation.collecting import create_episodes, create_first_job, create_score_job
from gauntlet.evaluation.models import Evaluation
from gauntlet.evaluation.states import EvaluationState
from gauntlet.evaluation.transitions import database_now, move_evaluation
from gauntlet.submissions.models import Submission
from gauntlet.submissions.services import cancel_unchecked

_CANCELLABLE: Final = (*GOING_ON, EvaluationState.WAITING)
_MOST_LISTINGS: Final = 10  # of a submission's evaluations: whoever goes on starting others is not raced for ever


@transaction.atomic(savepoint=False)
def start_evaluations(submission: Submission, *, actor: User | None = None) -> list[Evaluation]:
    """Queue a new evaluation of an accepted submission on every task of its phase.

    Emits evaluation.queued. Called in the transaction that accepts the submission, and again for a rerun.
    """
    return [_start(submission, task, actor=actor) for task in submission.phase.tasks.all()]


def start_again(evaluation: Evaluation, *, actor: User) -> Evaluation:
    """Queue another evaluation of the same submission on the same task, where its phase waits now.

    Emits evaluation.queued. Call it in the transaction that ends this one.
    """
    return _start(evaluation.submission, evaluation.task, actor=actor)


def _start(submission: Submission, task: Task, *, actor: User | None) -> Evaluation:
    last = submission.evaluations.filter(task=task).aggregate(n=Max("number"))["n"] or 0
    evaluation = Evaluation.objects.create(
        submission=submission,
        task=task,
        number=last + 1,
        seed=secrets.randbits(31),
        queued_at=database_now(),
        episodes_total=task.scenarios.count() * submission.phase.trials if task.takes == Takes.AGENTS else 0,
        record=_record(submission, task),
    )
    if task.takes == Takes.AGENTS:
        create_episodes(evaluation, trials=submission.phase.trials)
    record_event(
        evaluation,
        "evaluation.queued",
        actor=actor,
        after=EvaluationState.QUEUED,
        data={"submission": str(submission.pk)},
    )
    if task.takes == Takes.AGENTS:
        create_first_job(evaluation)
    else:
        create_score_job(evaluation)
    return evaluation


def _record(submission: Submission, task: Task) -> dict[str, object]:
    """What is known before anything runs of what will have made the result."""
    return {
        "platform": gauntlet.__version__,
        "agent": submission.agent_bundle_id,
        "packages": submission.packages_id,
        "environment": task.environment_id,
        "input_data": task.input_data_id,
        "reference_data": task.reference_data_id,
        "limits": task.limits,
        "trials": submission.phase.trials,
    }


@transaction.atomic
def cancel_evaluation(evaluation: UUID, *, actor: User) -> bool:
    """Cancel an evaluation in whatever state it is; return whether there was something to cancel.

    Locks the evaluation. Its jobs are dropped on commit: their workers lose the lease and kill their sandboxes.
    Emits evaluation.cancelled.
    """
    locked = Evaluation.objects.select_for_update().filter(pk=evaluation, state__in=_CANCELLABLE).first()
    if locked is None:
        return False
    move_evaluation(locked, EvaluationState.CANCELLED, actor=actor)
    drop_jobs_on_commit(locked)
    return True


def cancel_submission(submission: Submission, *, actor: User) -> int:
    """Cancel a submission in whatever state it is; return how much of it there was to cancel.

    That is the submission itself while it is not accepted, and later its evaluations that have not ended. They are
    listed again until there is none: one that had ended by the time it was to be cancelled may have been started anew.
    """
    if cancel_unchecked(submission, actor=actor):
        return 1
    cancelled = 0
    for _ in range(_MOST_LISTINGS):
        going_on = list(submission.evaluations.filter(state__in=_CANCELLABLE).values_list("pk", flat=True))
        if not going_on:
            break
        cancelled += sum(cancel_evaluation(pk, actor=actor) for pk in going_on)
    return cancelled
