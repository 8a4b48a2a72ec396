"""What a sandbox promises, whichever backend keeps the promise.

The error contract: a program that fails gives a :class:`Verdict`; a sandbox that fails raises :class:`SandboxError`.
The two are never mistaken for each other. A verdict comes from the kernel's counters, read before the cgroup or the
container is removed, and never from the exit code alone.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO


class SandboxError(Exception):
    """The sandbox, not the program in it, failed: the platform's fault, to be retried."""


class SandboxUnavailable(SandboxError):
    """This host cannot offer the backend; the message says what to install or allow."""


class SandboxGone(SandboxError):
    """The sandbox disappeared under us (engine stopped, host out of memory, killed from outside)."""


class ImageUnavailable(SandboxError):
    """The image is not on this host; the message says how to make it."""


class Enforcement(StrEnum):
    """How well this host can enforce a limit."""

    ENFORCED = "enforced"
    BEST_EFFORT = "best effort"


class Cause(StrEnum):
    """Why a program ended."""

    EXITED = "exited"  # by itself, whatever its exit code, or by a signal that was not ours
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"  # the kernel killed a process of it, also where its parent lived on
    OUTPUT_LIMIT = "output_limit"  # more on stdout and stderr than `Limits.log`
    CANCELLED = "cancelled"  # `Run.kill` was called


