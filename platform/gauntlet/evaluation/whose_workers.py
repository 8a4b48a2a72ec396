"""Whose workers run what was submitted: the platform's, or those of somebody who owns the queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from gauntlet.competitions.models import Phase
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.queues.selectors import queue_owners


@dataclass(frozen=True, kw_only=True)
class WhoseWorkers:
    """Those that serve a queue."""

    queue: str
    owner: str  # user name; empty: they are the platform's


def whose_workers(phase: Phase, evaluations: Collection[Evaluation]) -> tuple[WhoseWorkers, dict[UUID, WhoseWorkers]]:
    """Whose run what is submitted to a phase now, and whose run each of these evaluations of it.

    An evaluation ends in the queue where it began, also if its phase has another one since. Two queries at most.
    """
    jobs = Job.objects.filter(evaluation__in=[one.pk for one in evaluations]).order_by()
    queues = dict(jobs.values_list("evaluation_id", "queue"))
    owners = queue_owners({phase.queue, *queues.values()})

    def told(queue: str) -> WhoseWorkers:
        return WhoseWorkers(queue=queue, owner=owners.get(queue, ""))

    return told(phase.queue), {one.pk: told(queues.get(one.pk, phase.queue)) for one in evaluations}
