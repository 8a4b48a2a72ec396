"""The doorbell: Celery tells workers that there may be work. The database alone knows which."""

from __future__ import annotations

import os
import time

import structlog
from celery import Celery
from celery.schedules import crontab
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

from gauntlet import doorbell
from gauntlet.doorbell import SWEEP_TASK, TIDY_TASK, WORK_TASK

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gauntlet.settings")
# Celery would run Django's checks at each start, which load every route and all that the pages need: 25 MB in a worker
# and in the beat, which serve none. `manage.py migrate`, which comes before any start, has run them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

log = structlog.get_logger(__name__)
doorbell.use()
app = Celery("gauntlet")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# Only workers and the beat import them.
app.conf.imports = ["gauntlet.upkeep", "gauntlet.evaluation.child", "gauntlet.evaluation.listening"]

_TIDY_SECONDS = 3600  # after which there is another
# After this the beat has rung again. Not less than a minute, by which the clocks of hosts may differ: to a worker whose
# clock is ahead by more every ring would be old.
_RING_SECONDS = max(60, settings.BELL_SECONDS)
_HANGS_SECONDS = 1.0  # after which a broker that has not answered hangs

_quiet_until = 0.0  # on the monotonic clock

# A message carries no state and expires: rung twice or never, the outcome is the same, only sooner or later. Each queue
# has both: there may be no worker for another one.
app.conf.beat_schedule = {
    f"{name} {queue}": {
        "task": task,
        "schedule": settings.BELL_SECONDS,
        "options": {"expires": _RING_SECONDS, "queue": queue},
    }
    for queue in settings.QUEUES
    for name, task in (("ring", WORK_TASK), ("sweep", SWEEP_TASK))
} | {
    "tidy": {
        "task": TIDY_TASK,
        "schedule": crontab(minute="17"),  # by the clock, so that a beat that is often started anew comes to it too
        "options": {"expires": _TIDY_SECONDS, "queue": settings.QUEUES[0]},
    }
}


def ring(queue: str = "default") -> None:
    """Tell the workers of a queue, once the current transaction is committed, that there is work.

    The workers of a queue that somebody owns hear no bell: they ask by themselves. A broker that cannot be reached is
    logged and otherwise ignored: the beat rings anyway. One that hangs is left alone until then, so that not everybody
    who rings waits for it.
    """
    if queue in settings.QUEUES:
        transaction.on_commit(lambda: _send(queue), robust=True)


def _send(queue: str) -> None:
    global _quiet_until
    begun = time.monotonic()
    if begun < _quiet_until:
        return
    try:
        app.send_task(WORK_TASK, queue=queue, expires=_RING_SECONDS, retry=False)
    except OperationalError as error:
        log.warning("doorbell.unreachable", queue=queue, error=str(error))
        if time.monotonic() - begun > _HANGS_SECONDS:
            _quiet_until = time.monotonic() + settings.BELL_SECONDS
