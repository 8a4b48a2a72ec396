"""A thread of each worker process: says that it lives, and removes what dead ones left on this host.

A thread, since the process itself may be busy with one job for an hour, and an idle one is asked by nobody.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Self

import structlog

_log = structlog.get_logger(__name__)

REAP_SECONDS: Final = 60.0


class Heartbeat(ABC):
    """The heartbeat of this process, from `start` on.

    Args:
        seconds: between two beats
        reap_seconds: between two looks for what dead workers left
    """

    def __init__(self, *, seconds: float, reap_seconds: float = REAP_SECONDS) -> None:
        self.seconds = seconds
        self._reap_seconds = reap_seconds
        self._reaped_at = time.monotonic()  # a worker reaps when it is made
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @abstractmethod
    def beat(self) -> None:
        """Say what this process does now."""

    @abstractmethod
    def last_beat(self) -> None:
        """Say that it has ended."""

    @abstractmethod
    def reap(self) -> None:
        """Remove what dead workers left on this host."""

    def let_go(self) -> None:  # noqa: B027 - not every heartbeat has something to let go of
        """The thread that calls this ends."""

    def start(self) -> Self:
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
                self._safely(self.beat)
                if self._over.wait(self.seconds):
                    break
                if time.monotonic() - self._reaped_at >= self._reap_seconds:
                    self._reaped_at = time.monotonic()
                    self._safely(self.reap)
            self._safely(self.last_beat)
        finally:
            self.let_go()

    @staticmethod
    def _safely(step: Callable[[], object]) -> None:
        """Whatever is wrong now (the database restarts, the engine is away) may be over at the next beat."""
        try:
            step()
        except Exception as error:  # noqa: BLE001
            _log.warning("heartbeat.failed", step=step.__name__, error=type(error).__name__)
