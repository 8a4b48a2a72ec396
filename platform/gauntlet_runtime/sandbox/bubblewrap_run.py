"""One program under bubblewrap."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.interface import Cause, SandboxError, SandboxGone, SandboxSpec, Verdict
from gauntlet_runtime.sandbox.launch import Held, Plan, discard, launch
from gauntlet_runtime.sandbox.processes import resident_bytes
from gauntlet_runtime.sandbox.supervision import CHUNK, GRACE_SECONDS, Setting, SupervisedRun
from gauntlet_runtime.sandbox.verdicts import SIGNAL_BASE

_RESIDENT_PERIOD = 0.05  # seconds between two looks at the memory, where no control group keeps the limit


class BubblewrapRun(SupervisedRun):
    """See :class:`SupervisedRun`."""

    def __init__(self, spec: SandboxSpec, setting: Setting, plan: Plan) -> None:
        self._plan = plan
        self._held: Held | None = None
        self._resident_peak = 0  # of what was seen, where nobody counts
        super().__init__(spec, setting)

    @property
    def host_pid(self) -> int | None:
        if self._anchor is None or self._ended.is_set():
            return None
        init = self._anchor.init
        try:
            children = Path(f"/proc/{init}/task/{init}/children").read_text(encoding="ascii").split()
        except OSError:
            return None
        return int(children[0]) if children else init

    def close(self) -> None:
        super().close()
        if self._held is not None:
            self._held.close_gate()

    def _launch(self) -> Anchor:
        self._held = launch(self._plan, self._setting, stdin=self._spec.stdin if self._captured else None)
        if not self._captured:
            self.stdin = cast(BinaryIO, self._held.process.stdin)
            self.stdout = cast(BinaryIO, self._held.process.stdout)
        return self._held.anchor

    def _let_go(self) -> None:
        if self._held is None:
            raise SandboxError("the run was not prepared")
        self._held.open_gate()

    def _clear_away(self) -> None:
        if self._held is None:
            return
        process = self._held.process
        if not self._captured:
            process.stdin = process.stdout = None  # the caller's pipes stay the caller's
        discard(process)
        self._held.anchor.wait(GRACE_SECONDS)

    def _watch(self, anchor: Anchor) -> Verdict:
        if self._held is None:
            raise SandboxError("the run was not prepared")
        process = self._held.process
        streams = {"stderr": process.stderr, "stdout": process.stdout if self._captured else None}
        monitor = os.pidfd_open(process.pid)
        with selectors.DefaultSelector() as selector:
            try:
                selector.register(monitor, selectors.EVENT_READ)
                selector.register(self._wake_read, selectors.EVENT_READ)
                for name, stream in streams.items():
                    if stream is not None:
                        os.set_blocking(stream.fileno(), False)
                        selector.register(stream.fileno(), selectors.EVENT_READ, name)
                while process.poll() is None:
                    for key, _ in selector.select(self._pause()):
                        self._serve(selector, key)
                    self._keep_limits(anchor)
                ended = time.monotonic()
                # Whoever still had a pipe open is gone with the namespace.
                anchor.wait(GRACE_SECONDS)
                self._drain(selector)
            finally:
                os.close(monitor)
        return self._judge(anchor, status=process.wait(), ended=ended)

    def _pause(self) -> float | None:
        left = self._seconds_left()
        if self._plan.resident_limit is None or left is None:
            return left
        return min(left, _RESIDENT_PERIOD)

    def _serve(self, selector: selectors.DefaultSelector, key: selectors.SelectorKey) -> None:
        if key.data is not None:
            self._read(selector, key)
        elif key.fd == self._wake_read:
            self._swallow_wake()

    def _read(self, selector: selectors.DefaultSelector, key: selectors.SelectorKey) -> None:
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(key.fd, CHUNK)
            if chunk:
                self._log(key.data, chunk)
            if not chunk or self._cause is Cause.OUTPUT_LIMIT:
                selector.unregister(key.fd)

    def _drain(self, selector: selectors.DefaultSelector) -> None:
        """Read what is left in the pipes; all writers are dead."""
        while ready := [key for key, _ in selector.select(0) if key.data is not None]:
            for key in ready:
                self._read(selector, key)

    def _keep_limits(self, anchor: Anchor) -> None:
        self._keep_time()
        limit = self._plan.resident_limit
        if limit is None or self._started is None:
            return
        self._resident_peak = max(self._resident_peak, resident_bytes(anchor.init))
        if self._resident_peak > limit:
            self._end(Cause.MEMORY_LIMIT)

    def _judge(self, anchor: Anchor, *, status: int, ended: float) -> Verdict:
        if self._cause is Cause.EXITED and (status < 0 or self._started is None):
            # bubblewrap on the host is never ended by a signal because of what the program does.
            raise SandboxGone(f"bubblewrap disappeared (status {status})")
        code = status if status >= 0 else SIGNAL_BASE - status
        counters = self._plan.counters()
        if counters.memory_peak is None and self._resident_peak:
            counters = replace(counters, memory_peak=self._resident_peak)
        return self._conclude(anchor, status=code, counters=counters, ended=ended)
