"""A worker process of the platform tells the database that it lives."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.db import close_old_connections, connection

from gauntlet.evaluation import work
from gauntlet.evaluation.models import WorkerState
from gauntlet.evaluation.workers import report_worker
from gauntlet_runtime import heartbeat


class Heartbeat(heartbeat.Heartbeat):
    """The heartbeat of this process, from `start` on."""

    def __init__(
        self, queues: Sequence[str], *, seconds: float | None = None, reap_seconds: float = heartbeat.REAP_SECONDS
    ) -> None:
        super().__init__(seconds=settings.BELL_SECONDS if seconds is None else seconds, reap_seconds=reap_seconds)
        self._queues = list(queues)

    def beat(self) -> None:
        """Say what this process does now."""
        state, reason = work.state()
        close_old_connections()
        report_worker(name=work.worker_name(), queues=self._queues, state=state, reason=reason)

    def last_beat(self) -> None:
        """Say that it has ended."""
        close_old_connections()
        report_worker(name=work.worker_name(), queues=self._queues, state=WorkerState.STOPPED)

    def reap(self) -> None:
        """Remove what dead workers left on this host."""
        work.reap()

    def let_go(self) -> None:
        """Close this thread's connection."""
        connection.close()
