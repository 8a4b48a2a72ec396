"""What needs to know both an own queue and what uses it: which queue a phase uses, and the end of a queue.

Locks are taken in one order: the queue, the phase, its jobs.
"""

from __future__ import annotations

from typing import Final

from django.db import transaction

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.celery import ring
from gauntlet.competitions.access import must_organize
from gauntlet.competitions.models import Phase
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.evaluation.queue_lines import phase_words, phases_of
from gauntlet.evaluation.states import JOB, EvaluationState, JobState
from gauntlet.queues.access import is_owner
from gauntlet.queues.errors import NotQueueOwner, QueueInUse, QueueNotUsable
from gauntlet.queues.models import Queue
from gauntlet.queues.services import hold_own_queue, hold_usable_queue

#: The platform's queue that every installation has.
PLATFORM: Final = "default"
_NAMED: Final = 5  # phases that a refusal lists


@transaction.atomic
def change_phase_queue(phase: Phase, *, queue: str, actor: User) -> int:
    """Let what is submitted to a phase wait in another queue; return how many jobs moved along.

    Those of evaluations that have not begun do. One that has begun ends where it began: its record says whose workers
    made it. Locks the queue, the phase, and what moves. Emits ``phase.queue_changed``.

    Raises:
        NotOrganizer
        QueueNotUsable: the queue is neither the platform's, nor the actor's, nor shared with the actor.
    """
    must_organize(actor, phase.competition)
    hold_usable_queue(queue, user=actor)
    return _move(phase, queue, actor=actor)


@transaction.atomic
def send_phase_back(phase: Phase, *, queue: Queue, actor: User) -> int:
    """Let a phase use the owner's queue no longer, whoever organizes it: it waits for the platform's workers then.

    Returns and locks as `change_phase_queue`. Emits ``phase.queue_changed``.

    Raises:
        NotQueueOwner
        QueueNotUsable: the phase does not use this queue.
    """
    if not is_owner(actor, queue):
        raise NotQueueOwner(f"Only {queue.owner.username}, who owns this queue, may do this.")
    return _move(phase, PLATFORM, actor=actor, only_from=queue.name)


def _move(phase: Phase, queue: str, *, actor: User, only_from: str = "") -> int:
    held = Phase.objects.select_for_update(of=["self"], no_key=True).get(pk=phase.pk)
    before = held.queue
    if only_from and before != only_from:
        raise QueueNotUsable(f"The phase {held.name} does not use the queue '{only_from}' any more.")
    if before == queue:
        return 0
    held.queue = phase.queue = queue
    held.save(update_fields=["queue"])
    # No join: then a job's own state is looked at anew where this waits for a worker that claims it.
    not_begun = Evaluation.objects.filter(submission__phase=held, state=EvaluationState.QUEUED)
    moved = Job.objects.filter(state=JobState.READY, evaluation__in=not_begun).update(queue=queue)
    record_event(held, "phase.queue_changed", actor=actor, data={"before": before, "after": queue, "jobs": moved})
    ring(queue)
    return moved


@transaction.atomic
def delete_queue(queue: Queue, *, actor: User) -> None:
    """End a queue with its tokens. Locks it. Emits ``queue.deleted``.

    Raises:
        QueueNotFound, NotQueueOwner
        QueueInUse: phases name it, or jobs wait or are in work in it.
    """
    held = hold_own_queue(queue, actor=actor, to_delete=True)
    if phases := list(phases_of(held)[: _NAMED + 1]):
        listed = ", ".join(phase_words(one) for one in phases[:_NAMED])
        more = " and others" if len(phases) > _NAMED else ""
        raise QueueInUse(f"Phases use this queue: {listed}{more}. Give them another one first.")
    if left := Job.objects.filter(queue=held.name).exclude(state__in=JOB.final()).count():
        raise QueueInUse(
            f"{left} job{'' if left == 1 else 's'} of evaluations that began here still wait or are in work. Let them "
            "end, or cancel their submissions."
        )
    record_event(held, "queue.deleted", actor=actor, data={"name": held.name})
    held.delete()
