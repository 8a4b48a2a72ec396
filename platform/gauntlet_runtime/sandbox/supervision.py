"""What running a program has in common under both backends: its thread, limits of time and output, outputs, end."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet_runtime.sandbox.capture import CappedLog, tail
from gauntlet_runtime.sandbox.cgroups import Counters
from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.interface import (
    Cause,
    Collected,
    Run,
    SandboxError,
    SandboxSpec,
    Stdio,
    Verdict,
)
from gauntlet_runtime.sandbox.layout import Placed
from gauntlet_runtime.sandbox.namespaces import listen_in
from gauntlet_runtime.sandbox.outputs import collect_tree
from gauntlet_runtime.sandbox.verdicts import cause_of, exit_and_signal, is_full

CHUNK = 1 << 16
GRACE_SECONDS = 10.0  # for what was killed to be gone
LONGEST_SLEEP = 24 * 3600.0  # epoll takes no more than 2**31 milliseconds, and a job of many episodes may last longer


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the backend worked out for a run on the host's side."""

    uid: int
    owner: int | None  # uid that writable folders are given to; None: they are ours
    folder: Path  # the run's own, on the host
    mounts: Sequence[Placed]
    release: Callable[[], None]  # removes what the backend made for the run


class SupervisedRun(Run):
    """See :class:`Run`.

    A thread of its own prepares the sandbox and stays until it has ended. It keeps the limits on time and output,
    whether or not anybody waits; and bubblewrap dies with the thread that started it, so none of a pool's will do.
    """

    def __init__(self, spec: SandboxSpec, setting: Setting) -> None:
        self.stdin = None
        self.stdout = None
        self._spec = spec
        self._setting = setting
        self._captured = spec.stdio is Stdio.CAPTURED
        self._logs: dict[str, CappedLog] = {}
        self._anchor: Anchor | None = None
        self._verdict: Verdict | None = None
        self._error: SandboxError | None = None
        self._cause = Cause.EXITED
        self._lock = threading.Lock()
        self._started: float | None = None
        self._closed = False
        self._prepared = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name=f"sandbox-{spec.label}", daemon=True)
        try:
            self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            self._begin()
        except (OSError, RuntimeError) as error:  # this process has no descriptor, or no thread, left
            self._give_up()
            raise _failed(error) from error
        self._prepared.wait()
        if self._error is not None:
            self.close()
            raise self._error

    # --- what a backend adds; run by the supervising thread, except _let_go -----------------------------------------

    @abstractmethod
    def _launch(self) -> Anchor:
        """Set everything up; the program must not run yet."""

    @abstractmethod
    def _let_go(self) -> None:
        """Let the program run."""

    @abstractmethod
    def _watch(self, anchor: Anchor) -> Verdict:
        """Stay until the program ended, and say how.

        Raises:
            SandboxGone
        """

    def _note_counters(self) -> None:
        """Called right before everything is killed, by whatever thread: afterwards some may not be there any more."""

    @abstractmethod
    def _clear_away(self) -> None:
        """Let nothing of the sandbox run on."""

    # --- the caller's side -------------------------------------------------------------------------------------------

    @property
    def uid(self) -> int:
        return self._setting.uid

    def listen(self, port: int) -> socket.socket:
        if self._started is not None or self._anchor is None or self._closed:
            raise SandboxError("the door is opened before the program starts")
        return listen_in(self._anchor.init, port)

    def start(self) -> None:
        with self._lock:
            if self._started is not None or self._closed:
                raise SandboxError("a run is started once")
            self._started = time.monotonic()
        os.write(self._wake_write, b"x")  # the supervisor works out anew how long it may sleep
        self._let_go()

    def wait(self, timeout: float | None = None) -> Verdict | None:
        if not self._ended.wait(timeout):
            return None
        if self._error is not None:
            raise self._error
        return self._verdict

    def kill(self) -> None:
        self._end(Cause.CANCELLED)

    def log_tail(self, stream: str, size: int = 65536) -> bytes:
        if stream not in ("stdout", "stderr"):
            raise ValueError(f"there is no stream {stream!r}")
        return tail(self._setting.folder / stream, size)

    def collect(self, target: str, into: Path) -> Collected:
        if not self._ended.is_set():
            raise SandboxError("outputs are collected after the end")
        size = next((one.size for one in self._setting.mounts if one.size and str(one.target) == target), None)
        if size is None or self._anchor is None or target not in self._anchor.folders:
            raise SandboxError(f"there is no writable folder at {target}")
        folder = self._anchor.folders[target]
        return collect_tree(folder, into, max_bytes=size, max_files=self._spec.limits.output_files)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.kill()
        self._thread.join()
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._anchor is not None:
            self._anchor.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
        self._setting.release()

    def _begin(self) -> None:
        try:
            self._thread.start()
        except RuntimeError:
            os.close(self._wake_read)
            os.close(self._wake_write)
            raise

    def _give_up(self) -> None:
        """Nobody supervises it: remove what the backend made before."""
        self._closed = True
        try:
            self._clear_away()
        finally:
            if self._anchor is not None:
                self._anchor.close()
            self._setting.release()

    # --- the supervisor's side ---------------------------------------------------------------------------------------

    def _supervise(self) -> None:
        try:
            for name in ("stdout", "stderr") if self._captured else ("stderr",):
                self._logs[name] = CappedLog(self._setting.folder / name, self._spec.limits.log)
            self._anchor = self._launch()
            self._prepared.set()
            self._verdict = self._watch(self._anchor)
        except SandboxError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  whatever goes wrong here is the sandbox's fault, and must be heard
            self._error = _failed(error)
        finally:
            try:
                self._clear_away()
            except Exception as error:  # noqa: BLE001  who waits for the end must hear of it all the same
                self._error = self._error or _failed(error)
            finally:
                for log in self._logs.values():
                    log.close()
                self._ended.set()
                self._prepared.set()

    def _end(self, cause: Cause) -> None:
        """Kill everything, if it is not over; the first cause stands."""
        with self._lock:
            if self._anchor is None or self._ended.is_set():
                return
            if self._cause is Cause.EXITED:
                self._cause = cause
        self._note_counters()
        self._anchor.kill()

    def _seconds_left(self) -> float | None:
        """How long the supervisor may sleep; None: until something happens."""
        if self._started is None:
            return None
        if self._cause is not Cause.EXITED:
            return GRACE_SECONDS
        return min(LONGEST_SLEEP, max(0.0, self._started + self._spec.limits.seconds - time.monotonic()))

    def _keep_time(self) -> None:
        if self._seconds_left() == 0.0:
            self._end(Cause.TIME_LIMIT)

    def _log(self, stream: str, chunk: bytes) -> None:
        """Keep what the program said; past the limit it is ended."""
        if not self._logs[stream].write(chunk):
            self._end(Cause.OUTPUT_LIMIT)

    def _swallow_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, CHUNK)

    def _conclude(self, anchor: Anchor, *, status: int, counters: Counters, ended: float) -> Verdict:
        exit_code, number = exit_and_signal(status)
        return Verdict(
            cause=cause_of(self._cause, counters.oom_kills),
            exit_code=exit_code,
            signal=number,
            seconds=ended - (self._started or ended),
            cpu_seconds=counters.cpu_seconds,
            memory_peak=counters.memory_peak,
            memory_limit=self._spec.limits.memory,
            oom_kills=counters.oom_kills,
            process_limit_hits=counters.process_limit_hits,
            disk_full=any(is_full(folder) for folder in anchor.folders.values()),
        )


def _failed(error: Exception) -> SandboxError:
    failure = SandboxError(f"the sandbox failed: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
