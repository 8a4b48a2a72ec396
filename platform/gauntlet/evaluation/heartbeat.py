"""A thread of each worker process: tells the database that it lives, and removes what dead ones left on this host.

A thread, since the process itself may be busy with one job for an hour, and an idle one is rung by nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from gauntlet.evaluation import work
from gauntlet.evaluation.models import WorkerState
from gauntlet.evaluation.workers import report_worker

log = structlog.get_logger(__name__)

REAP_SECONDS: Final = 60.0


class Heartbeat:
    """The heartbeat of this process, from `start` on."""

    def __init__(self, queues: Sequence[str], *, seconds: float | None = None, reap_seconds: float = REAP_SECONDS):
        self._queues = list(queues)
        self._seconds = settings.BELL_SECONDS if seconds is None else seconds
        self._reap_seconds = reap_seconds
        self._reaped_at = time.monotonic()  # a worker reaps when it is made
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> Heartbeat:
        """Begin."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Say that this worker has ended, and nothing more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while True:
                self._safely(self._beat)
                if self._over.wait(self._seconds):
                    break
                if time.monotonic() - self._reaped_at >= self._reap_seconds:
                    self._reaped_at = time.monotonic()
                    self._safely(work.reap)
            self._safely(self._last_beat)
        finally:
            connection.close()

    def _beat(self) -> None:
        state, reason = work.state()
        close_old_connections()
        report_worker(name=work.worker_name(), queues=self._queues, state=state, reason=reason)

    def _last_beat(self) -> None:
        close_old_connections()
        report_worker(name=work.worker_name(), queues=self._queues, state=WorkerState.STOPPED)

    @staticmethod
    def _safely(step: Callable[[], object]) -> None:
        """Whatever is wrong now (the database restarts, the engine is away) may be over at the next beat."""
        try:
            step()
        except Exception as error:  # noqa: BLE001
            log.warning("heartbeat.failed", step=getattr(step, "__name__", ""), error=type(error).__name__)
