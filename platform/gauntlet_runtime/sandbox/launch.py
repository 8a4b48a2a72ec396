"""Start bubblewrap and stop it right before the program: everything is set up, and nothing has run."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, BinaryIO

from gauntlet_runtime.sandbox.cgroups import Counters
from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.interface import SandboxError, SandboxUnavailable
from gauntlet_runtime.sandbox.supervision import Setting

_SECONDS = 30.0
_OPEN_FILES = 65_536


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What bubblewrap is started with."""

    arguments: Sequence[str]  # its own, without descriptors
    program: Sequence[str]
    seccomp: bytes
    join: Callable[[int], None]  # puts a process under the limits
    counters: Callable[[], Counters]
    resident_limit: int | None  # bytes, where the supervisor itself must keep the limit on memory


@dataclass(kw_only=True)
class Held:
    """A sandbox whose program waits at the gate."""

    process: subprocess.Popen[bytes]  # bubblewrap on the host
    anchor: Anchor
    gate: int | None  # one byte opens it

    def open_gate(self) -> None:
        """Let the program run."""
        if self.gate is not None:
            with contextlib.suppress(BrokenPipeError):  # it died meanwhile, which its supervisor sees
                os.write(self.gate, b"x")
        self.close_gate()

    def close_gate(self) -> None:
        """Idempotent."""
        gate, self.gate = self.gate, None
        if gate is not None:
            os.close(gate)


def bubblewrap() -> str:
    """The path of bubblewrap.

    Raises:
        SandboxUnavailable: it is not installed.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable("bubblewrap is missing; as root run: apt-get install -y bubblewrap")
    return found


def launch(plan: Plan, setting: Setting, *, stdin: bytes | None) -> Held:
    """Start bubblewrap; the calling thread must live as long as the sandbox.

    ``stdin`` is the program's whole standard input; None makes it a pipe.

    Raises:
        SandboxError: bubblewrap could not set the sandbox up.
    """
    gate_read, gate = os.pipe2(os.O_CLOEXEC)
    info_read, info_write = os.pipe2(os.O_CLOEXEC)
    process = None
    try:
        try:
            process = _spawn(plan, setting.owner, stdin=stdin, gate=gate_read, info=info_write)
        finally:
            os.close(gate_read)
            os.close(info_write)
        with os.fdopen(info_read, "rb") as info:
            init = _read_init(info, process)
        return Held(process=process, anchor=_hold(plan, setting, process, init), gate=gate)
    except BaseException:
        os.close(gate)
        if process is not None:
            discard(process)
        raise


def discard(process: subprocess.Popen[bytes]) -> None:
    """Kill bubblewrap, and with it everything in the sandbox."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _spawn(plan: Plan, owner: int | None, *, stdin: bytes | None, gate: int, info: int) -> subprocess.Popen[bytes]:
    with contextlib.ExitStack() as stack:
        # Through descriptors, not on the command line: every user of the host can read that, and the program's
        # environment is among the arguments. bubblewrap's own environment is empty, so that none of the program's
        # variables (LD_PRELOAD) reaches the part of it that runs outside.
        arguments = stack.enter_context(_file_of(b"".join(os.fsencode(word) + b"\0" for word in plan.arguments)))
        seccomp = stack.enter_context(_file_of(plan.seccomp))
        source: IO[bytes] | int = subprocess.PIPE
        if stdin is not None:
            source = stack.enter_context(_file_of(stdin)) if stdin else subprocess.DEVNULL
        descriptors = {
            "--args": arguments.fileno(),
            "--seccomp": seccomp.fileno(),
            "--info-fd": info,
            "--block-fd": gate,
        }
        options = [word for name, number in descriptors.items() for word in (name, str(number))]
        process = subprocess.Popen(
            [bubblewrap(), *options, "--", *plan.program],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={},
            cwd="/",
            pass_fds=tuple(descriptors.values()),
        )
    if owner is not None:
        # The program may open its streams once more by name (/dev/stderr), which asks for the pipe's owner.
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                os.fchown(pipe.fileno(), owner, owner)
    return process


@contextlib.contextmanager
def _file_of(content: bytes) -> Iterator[BinaryIO]:
    with os.fdopen(os.memfd_create("sandbox", os.MFD_CLOEXEC), "w+b", buffering=0) as file:
        file.write(content)
        file.seek(0)
        yield file


def _read_init(info: BinaryIO, process: subprocess.Popen[bytes]) -> int:
    text = info.read()
    if not text:
        raise SandboxError(f"bubblewrap failed: {_last_words(process)}")
    return int(json.loads(text)["child-pid"])


def _last_words(process: subprocess.Popen[bytes]) -> str:
    process.kill()
    said = process.stderr.read(4096) if process.stderr is not None else b""
    return said.decode(errors="replace").strip() or f"it said nothing (exit code {process.wait()})"


def _hold(plan: Plan, setting: Setting, process: subprocess.Popen[bytes], init: int) -> Anchor:
    anchor = Anchor(init=init, init_handle=os.pidfd_open(init))
    try:
        plan.join(init)
        _wait_for_root(process, init)
        resource.prlimit(init, resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.prlimit(init, resource.RLIMIT_NOFILE)
        if hard == resource.RLIM_INFINITY or hard > _OPEN_FILES:
            resource.prlimit(init, resource.RLIMIT_NOFILE, (1024, _OPEN_FILES))
        anchor.open_folders(setting.mounts, owner=setting.owner)
    except BaseException as error:
        anchor.close()
        if isinstance(error, OSError):
            raise SandboxError(f"cannot set up the sandbox: {error}") from error
        raise
    return anchor


def _wait_for_root(process: subprocess.Popen[bytes], init: int) -> None:
    """Wait until the sandbox's root is in place: the last thing bubblewrap does to it is to make it read-only.

    Before that the process's root is the host's, then a writable scratch one.
    """
    host = os.stat("/").st_dev
    end = time.monotonic() + _SECONDS
    while True:
        try:
            root = os.open(f"/proc/{init}/root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if os.fstat(root).st_dev != host and os.fstatvfs(root).f_flag & os.ST_RDONLY:
                    return
            finally:
                os.close(root)
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            pass  # it died, which is seen below; or, without root, it has not become visible yet
        if process.poll() is not None:
            raise SandboxError(f"bubblewrap failed: {_last_words(process)}")
        if time.monotonic() > end:
            raise SandboxError(f"bubblewrap did not get ready: {_last_words(process)}")
        time.sleep(0.0005)
