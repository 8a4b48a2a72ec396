"""What the main processes of workers and of the beat do beside their tasks.

Every worker and every beat looks all the time after an embedded PostgreSQL or Valkey that died. They are the platform's
long-lived processes and nobody's request waits on the look; the web server meets the services again as soon as one of
them has. Where the environment names both services there is nothing to keep.

A worker that is told to end tells its children, which do the jobs.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import structlog
from celery.signals import beat_init, worker_ready, worker_shutting_down
from django.conf import settings

from gauntlet import stopping

_LOOK_SECONDS: Final = 1.0

log = structlog.get_logger(__name__)


@worker_ready.connect
@beat_init.connect
def keep_services(**_: Any) -> None:
    """Look after the embedded services from a thread of this process, until it ends."""
    if settings.SERVICES_EMBEDDED:
        threading.Thread(target=_keep, name="services", daemon=True).start()


def _keep() -> None:
    from gauntlet_runtime import services

    while True:
        time.sleep(_LOOK_SECONDS)
        try:
            if services.keep_alive(settings.VAR):
                log.warning("services.replaced")
        except Exception:
            # Whatever it was (a full disk, say), the next look may find it gone; this process goes on.
            log.exception("services.not_replaced")


@worker_shutting_down.connect
def ask_children_to_stop(**_: Any) -> None:
    """SIGTERM has come. Without this the main process would wait until a child has emptied the whole queue."""
    stopping.ask_to_stop()
