"""What a worker's child, the process that does the jobs, does from its start to its end beside them."""

from __future__ import annotations

import os
import signal
from typing import Any

from celery import current_app
from celery.signals import worker_process_init, worker_process_shutdown

from gauntlet.evaluation import work
from gauntlet.evaluation.heartbeat import Heartbeat
from gauntlet_runtime.tethered import end_with_parent


@worker_process_init.connect
def begin(**_: Any) -> None:
    """Have a heartbeat, and end with the main process however that ends.

    A child that outlived it would go on unseen, and take jobs that nobody rings for.
    """
    end_with_parent(signal.SIGKILL, parent=os.getppid())
    heartbeat = Heartbeat(sorted(current_app.amqp.queues.consume_from)).start()
    worker_process_shutdown.connect(lambda **_: end(heartbeat), weak=False)


def end(heartbeat: Heartbeat) -> None:
    """Leave no folder and no gateway behind, and say that this child has ended."""
    work.close()
    heartbeat.stop()
