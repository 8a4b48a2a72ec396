"""A worker's main process: it starts the processes that do the jobs, starts one that died again, and ends them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from gauntlet_runtime import stopping
from gauntlet_runtime.tethered import end_with_parent

END_SECONDS: Final = 30.0  # for which a process that has handed its job back may take to clean up
SETTLED_SECONDS: Final = 60.0  # a process that lived for so long did not die of its start
FIRST_PAUSE: Final = 1.0  # before one that died is started again, doubled each time up to the longest
LONGEST_PAUSE: Final = 60.0
_LOOK_SECONDS: Final = 0.1

_log = structlog.get_logger(__name__)


@dataclass
class _Place:
    """One of the processes, and those that come after it."""

    pid: int = 0  # 0: none runs
    started: float = 0.0
    start_at: float = 0.0
    pause: float = FIRST_PAUSE
    over: bool = False


class Processes:
    """So many processes of the same job.

    Args:
        serve: what each does; its exit status
        final: the exit statuses after which no process is started again, and all are ended
        stop_seconds: how long a process may take to end in good order
    """

    def __init__(self, serve: Callable[[], int], *, count: int, final: frozenset[int], stop_seconds: float) -> None:
        self._serve = serve
        self._final = final
        self._stop_seconds = stop_seconds
        self._places = [_Place() for _ in range(count)]
        self._status = 0

    def run(self) -> int:
        """Until a signal, or until each is done: 0, or the final status of the first that had one."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.ask_to_stop())
        while not all(place.over for place in self._places):
            for place in self._places:
                self._look_after(place)
            time.sleep(_LOOK_SECONDS)
        return self._status

    def _look_after(self, place: _Place) -> None:
        asked = stopping.asked_at()
        if place.pid:
            ended, status = os.waitpid(place.pid, os.WNOHANG)
            if ended:
                place.pid = 0
                self._ended(place, os.waitstatus_to_exitcode(status))
            elif asked is not None and time.monotonic() > asked + self._stop_seconds + END_SECONDS:
                os.kill(place.pid, signal.SIGKILL)
        elif asked is not None:
            place.over = True
        elif not place.over and time.monotonic() >= place.start_at:
            place.pid, place.started = self._fork(), time.monotonic()

    def _ended(self, place: _Place, status: int) -> None:
        if status == 0:
            place.over = True
        elif status in self._final:
            place.over = True
            self._status = self._status or status
            stopping.ask_to_stop()
        elif stopping.asked_at() is None:
            if time.monotonic() - place.started > SETTLED_SECONDS:
                place.pause = FIRST_PAUSE
            _log.error("process_died", status=status, another_in=place.pause)
            place.start_at = time.monotonic() + place.pause
            place.pause = min(2 * place.pause, LONGEST_PAUSE)

    def _fork(self) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            # In a session of its own, a terminal's Ctrl-C reaches the main process alone, which tells this one. Whoever
            # asks all processes to end at once does not end this one in the middle either. Not ignored: programs that
            # are started from here would ignore them too.
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: None)
            end_with_parent(signal.SIGKILL, parent=parent)
            status = self._serve()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
