"""What those who wait are told: their place in the queue, an estimate, and whether anybody serves it.

Places are in the very order of `gauntlet.evaluation.queue`, as if what is in work now went on: a participant's n-th
waiting job comes in the n-th turn after those. Nobody's place is found by putting all jobs in order: of each other
participant it is enough to know how many of their jobs come first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

from gauntlet.evaluation.models import WorkerState
from gauntlet.evaluation.queue import LAST_STEP, READY, TURNS
from gauntlet.evaluation.workers import living_workers

# The order: last_step DESC, jobs + turn, jobs DESC, at NULLS FIRST, head, participant_id; where turn is the number of a
# job among its participant's in this queue, head the time at which the first of these was made, and jobs and at are as
# in TURNS. So of another's n jobs, turns 1 to n, those come first whose turn is less than jobs + turn of this one minus
# the other's jobs; and the one whose turn is just that, where the rest of the order says so.
_PLACES: Final = f"""
    WITH theirs AS MATERIALIZED (
        SELECT job.queue, {LAST_STEP} AS last_step, job.participant_id, count(*) AS n, min(job.created_at) AS head
        {READY}
           AND job.queue = ANY(ARRAY(SELECT queue FROM evaluation_job WHERE evaluation_id = ANY(%(evaluations)s)))
         GROUP BY 1, 2, 3
    ), {TURNS.format(present="theirs")}, standing AS MATERIALIZED (
        SELECT theirs.*, jobs, coalesce(at, '-infinity') AS at FROM theirs JOIN turns USING (participant_id)
    ), numbered AS (
        SELECT job.evaluation_id, job.queue, job.participant_id, {LAST_STEP} AS last_step, row_number() OVER (
                   PARTITION BY job.queue, job.participant_id, {LAST_STEP} ORDER BY job.created_at, job.id) AS turn
        {READY}
           AND job.participant_id = ANY(
                   ARRAY(SELECT participant_id FROM evaluation_job WHERE evaluation_id = ANY(%(evaluations)s)))
    ), firsts AS (
        SELECT DISTINCT ON (evaluation_id) * FROM numbered
         WHERE evaluation_id = ANY(%(evaluations)s) ORDER BY evaluation_id, last_step DESC, turn
    )
    SELECT evaluation_id, 1 + (
           SELECT coalesce(sum(CASE
                  WHEN other.last_step > own.last_step THEN other.n
                  WHEN other.last_step = own.last_step THEN greatest(0, least(other.n,
                      own.jobs + turn - other.jobs - 1 + CASE
                      WHEN (-other.jobs, other.at, other.head, other.participant_id)
                         < (-own.jobs, own.at, own.head, own.participant_id) THEN 1 ELSE 0 END))
                  END), 0)::int
             FROM standing other WHERE other.queue = own.queue)
      FROM firsts JOIN standing own USING (queue, last_step, participant_id)
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

    job_seconds: float | None  # mean of those that ended last; None without a history
    busy_workers: int
    workers: int  # that take jobs of it now

    def estimate_seconds(self, place: int) -> int | None:
        """How long a job at this place waits at the recent pace and number of workers; None without a history."""
        if self.job_seconds is None:
            return None
        return round(self.job_seconds * place / max(1, self.busy_workers, self.workers))


@dataclass(frozen=True, kw_only=True)
class Wait:
    """What an evaluation that waits is told."""

    position: int  # 1 is next
    estimate_seconds: int | None
    served: bool  # whether some worker takes jobs of its queue


def waits_of(evaluations: Collection[UUID], *, queue: str) -> dict[UUID, Wait]:
    """What those of these evaluations are told that have a ready job; the same few queries however many wait.

    Args:
        queue: of their phase.
    """
    if not evaluations:
        return {}
    pace = pace_of(queue)
    return {
        evaluation: Wait(position=place, estimate_seconds=pace.estimate_seconds(place), served=pace.workers > 0)
        for evaluation, place in places_of(evaluations).items()
    }


def places_of(evaluations: Collection[UUID]) -> dict[UUID, int]:
    """The places in their queues of those of these evaluations that have a ready job; 1 is next."""
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, {"evaluations": list(evaluations)})
        return dict(cursor.fetchall())


def pace_of(queue: str) -> Pace:
    """How quickly this queue moved of late, and who serves it."""
    taking = living_workers().filter(queues__contains=[queue], state__in=[WorkerState.IDLE, WorkerState.BUSY])
    with connection.cursor() as cursor:
        cursor.execute(_PACE, {"queue": queue})
        seconds, busy = cursor.fetchone()
    job_seconds = None if seconds is None else float(seconds)
    return Pace(job_seconds=job_seconds, busy_workers=busy, workers=taking.count())
