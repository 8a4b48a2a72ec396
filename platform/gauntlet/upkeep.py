"""What the workers' and the beat's processes do beside their tasks.

Every worker and every beat looks all the time after an embedded PostgreSQL or Valkey that died. They are the platform's
long-lived processes and nobody's request waits on the look; the web server meets the services again as soon as one of
them has. Where the environment names both services there is nothing to keep.

A worker's children, which do the jobs, have a heartbeat, and end with the main process however that ends.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any, Final

import structlog
from celery import current_app
from celery.signals import (
    beat_init,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutting_down,
)
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


@worker_process_init.connect
def begin_child(**_: Any) -> None:
    """A child that outlived its main process would go on unseen, and take jobs from a queue that nobody rings."""
    from gauntlet.evaluation.heartbeat import Heartbeat
    from gauntlet_runtime.tethered import end_with_parent

    end_with_parent(signal.SIGKILL, parent=os.getppid())
    heartbeat = Heartbeat(sorted(current_app.amqp.queues.consume_from)).start()
    worker_process_shutdown.connect(lambda **_: end_child(heartbeat), weak=False)


def end_child(heartbeat: Any) -> None:
    """Say that this child ends, and leave no folder and no gateway behind."""
    from gauntlet.evaluation import work

    work.close()
    heartbeat.stop()
