"""What those who wait are told: their place in the queue, an estimate, and whether anybody serves it.

Places are in the very order of `gauntlet.evaluation.queue`, as if what is in work now went on: a participant's n-th
waiting job comes in the n-th turn after those. Nobody's place is found by putting all jobs in order: of each other
participant it is enough to know how many of their jobs come first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

from gauntlet.evaluation.queue import LAST_STEP, READY, TURNS
from gauntlet.evaluation.workers import queues_served

# The order: last_step DESC, jobs + turn, jobs DESC, at NULLS FIRST, head, participant_id; where turn is the number of a
# job among its participant's in this queue, head the time at which the first of these was made, and jobs and at are as
# in TURNS. So of another's n jobs, turns 1 to n, those come first whose turn is less than jobs + turn of this one minus
# the other's jobs; and the one whose turn is just that, where the rest of the order says so. Queues that are taken
# together are as one.
_QUEUE: Final = "CASE WHEN job.queue = ANY(%(together)s::text[]) THEN '' ELSE job.queue END"
_PLACES: Final = f"""
    WITH theirs AS MATERIALIZED (
        SELECT {_QUEUE} AS queue, {LAST_STEP} AS last_step, job.participant_id, count(*) AS n,
               min(job.created_at) AS head
        {READY}
           AND job.queue = ANY(%(together)s::text[] || ARRAY(
                   SELECT queue::text FROM evaluation_job WHERE evaluation_id = ANY(%(evaluations)s)))
         GROUP BY 1, 2, 3
    ), {TURNS.format(present="theirs")}, standing AS MATERIALIZED (
        SELECT theirs.*, jobs, coalesce(at, '-infinity') AS at FROM theirs JOIN turns USING (participant_id)
    ), numbered AS (
        SELECT job.evaluation_id, {_QUEUE} AS queue, job.participant_id, {LAST_STEP} AS last_step, row_number() OVER (
                   PARTITION BY {_QUEUE}, job.participant_id, {LAST_STEP} ORDER BY job.created_at, job.id) AS turn
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
# How long a place takes: a job, and the part of a scoring that follows from it without a turn of its own, since several
# runs may share one. And of each worker that is at a job, for how long.
_PACE: Final = """
    WITH recent AS (
        SELECT extract(epoch FROM job.ended_at - job.started_at)::float AS seconds,
               job.kind = 'score' AND evaluation.episodes_total > 0 AS follows
          FROM unnest(%(queues)s::text[]) AS one (queue)
         CROSS JOIN LATERAL (
               SELECT * FROM evaluation_job
                WHERE queue = one.queue AND state = 'done' AND started_at IS NOT NULL
                ORDER BY ended_at DESC LIMIT 50) job
          JOIN evaluation_evaluation evaluation ON evaluation.id = job.evaluation_id
         ORDER BY job.ended_at DESC LIMIT 50
    ), working AS (
        SELECT extract(epoch FROM max(statement_timestamp() - started_at))::float AS seconds
          FROM evaluation_job WHERE queue = ANY(%(queues)s) AND state = 'leased' GROUP BY worker
    )
    SELECT (SELECT CASE WHEN count(*) > 0 THEN
                   coalesce(avg(seconds) FILTER (WHERE NOT follows), 0)
                   + coalesce(avg(seconds) FILTER (WHERE follows), 0)
                   * least(1, count(*) FILTER (WHERE follows) / greatest(1, count(*) FILTER (WHERE NOT follows))::float)
                   END FROM recent),
           ARRAY(SELECT seconds FROM working)
"""
_SHORTEST: Final = 0.001  # seconds


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How quickly queues move that the same workers serve."""

    job_seconds: float | None  # that a place took of late; None without a history
    in_work: Sequence[float]  # of each worker that is at a job, for how many seconds it has been
    workers: int  # that take jobs now

    def estimate_seconds(self, place: int) -> int | None:
        """How long a job at this place waits at the recent pace and number of workers; None without a history.

        Whoever has been at a job for longer than one usually takes is expected to need as long again.
        """
        if self.job_seconds is None:
            return None
        usual = max(self.job_seconds, _SHORTEST)
        idle = max(0 if self.in_work else 1, self.workers - len(self.in_work))
        one_is_free = 1 / (idle / usual + sum(1 / max(usual, seconds) for seconds in self.in_work))
        return round(one_is_free + (place - 1) * usual / max(1, self.workers, len(self.in_work)))


@dataclass(frozen=True, kw_only=True)
class Wait:
    """What an evaluation that waits is told."""

    position: int  # 1 is next
    estimate_seconds: int | None
    served: bool  # whether some worker takes jobs of its queue


def waits_of(evaluations: Collection[UUID], *, queue: str) -> dict[UUID, Wait]:
    """What those of these evaluations are told that have a ready job; the same few queries however many wait.

    One that is claimed between two of the queries waits no more, and is told nothing.

    Args:
        queue: of their phase.
    """
    if not evaluations:
        return {}
    everybody = queues_served()
    places = places_of(evaluations)
    estimates = _estimates(places, queue=queue, everybody=everybody)
    served = any(queue in one for one in everybody)
    return {
        evaluation: Wait(position=places[evaluation], estimate_seconds=seconds, served=served)
        for evaluation, seconds in estimates.items()
    }


def _estimates(places: Mapping[UUID, int], *, queue: str, everybody: Sequence[Set[str]]) -> dict[UUID, int | None]:
    """How long those at these places of a queue wait, of those that still do.

    Where its workers serve further queues, what waits in those takes turns with it. Those that serve it alone may come
    to it first: then the shorter wait counts.
    """
    workers = [served for served in everybody if queue in served]
    alone = sum(served == {queue} for served in workers)
    told: list[dict[UUID, int | None]] = []
    if alone or not workers:
        told.append(_at_pace(pace_of([queue], workers=alone), places))
    if alone < len(workers):
        together = sorted(set().union(*workers))
        helping = sum(not served.isdisjoint(together) for served in everybody)
        told.append(_at_pace(pace_of(together, workers=helping), places_of(places, together=together)))
    still = set(places).intersection(*told)
    known = {evaluation: [wait for one in told if (wait := one[evaluation]) is not None] for evaluation in still}
    return {evaluation: min(waits, default=None) for evaluation, waits in known.items()}


def _at_pace(pace: Pace, places: Mapping[UUID, int]) -> dict[UUID, int | None]:
    return {evaluation: pace.estimate_seconds(place) for evaluation, place in places.items()}


def places_of(evaluations: Collection[UUID], *, together: Sequence[str] = ()) -> dict[UUID, int]:
    """The places in their queues of those of these evaluations that have a ready job; 1 is next.

    Args:
        together: queues whose jobs have one order
    """
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, {"evaluations": list(evaluations), "together": list(together)})
        return dict(cursor.fetchall())


def pace_of(queues: Sequence[str], *, workers: int) -> Pace:
    """How quickly these queues moved of late, with so many workers now."""
    with connection.cursor() as cursor:
        cursor.execute(_PACE, {"queues": list(queues)})
        seconds, in_work = cursor.fetchone()
    return Pace(job_seconds=seconds, in_work=in_work, workers=workers)
