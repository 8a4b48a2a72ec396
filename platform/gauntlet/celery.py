"""The doorbell: Celery tells workers that there may be work. The database alone knows which."""

from __future__ import annotations

import os

import structlog
from celery import Celery
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gauntlet.settings")
# Celery would run Django's checks at each start, which load every route and all that the pages need: 25 MB in a worker
# and in the beat, which serve none. `manage.py migrate`, which comes before any start, has run them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

log = structlog.get_logger(__name__)
app = Celery("gauntlet")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.imports = ["gauntlet.upkeep", "gauntlet.evaluation.child"]  # only workers and the beat import them

WORK_TASK = "gauntlet.work"
SWEEP_TASK = "gauntlet.sweep"
TIDY_TASK = "gauntlet.tidy"
_TIDY_SECONDS = 3600.0

# A message carries no state and expires: rung twice or never, the outcome is the same, only sooner or later. Each queue
# has both: there may be no worker for another one.
app.conf.beat_schedule = {
    f"{name} {queue}": {
        "task": task,
        "schedule": settings.BELL_SECONDS,
        "options": {"expires": settings.BELL_SECONDS, "queue": queue},
    }
    for queue in settings.QUEUES
    for name, task in (("ring", WORK_TASK), ("sweep", SWEEP_TASK))
} | {
    "tidy": {
        "task": TIDY_TASK,
        "schedule": _TIDY_SECONDS,
        "options": {"expires": _TIDY_SECONDS, "queue": settings.QUEUES[0]},
    }
}


def ring(queue: str = "default") -> None:
    """Tell the workers of a queue, once the current transaction is committed, that there is work.

    A broker that cannot be reached is logged and otherwise ignored: the beat rings anyway.
    """
    transaction.on_commit(lambda: _send(queue), robust=True)


def _send(queue: str) -> None:
    try:
        app.send_task(WORK_TASK, queue=queue, expires=settings.BELL_SECONDS, retry=False)
    except OperationalError as error:
        log.warning("doorbell.unreachable", queue=queue, error=str(error))
