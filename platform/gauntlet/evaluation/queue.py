"""The order of the queue: which job a worker takes next.

First what has only its scoring left, since that ends an evaluation that had its turn. Then the participants take
turns: those with the fewest jobs in work, of these the one whose last job was begun the longest ago, of equals the
oldest job. So another's single submission is begun before the next of somebody's fifty, also by a single worker, and
whoever waits has a turn once each other participant had one.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Final

import structlog
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

log = structlog.get_logger(__name__)

# Claims are made one after the other: two at once would not see each other's, and both take the same participant's.
_LOCK: Final = "SELECT pg_try_advisory_xact_lock(7041776001)"
_LOCK_SECONDS: Final = 1.0  # a claim takes some milliseconds: who holds the lock for longer was cut off in the middle
_PAUSE: Final = 0.004
LAST_STEP: Final = "job.kind = 'score' AND evaluation.state = 'scoring'"
#: Jobs that wait; more conditions may follow.
READY: Final = """
          FROM evaluation_job job
          JOIN evaluation_evaluation evaluation ON evaluation.id = job.evaluation_id
         WHERE job.state = 'ready' AND evaluation.state IN ('queued', 'running', 'scoring')
"""
#: Where the participants stand of whom some part of a WITH has jobs: how many are in work, and when the last was begun.
TURNS: Final = """
    busy AS (
        SELECT participant_id, count(*) AS jobs FROM evaluation_job WHERE state = 'leased' GROUP BY participant_id
    ), turns AS (
        SELECT present.participant_id, coalesce(busy.jobs, 0) AS jobs, served.at
          FROM (SELECT DISTINCT participant_id FROM {present}) present
          LEFT JOIN busy USING (participant_id)
          LEFT JOIN LATERAL (
                SELECT max(job.started_at) AS at FROM evaluation_job job
                 WHERE job.participant_id = present.participant_id AND job.started_at IS NOT NULL
               ) served ON true
    )
"""
# On a host that lost a job by its own fault the job is tried later than on others. Whatever a worker asks for, queues
# that somebody owns are for the owner's workers, and for those alone.
_AVAILABLE: Final = """
           AND job.queue = ANY(%(queues)s) AND job.available_at <= statement_timestamp()
           AND (NOT job.avoided ? %(host)s OR coalesce(job.avoided_until <= statement_timestamp(), true))
           AND (job.queue IN (SELECT name FROM queues_queue WHERE name <> ALL(%(platforms)s))) = %(owned)s
"""
# The first few, in case somebody else holds the first: who ends an evaluation, or takes a job from a dead worker.
_NEXT: Final = f"""
    WITH waiting AS MATERIALIZED (
        SELECT job.id, job.participant_id, job.created_at, {LAST_STEP} AS last_step {READY} {_AVAILABLE}
    ), {TURNS.format(present="waiting")}, candidates AS (
        SELECT waiting.id,
               row_number() OVER (ORDER BY last_step DESC, jobs, at NULLS FIRST, created_at, waiting.id) AS place
          FROM waiting JOIN turns USING (participant_id)
         ORDER BY place LIMIT 8
    )
    SELECT job.id
      FROM evaluation_job job JOIN candidates ON candidates.id = job.id
     WHERE job.state = 'ready'
     ORDER BY candidates.place LIMIT 1
       FOR UPDATE OF job SKIP LOCKED
"""  # noqa: S608 - put together from this module's own words


def lock_next(*, queues: Sequence[str], host: str, owned: bool = False) -> uuid.UUID | None:
    """Lock the job that is next in these queues for a host, for the rest of the transaction; None where none is ready.

    Until the transaction ends nobody else claims, so keep it short. A worker that never ends its own keeps nobody
    waiting: then claims go on out of turn, and still never two of one job.

    Args:
        owned: whether the queues are somebody's own, or else the platform's
    """
    with connection.cursor() as cursor:
        _wait_for_turn(cursor)
        cursor.execute(_NEXT, {"queues": list(queues), "host": host, "owned": owned, "platforms": settings.QUEUES})
        row = cursor.fetchone()
    return row[0] if row else None


def _wait_for_turn(cursor: CursorWrapper) -> None:
    give_up = time.monotonic() + _LOCK_SECONDS
    while True:
        cursor.execute(_LOCK)
        if cursor.fetchone()[0]:
            return
        if time.monotonic() > give_up:
            log.warning("claim.out_of_turn", waited=_LOCK_SECONDS)
            return
        time.sleep(_PAUSE)
