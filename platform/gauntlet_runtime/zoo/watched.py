"""A sandbox backend that remembers what it started, and looks for what was left of it before it lets go."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from gauntlet_runtime.sandbox.interface import (
    Collected,
    Enforcement,
    Run,
    Sandbox,
    SandboxError,
    SandboxSpec,
    Verdict,
)

_PATIENCE = 60.0  # for what was killed to be gone


class WatchedRun(Run):
    """A run whose end is looked at: which verdict, and which processes of its uid were still there."""

    def __init__(self, inner: Run, label: str) -> None:
        self._inner = inner
        self.label = label
        self.verdict: Verdict | None = None
        self.gone: SandboxError | None = None
        self.collections: list[Collected] = []
        self.left: list[int] = []  # processes on the host that lived on after the end
        self._closed = False
        self._looked = False
        self.stdin = inner.stdin
        self.stdout = inner.stdout

    def listen(self, port: int) -> socket.socket:
        return self._inner.listen(port)

    def start(self) -> None:
        self._inner.start()

    def wait(self, timeout: float | None = None) -> Verdict | None:
        try:
            verdict = self._inner.wait(timeout)
        except SandboxError as error:
            self.gone = error
            raise
        if verdict is not None:
            self._look(verdict)
        return verdict

    def _look(self, verdict: Verdict) -> None:
        """Once: the uid is ours alone until the run is closed, so whatever has it is the program's."""
        if not self._looked:
            self._looked = True
            self.verdict = verdict
            self.left = processes_of(self._inner.uid)

    def kill(self) -> None:
        self._inner.kill()

    def log_tail(self, stream: str, size: int = 65536) -> bytes:
        return self._inner.log_tail(stream, size)

    def collect(self, target: str, into: Path) -> Collected:
        collected = self._inner.collect(target, into)
        self.collections.append(collected)
        return collected

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._inner.kill()
        with contextlib.suppress(SandboxError):
            self.wait(_PATIENCE)
        self._inner.close()

    @property
    def uid(self) -> int:
        return self._inner.uid

    @property
    def host_pid(self) -> int | None:
        return self._inner.host_pid


class WatchedSandbox(Sandbox):
    """The backend of an installation, watched for the length of one program."""

    def __init__(self, inner: Sandbox) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self.name = inner.name
        self.runs: list[WatchedRun] = []

    def check(self) -> None:
        self._inner.check()

    def enforcement(self) -> Mapping[str, Enforcement]:
        return self._inner.enforcement()

    def image_digest(self, image: str) -> str:
        return self._inner.image_digest(image)

    def prepare(self, spec: SandboxSpec) -> Run:
        run = WatchedRun(self._inner.prepare(spec), spec.label)
        with self._lock:
            self.runs.append(run)
        return run

    def reap(self, is_alive: Callable[[str], bool]) -> list[str]:
        return self._inner.reap(is_alive)


def processes_of(uid: int) -> list[int]:
    """Ids of this host's processes that have the uid; none is counted where the sandboxes have the worker's own."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            words = next(line for line in status.read_text().splitlines() if line.startswith("Uid:")).split()
            if str(uid) in words[1:]:
                found.append(int(status.parent.name))
    return found
