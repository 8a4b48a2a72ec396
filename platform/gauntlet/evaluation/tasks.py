"""What the doorbell starts. Thin: a message says only that there may be work."""

from __future__ import annotations

from celery import current_app, shared_task

from gauntlet.doorbell import SWEEP_TASK, TIDY_TASK, WORK_TASK
from gauntlet.evaluation import claims
from gauntlet.evaluation.remote_records import forget_records
from gauntlet.evaluation.work import work_until_empty
from gauntlet.evaluation.workers import forget_workers
from gauntlet.one_by_one import every
from gauntlet.storage.sweeping import sweep_artifacts
from gauntlet.storage.temporary import sweep_temporary_files
from gauntlet.submissions.checks import reclaim_stuck_checks
from gauntlet.submissions.resumable import sweep_uploads


@shared_task(name=WORK_TASK)
def work() -> None:
    """Check submissions and run jobs of the queues that this worker listens to, until none is left."""
    work_until_empty(tuple(sorted(current_app.amqp.queues.consume_from)))


@shared_task(name=SWEEP_TASK)
def sweep() -> None:
    """Find what nobody works on any more, and work.

    A broker hands messages to idle processes in turn: where one of two takes no jobs, it would else hear each ring of
    the beat, and the other each of these.
    """
    every(claims.sweep, reclaim_stuck_checks, sweep_uploads, forget_workers)
    work()


@shared_task(name=TIDY_TASK)
def tidy() -> None:
    """Remove stored and temporary files that nothing uses."""
    every(forget_records, sweep_artifacts, sweep_temporary_files)
