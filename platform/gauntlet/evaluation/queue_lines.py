"""An own queue as its owner sees it: who serves it, what waits in it, and which phases use it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from gauntlet.competitions.models import Phase
from gauntlet.evaluation.claims import GOING_ON
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.states import JobState
from gauntlet.evaluation.workers import WorkerLine, taking_workers, worker_lines
from gauntlet.queues.models import Queue


@dataclass(frozen=True, kw_only=True)
class QueueLine:
    """One queue among others."""

    queue: Queue
    workers: int  # that take its jobs now
    waiting: int  # jobs
    in_work: int
    phases: int

    @property
    def unserved(self) -> bool:
        """Whether something waits that nobody takes."""
        return bool(self.waiting) and not self.workers


@dataclass(frozen=True, kw_only=True)
class QueueDetail:
    """One queue on its own."""

    line: QueueLine
    workers: Sequence[WorkerLine]  # heard of within a day, also those that take no job
    phases: Sequence[Phase]  # with their competitions


def queue_lines(queues: Collection[Queue]) -> list[QueueLine]:
    """Each of these queues; three queries however many there are."""
    names = [queue.name for queue in queues]
    jobs = Job.objects.filter(queue__in=names, evaluation__state__in=GOING_ON).values_list("queue").order_by()
    counted = jobs.annotate(
        waiting=Count("pk", filter=Q(state=JobState.READY)), in_work=Count("pk", filter=Q(state=JobState.LEASED))
    )
    counts = {name: (waiting, in_work) for name, waiting, in_work in counted}
    phases = dict(Phase.objects.filter(queue__in=names).order_by().values_list("queue").annotate(n=Count("pk")))
    serving = taking_workers(names)
    return [
        QueueLine(
            queue=queue,
            workers=serving[queue.name],
            waiting=counts.get(queue.name, (0, 0))[0],
            in_work=counts.get(queue.name, (0, 0))[1],
            phases=phases.get(queue.name, 0),
        )
        for queue in queues
    ]


def queue_detail(queue: Queue) -> QueueDetail:
    """A queue with its workers and the phases that use it; five queries."""
    return QueueDetail(
        line=queue_lines([queue])[0],
        workers=[
            one for one in worker_lines() if one.worker.queue_token and one.worker.queue_token.queue_id == queue.pk
        ],
        phases=list(phases_of(queue)),
    )


def phase_words(phase: Phase) -> str:
    """A phase for the owner of the queue that it uses, who need not know of others' drafts."""
    competition = phase.competition
    if not competition.published:
        return f"“{phase.name}” of a draft of {competition.organizer.username}"
    return f"“{phase.name}” of “{competition.title}”"


def phases_of(queue: Queue) -> QuerySet[Phase]:
    """The phases that use a queue, with their competitions and organizers."""
    found = Phase.objects.filter(queue=queue.name).select_related("competition__organizer")
    return found.order_by("competition__title", "index")
