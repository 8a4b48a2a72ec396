"""What those who wait are told: their place in the queue, an estimate, and whether anybody serves it.

Places are in the very order of `gauntlet.evaluation.queue`, as if what is in work now went on: a participant's n-th
waiting job comes in the n-th turn after those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.db.models import QuerySet

from gauntlet.evaluation.models import Worker, WorkerState
from gauntlet.evaluation.queue import WAITING
from gauntlet.evaluation.workers import living_workers

_PLACES: Final = f"""
    WITH {WAITING.format(condition="")}, placed AS (
        SELECT evaluation_id, queue, row_number() OVER (
                   PARTITION BY queue
                   ORDER BY last_step DESC, jobs + turn, jobs DESC, at NULLS FIRST, head, participant_id) AS place
          FROM (SELECT waiting.*, jobs, at, row_number() OVER own AS turn, first_value(created_at) OVER own AS head
                  FROM waiting JOIN turns USING (participant_id)
                WINDOW own AS (PARTITION BY participant_id, last_step ORDER BY created_at, id)) numbered
    )
    SELECT evaluation_id, min(place) FROM placed GROUP BY evaluation_id
"""  # noqa: S608 - put together from the words of the two modules
_PACE: Final = """
    WITH recent AS (
        SELECT started_at, ended_at FROM evaluation_job
         WHERE queue = %(queue)s AND state = 'done' AND started_at IS NOT NULL ORDER BY ended_at DESC LIMIT 50
    )
    SELECT (SELECT extract(epoch FROM avg(ended_at - started_at)) FROM recent),
           (SELECT count(DISTINCT worker) FROM evaluation_job WHERE queue = %(queue)s AND state = 'leased')
"""


@dataclass(frozen=True)
class Pace:
    """How quickly a queue moves."""

    job_seconds: float  # mean of those that ended last
    busy_workers: int


def queue_positions() -> dict[str, int]:
    """The place of every evaluation with a ready job in its queue, by evaluation id; 1 is next."""
    with connection.cursor() as cursor:
        cursor.execute(_PLACES)
        return {str(evaluation): place for evaluation, place in cursor.fetchall()}


def pace_of(queue: str) -> Pace | None:
    """How quickly this queue moved of late; None without a history."""
    row = _row(_PACE, {"queue": queue})
    return None if row[0] is None else Pace(job_seconds=float(row[0]), busy_workers=row[1])


def estimate_seconds(position: int, *, queue: str) -> int | None:
    """How long a job at this place waits at the recent pace and number of workers; None without a history."""
    pace = pace_of(queue)
    if pace is None:
        return None
    workers = max(1, pace.busy_workers, _workers_of(queue).count())
    return round(pace.job_seconds * position / workers)


def is_served(queue: str) -> bool:
    """Whether some worker that takes jobs now listens to this queue."""
    return _workers_of(queue).exists()


def _workers_of(queue: str) -> QuerySet[Worker]:
    return living_workers().filter(queues__contains=[queue], state__in=[WorkerState.IDLE, WorkerState.BUSY])


def _row(statement: str, parameters: dict[str, Any]) -> Sequence[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row: Sequence[Any] = cursor.fetchone()
        return row
