"""What began in a queue that nobody serves any more: it ends where it began, so it waits until somebody decides.

The workers may be away for a while, so nothing is ended by itself: those who wait are told, and the organizer may run
it again where the phase waits now, or end it and give the attempts back (decision 0036).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.access import must_organize
from gauntlet.competitions.models import Competition, Phase
from gauntlet.evaluation.claims import drop_jobs_on_commit, fail_evaluation
from gauntlet.evaluation.errors import QueueIsServed, RunsNowhereElse
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.evaluation.services import start_again
from gauntlet.evaluation.states import EvaluationState, JobState
from gauntlet.evaluation.transitions import move_evaluation
from gauntlet.evaluation.workers import taking_workers
from gauntlet.queues.selectors import own_queue, queue_owners
from gauntlet_runtime.jobs import Failure
from gauntlet_scoring.failures import FailureCode

_BEGUN: Final = (EvaluationState.RUNNING, EvaluationState.SCORING)


@dataclass(frozen=True, kw_only=True)
class Stranded:
    """Evaluations of a phase that began in an organizer's queue which no worker serves now."""

    phase: Phase
    queue: str
    owner: str
    evaluations: int

    @property
    def may_run_again(self) -> bool:
        """Whether the phase has another queue by now, in which it would not wait for the same workers."""
        return self.phase.queue != self.queue


def unserved_queues(evaluations: Collection[UUID]) -> dict[UUID, str]:
    """The queues of those of these evaluations that have begun and wait for a worker where none takes jobs.

    Nothing of them is in work. Two queries, one of them alone where nothing waits, and none where none has begun.
    """
    if not evaluations:
        return {}
    waiting = dict(_waiting().filter(evaluation__in=evaluations).values_list("evaluation", "queue"))
    if not waiting:
        return {}
    serving = taking_workers(set(waiting.values()))
    return {evaluation: queue for evaluation, queue in waiting.items() if not serving[queue]}


def _waiting() -> QuerySet[Job]:
    """Jobs that are ready, of evaluations that have begun and of which no job is in work."""
    in_work = Job.objects.filter(evaluation=OuterRef("evaluation"), state=JobState.LEASED)
    return Job.objects.filter(~Exists(in_work), state=JobState.READY, evaluation__state__in=_BEGUN).order_by()


def stranded_of(competition: Competition) -> list[Stranded]:
    """What waits so, phase by phase; the same three queries at most however much it is."""
    phases = {phase.pk: phase for phase in competition.phases.all()}
    waiting = _waiting().filter(evaluation__submission__phase__in=phases)
    counted = waiting.values_list("evaluation__submission__phase", "queue").annotate(
        n=Count("evaluation", distinct=True)
    )
    found = list(counted.order_by("evaluation__submission__phase__index", "queue"))
    if not found:
        return []
    queues = {queue for _, queue, _ in found}
    owners, serving = queue_owners(queues), taking_workers(queues)
    return [
        Stranded(phase=phases[phase], queue=queue, owner=owners[queue], evaluations=n)
        for phase, queue, n in found
        if queue in owners and not serving[queue]
    ]


def end_stranded(phase: Phase, *, queue: str, again: bool, actor: User) -> int:
    """End what of a phase began in somebody's own queue that nobody serves; return how many evaluations it was.

    Args:
        again: start each anew in the queue that the phase has now; else they fail by the organizer's fault, and the
            attempts are given back

    One transaction each, which locks the evaluation. Emits evaluation.cancelled and evaluation.queued, or
    evaluation.failed, and one phase.stranded_ended.

    Raises:
        NotOrganizer
        QueueIsServed: somebody takes its jobs again, or the queue is nobody's own.
        RunsNowhereElse: the phase still uses this queue.
    """
    must_organize(actor, phase.competition)
    own = own_queue(queue)
    if own is None or taking_workers([queue])[queue]:
        raise QueueIsServed("Its workers take jobs again, or it is no organizer's own queue. Nothing was ended.")
    if again and phase.queue == queue:
        raise RunsNowhereElse(f"The phase {phase.name} still uses the queue {queue}. Give it another one first.")
    waiting = _waiting().filter(queue=queue, evaluation__submission__phase=phase).values_list("evaluation", flat=True)
    ended = [pk for pk in list(waiting.distinct()) if _end(pk, owner=own.owner, again=again, actor=actor)]
    if ended:
        data = {"queue": queue, "again": again, "evaluations": len(ended)}
        record_event(phase, "phase.stranded_ended", actor=actor, data=data)
    return len(ended)


@transaction.atomic
def _end(pk: UUID, *, owner: User, again: bool, actor: User) -> bool:
    evaluation = Evaluation.objects.select_for_update().get(pk=pk)
    if not _waiting().filter(evaluation=evaluation).exists():  # a worker came back, or somebody else ended it
        return False
    if again:
        move_evaluation(evaluation, EvaluationState.CANCELLED, actor=actor, reason="Its workers do not come back.")
        drop_jobs_on_commit(evaluation)
        start_again(evaluation, actor=actor)
        return True
    sentence = (
        f"This began on the workers of {owner.username}, which did not come back, so its organizer ended it. The "
        "attempt is given back: submit it again."
    )
    fail_evaluation(evaluation, failure=Failure(code=FailureCode.ENVIRONMENT_ERROR, message=sentence))
    return True
