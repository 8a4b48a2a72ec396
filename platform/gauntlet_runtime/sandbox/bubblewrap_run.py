"""One program under bubblewrap: waiting, limits of time and output, verdict."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import socket
import threading
import time
from pathlib import Path
from typing import BinaryIO, cast

from gauntlet_runtime.sandbox.capture import CappedLog, tail
from gauntlet_runtime.sandbox.interface import (
    Cause,
    Collected,
    Run,
    SandboxError,
    SandboxGone,
    SandboxSpec,
    Stdio,
    Verdict,
)
from gauntlet_runtime.sandbox.launch import Held, Plan, discard, launch
from gauntlet_runtime.sandbox.namespaces import listen_in
from gauntlet_runtime.sandbox.outputs import collect_tree
from gauntlet_runtime.sandbox.processes import resident_bytes
from gauntlet_runtime.sandbox.verdicts import SIGNAL_BASE, cause_of, exit_and_signal, is_full

_CHUNK = 1 << 16
_GRACE_SECONDS = 10.0  # for what was killed to be gone
_RESIDENT_PERIOD = 0.05  # seconds between two looks at the memory, where no control group keeps the limit


class BubblewrapRun(Run):
    """See :class:`Run`.

    A thread of its own starts bubblewrap and stays until it has ended: `--die-with-parent` follows the thread that
    started it, so a sandbox that a thread of a pool started would die with that thread. The same thread keeps the
    limits on time and output, whether or not anybody waits.
    """

    def __init__(self, spec: SandboxSpec, plan: Plan) -> None:
        self.stdin = None
        self.stdout = None
        self._spec = spec
        self._plan = plan
        self._captured = spec.stdio is Stdio.CAPTURED
        self._logs: dict[str, CappedLog] = {}
        self._held: Held | None = None
        self._verdict: Verdict | None = None
        self._error: SandboxError | None = None
        self._cause = Cause.EXITED
        self._cause_lock = threading.Lock()
        self._started: float | None = None
        self._closed = False
        self._prepared = threading.Event()
        self._ended = threading.Event()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._thread = threading.Thread(target=self._supervise, name=f"sandbox-{spec.label}", daemon=True)
        self._thread.start()
        self._prepared.wait()
        if self._error is not None:
            self.close()
            raise self._error

    # --- the caller's side -------------------------------------------------------------------------------------------

    @property
    def uid(self) -> int:
        return self._plan.uid

    @property
    def host_pid(self) -> int | None:
        if self._held is None or self._ended.is_set():
            return None
        init = self._held.init
        try:
            children = Path(f"/proc/{init}/task/{init}/children").read_text(encoding="ascii").split()
        except OSError:
            return None
        return int(children[0]) if children else init

    def listen(self, port: int) -> socket.socket:
        if self._started is not None or self._held is None:
            raise SandboxError("the door is opened before the program starts")
        return listen_in(self._held.init, port)

    def start(self) -> None:
        if self._started is not None or self._held is None or self._closed:
            raise SandboxError("a run is started once")
        self._started = time.monotonic()
        os.write(self._wake_write, b"x")  # the supervisor works out anew how long it may sleep
        self._held.open_gate()

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
        return tail(self._plan.folder / stream, size)

    def collect(self, target: str, into: Path) -> Collected:
        if not self._ended.is_set():
            raise SandboxError("outputs are collected after the end")
        size = next((one.size for one in self._plan.mounts if one.size and str(one.target) == target), None)
        if size is None or self._held is None or target not in self._held.folders:
            raise SandboxError(f"there is no writable folder at {target}")
        folder = self._held.folders[target]
        return collect_tree(folder, into, max_bytes=size, max_files=self._spec.limits.output_files)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.kill()
        self._thread.join()
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._held is not None:
            self._held.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
        self._plan.release()

    # --- the supervisor's side ---------------------------------------------------------------------------------------

    def _supervise(self) -> None:
        try:
            self._held = self._launch()
            self._prepared.set()
            self._verdict = self._watch(self._held)
        except SandboxError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  whatever goes wrong here is the sandbox's fault, and must be heard
            self._error = SandboxError(f"the sandbox failed: {type(error).__name__}: {error}")
            self._error.__cause__ = error
        finally:
            if self._held is not None:
                self._clear_away(self._held)
            for log in self._logs.values():
                log.close()
            self._ended.set()
            self._prepared.set()

    def _launch(self) -> Held:
        for name in ("stdout", "stderr") if self._captured else ("stderr",):
            self._logs[name] = CappedLog(self._plan.folder / name, self._spec.limits.log)
        held = launch(self._plan, stdin=self._spec.stdin if self._captured else None)
        if not self._captured:
            self.stdin = cast(BinaryIO, held.process.stdin)
            self.stdout = cast(BinaryIO, held.process.stdout)
        return held

    def _clear_away(self, held: Held) -> None:
        """Nothing of the sandbox runs after this. The caller's pipes stay the caller's."""
        if not self._captured:
            held.process.stdin = held.process.stdout = None
        discard(held.process)
        select.select([held.init_handle], [], [], _GRACE_SECONDS)

    def _end(self, cause: Cause) -> None:
        with self._cause_lock:
            if self._held is None or self._ended.is_set():
                return
            if self._cause is Cause.EXITED:
                self._cause = cause
        with contextlib.suppress(ProcessLookupError):
            # The whole process namespace goes with its first process.
            signal.pidfd_send_signal(self._held.init_handle, signal.SIGKILL)

    def _watch(self, held: Held) -> Verdict:
        with selectors.DefaultSelector() as selector:
            monitor = os.pidfd_open(held.process.pid)
            try:
                selector.register(monitor, selectors.EVENT_READ)
                selector.register(self._wake_read, selectors.EVENT_READ)
                self._register_streams(selector, held)
                while held.process.poll() is None:
                    events = selector.select(self._pause())
                    for key, _ in events:
                        self._serve(selector, key)
                    self._keep_limits(held)
                ended = time.monotonic()
            finally:
                os.close(monitor)
            # Whatever a child still had open is closed by now: the namespace is gone, or going.
            select.select([held.init_handle], [], [], _GRACE_SECONDS)
            self._drain(selector, held)
        return self._conclude(held, ended)

    def _register_streams(self, selector: selectors.DefaultSelector, held: Held) -> None:
        streams = {"stderr": held.process.stderr, "stdout": held.process.stdout if self._captured else None}
        for name, stream in streams.items():
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream.fileno(), selectors.EVENT_READ, name)

    def _pause(self) -> float | None:
        """How long to sleep at most (seconds)."""
        if self._started is None:
            return None
        left = max(0.0, self._started + self._spec.limits.seconds - time.monotonic())
        if self._cause is not Cause.EXITED:
            left = _GRACE_SECONDS
        return min(left, _RESIDENT_PERIOD) if self._plan.resident_limit is not None else left

    def _serve(self, selector: selectors.DefaultSelector, key: selectors.SelectorKey) -> None:
        if key.data is not None:
            self._read(selector, key)
        elif key.fd == self._wake_read:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, _CHUNK)

    def _read(self, selector: selectors.DefaultSelector, key: selectors.SelectorKey) -> None:
        try:
            chunk = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            selector.unregister(key.fd)
        elif not self._logs[key.data].write(chunk):
            selector.unregister(key.fd)
            self._end(Cause.OUTPUT_LIMIT)

    def _drain(self, selector: selectors.DefaultSelector, held: Held) -> None:
        """What is left in the pipes; all writers are dead."""
        while any(key.data is not None for key in selector.get_map().values()):
            events = [key for key, _ in selector.select(0) if key.data is not None]
            if not events:
                return
            for key in events:
                self._read(selector, key)

    def _keep_limits(self, held: Held) -> None:
        if self._started is None or self._cause is not Cause.EXITED:
            return
        if time.monotonic() - self._started >= self._spec.limits.seconds:
            self._end(Cause.TIME_LIMIT)
        elif self._plan.resident_limit is not None and resident_bytes(held.init) > self._plan.resident_limit:
            self._end(Cause.MEMORY_LIMIT)

    def _conclude(self, held: Held, ended: float) -> Verdict:
        status = held.process.wait()
        if self._cause is Cause.EXITED and (status < 0 or self._started is None):
            # bubblewrap on the host never ends by a signal because of what the program does.
            raise SandboxGone(f"bubblewrap disappeared (status {status})")
        counters = self._plan.counters()
        exit_code, number = exit_and_signal(status if status >= 0 else SIGNAL_BASE - status)
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
            disk_full=any(is_full(folder) for folder in held.folders.values()),
        )
