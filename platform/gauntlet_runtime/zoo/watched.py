"""A sandbox backend that remembers what it started, and looks for what was left of it before it lets go."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
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

_DEAD = ("Z", "X")  # a process that nobody has asked how it ended does nothing any more
_PATIENCE = 60.0  # for what was killed to be gone


class WatchedRun(Run):
    """A run whose end is looked at: which verdict, and which processes of its uid were still there."""

    def __init__(self, inner: Run, label: str) -> None:
        self._inner = inner
        self.label = label
        self._group = _group_of(inner.host_pid)
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
            self.left = processes_of(self._inner.uid, group=self._group)

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

    def submitted_image(self, archive: Path, *, digest: str) -> AbstractContextManager[str]:
        return self._inner.submitted_image(archive, digest=digest)

    def containers(self) -> list[str]:
        return self._inner.containers()

    def reap(self, is_alive: Callable[[str], bool]) -> list[str]:
        return self._inner.reap(is_alive)


def processes_of(uid: int, *, group: str) -> list[int]:
    """Ids of this host's processes that have the uid, are in the control group, and run.

    Another installation's sandboxes may have the same uid. None is counted where the uid is the worker's own.
    """
    if uid == os.geteuid():
        return []
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            status = dict(
                line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line
            )
            runs = status["State"][0] not in _DEAD
            if runs and str(uid) in status["Uid"].split() and _group_of(int(folder.name)) == group:
                found.append(int(folder.name))
    return found


def _group_of(pid: int | None) -> str:
    """The control groups of a process, as the host sees them."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii")
    return ""