class Stdio(StrEnum):
    """What the program's standard streams are connected to."""

    CAPTURED = "captured"  # stdin from `SandboxSpec.stdin`; stdout and stderr into two files, cut at `Limits.log`
    PIPES = "pipes"  # `Run.stdin` and `Run.stdout` are pipes of the caller; stderr into a file, cut at `Limits.log`


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one sandbox may use. Bytes, seconds, counts."""

    seconds: float = 600.0
    memory: int = 1 << 30
    cpus: float = 1.0
    processes: int = 128
    scratch: int = 256 << 20  # /tmp
    output: int = 64 << 20  # size of each writable mount, on top of what was copied into it
    output_files: int = 10_000
    log: int = 1 << 20  # stdout and stderr, each


@dataclass(frozen=True, kw_only=True)
class Mount:
    """A host folder or file that the program sees at ``target``.

    ``writable`` gives the program a folder of its own at ``target``, which starts as a private copy of ``source``. Its
    size is `Limits.output` plus that of the copy; a backend may round it up. What the program wrote is read with
    :meth:`Run.collect`. The source itself is never written to.
    """

    target: str
    source: Path | None = None
    writable: bool = False


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """One program to run."""

    image: str  # name of an installed image, e.g. "gauntlet/agent"
    command: Sequence[str]
    label: str  # identifies the run in listings and to the reaper, e.g. "job-<id>-agent"
    owner: str  # identifies the worker process that must live for the run to go on, as "<pid>:<start time>"
    environment: Mapping[str, str] = field(default_factory=dict)  # nothing is inherited
    working_directory: str = "/"
    mounts: Sequence[Mount] = ()
    limits: Limits = field(default_factory=Limits)
    stdio: Stdio = Stdio.CAPTURED
    stdin: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a program ended, and what it used."""

    cause: Cause
    exit_code: int | None  # None where a signal ended it
    signal: int | None
    seconds: float  # wall time from start to end
    cpu_seconds: float | None
    memory_peak: int | None  # bytes
    memory_limit: int
    oom_kills: int
    process_limit_hits: int  # how often a fork was refused
    disk_full: bool  # a writable folder was full at the end

    @property
    def ok(self) -> bool:
        """The program ended by itself with exit code 0."""
        return self.cause is Cause.EXITED and self.exit_code == 0


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What was taken out of a writable mount."""

    files: int
    bytes: int
    skipped: Sequence[str]  # relative paths of what was not a regular file, or beyond the limits, with the reason
    truncated: bool  # the count or size limit cut the collection


class Run(ABC):
    """One program in one sandbox: prepared, started once, waited for, closed. Use it as a context manager."""

    stdin: BinaryIO | None  # with Stdio.PIPES
    stdout: BinaryIO | None  # with Stdio.PIPES

    @abstractmethod
    def listen(self, port: int) -> socket.socket:
        """Bind 127.0.0.1:port inside the sandbox's own network namespace; before :meth:`start`.

        The socket is listening, non-blocking, made with IPPROTO_TCP (asyncio sets TCP_NODELAY only on such).
        """

    @abstractmethod
    def start(self) -> None:
        """Let the program run. The time limit counts from here."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> Verdict | None:
        """Block until the program ended and return its verdict, or None when ``timeout`` seconds passed.

        Enforces the time and output limits. May be called again; the verdict stays the same.

        Raises:
            SandboxGone: the sandbox disappeared without a verdict.
        """

    @abstractmethod
    def kill(self) -> None:
        """End the whole tree at once; the verdict's cause is then CANCELLED. From any thread; harmless when ended."""

    @abstractmethod
    def log_tail(self, stream: str, size: int = 65536) -> bytes:
        """The last ``size`` captured bytes of "stdout" or "stderr"; also while the program runs."""

    @abstractmethod
    def collect(self, target: str, into: Path) -> Collected:
        """Copy the regular files of the writable mount at ``target`` into ``into``, after the end.

        Opened by descriptor, without following links; links, devices, FIFOs and sockets are skipped and named.
        """

    @abstractmethod
    def close(self) -> None:
        """Kill what still runs and remove everything of this run from the host. Idempotent."""

    @property
    @abstractmethod
    def uid(self) -> int:
        """The uid that the host sees for the program's processes."""

    @property
    @abstractmethod
    def host_pid(self) -> int | None:
        """A process id, on the host, of the program's tree while it runs."""

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Sandbox(ABC):
    """A backend."""

    name: str

    @abstractmethod
    def check(self) -> None:
        """Raise SandboxUnavailable, with what to do about it, where this host cannot run sandboxes."""

    @abstractmethod
    def enforcement(self) -> Mapping[str, Enforcement]:
        """Which limit this host enforces ("memory", "cpus", "processes", "output", "scratch", "uid", "seccomp")."""

    def best_effort(self) -> list[str]:
        """The limits that this host does not enforce for certain."""
        return [name for name, how in self.enforcement().items() if how is Enforcement.BEST_EFFORT]

    @abstractmethod
    def image_digest(self, image: str) -> str:
        """The digest that identifies the installed image, "sha256:…".

        Raises:
            ImageUnavailable: it is not installed.
        """

    def submitted_image(self, archive: Path, *, digest: str) -> AbstractContextManager[str]:
        """Make a participant's image ready; the context gives the name for `SandboxSpec.image` and keeps it there.

        ``archive`` is what `container_images.check_image` wrote, ``digest`` ("sha256:…") that of its bytes. It is made
        ready once on a host, and dropped when others were used since and there is no room for it.

        Raises:
            SandboxUnavailable: this backend cannot start participants' images.
            SandboxError: it cannot be made ready.
        """
        raise SandboxUnavailable(f"{self.name} cannot start participants' images")

    @abstractmethod
    def prepare(self, spec: SandboxSpec) -> Run:
        """Set up everything for the program but let it not run yet.

        Raises:
            SandboxUnavailable, ImageUnavailable, SandboxError
        """

    def expect_another(self, spec: SandboxSpec) -> None:  # noqa: B027  most backends start soon enough
        """Say that a program like this one, which was just prepared, is likely to follow.

        Where starts are slow, a backend may make ready what the two have in common, and nothing that is of the one
        alone. Does not wait, and raises nothing.
        """

    def drop_spares(self) -> None:  # noqa: B027  as above
        """Remove what was made ready and nobody has used. Idempotent."""

    def containers(self) -> list[str]:
        """The runs, whoever's they are, of which the engine has a container; none where there is no engine.

        Raises:
            SandboxUnavailable: the engine does not answer.
        """
        return []

    @abstractmethod
    def reap(self, is_alive: Callable[[str], bool]) -> list[str]:
        """Remove what runs left whose ``owner`` is no longer alive; return their labels."""
