"""Start bubblewrap and stop it right before the program: everything is set up, and nothing has run."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet_runtime.sandbox.cgroups import Counters
from gauntlet_runtime.sandbox.child import Child, spawn
from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.gate import text as gate_word
from gauntlet_runtime.sandbox.interface import SandboxError, SandboxUnavailable
from gauntlet_runtime.sandbox.seccomp import CORE_BYTES
from gauntlet_runtime.sandbox.supervision import Setting

_SECONDS = 30.0
_POLL_SECONDS = 0.0005

# bubblewrap's descriptors, by the numbers that it has them under.
_ARGUMENTS, _SECCOMP, _INFO, _BLOCK, _GATE = 3, 4, 5, 6, 7

# The program waits twice. bubblewrap itself is held (--block-fd) until its first process is under the limits; but when
# the worker dies meanwhile, it takes the closed pipe for the word to go on, and is not bound yet to die with its
# parent. So the word to start is waited for inside, where a pipe that is closed without it means the end.
#
# What comes through the gate (gate.py) is the program's environment. It must not be there before: with root as the
# worker, setpriv runs as root, and would load what LD_PRELOAD names.
_WAIT_AT_THE_GATE = f'. /proc/self/fd/{_GATE}; [ "$_gate" = open ] || exit 125; unset _gate; exec "$@" {_GATE}<&-'
_GATEKEEPER = "sh"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What bubblewrap is started with."""

    arguments: Sequence[str]  # its own, without descriptors
    become: Sequence[str]  # the command that changes to the sandbox's uid
    shell: Sequence[str]  # a POSIX shell, called `sh`
    program: Sequence[str]
    environment: Mapping[str, str]  # the program's, whole
    seccomp: bytes
    join: Callable[[int], None]  # puts a process under the limits
    counters: Callable[[], Counters]
    open_files: tuple[int, int]  # the limits of each process
    resident_limit: int | None  # bytes, where the supervisor itself must keep the limit on memory


@dataclass(kw_only=True)
class Held:
    """A sandbox whose program waits at the gate."""

    process: Child  # bubblewrap on the host
    anchor: Anchor
    gate: int | None
    word: bytes  # what opens it

    def open_gate(self) -> None:
        """Let the program run."""
        if self.gate is not None:
            with contextlib.suppress(BrokenPipeError):  # it died meanwhile, which its supervisor sees
                left = memoryview(self.word)
                while left:
                    left = left[os.write(self.gate, left) :]
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
    word = gate_word(plan.environment)
    gate_read, gate = os.pipe2(os.O_CLOEXEC)
    if setting.owner is not None:
        os.fchown(gate_read, setting.owner, setting.owner)  # it is opened once more by its name
    block_read, block = os.pipe2(os.O_CLOEXEC)
    info_read, info_write = os.pipe2(os.O_CLOEXEC)
    process = None
    try:
        try:
            given = {_INFO: info_write, _BLOCK: block_read, _GATE: gate_read}
            process = _spawn(plan, setting.owner, stdin=stdin, given=given)
        finally:
            for descriptor in (gate_read, block_read, info_write):
                os.close(descriptor)
        anchor = _hold(plan, setting, process, _read_init(info_read, process))
    except BaseException:
        for descriptor in (gate, block):
            os.close(descriptor)
        if process is not None:
            discard(process)
        raise
    finally:
        os.close(info_read)
    os.close(block)  # which lets bubblewrap go on, up to the gate
    held = Held(process=process, anchor=anchor, gate=gate, word=word)
    try:
        _wait_for_gatekeeper(process, anchor.init)
    except BaseException:
        held.close_gate()
        anchor.close()
        discard(process)
        raise
    return held


def discard(process: Child) -> None:
    """Kill bubblewrap, and with it everything in the sandbox."""
    process.kill()
    process.wait()
    process.close_streams()


def _spawn(plan: Plan, owner: int | None, *, stdin: bytes | None, given: Mapping[int, int]) -> Child:
    with contextlib.ExitStack() as stack:
        # Through a descriptor: there is no limit on its length, as there is on a command line's.
        arguments = b"".join(os.fsencode(word) + b"\0" for word in plan.arguments)
        files = {
            _ARGUMENTS: stack.enter_context(_file_of(arguments)),
            _SECCOMP: stack.enter_context(_file_of(plan.seccomp)),
        }
        pipes = [1, 2]
        if stdin is None:
            pipes.append(0)
        elif stdin:
            files[0] = stack.enter_context(_file_of(stdin))
        else:
            files[0] = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(os.close, files[0])
        options = ["--args", _ARGUMENTS, "--seccomp", _SECCOMP, "--info-fd", _INFO, "--block-fd", _BLOCK, "--"]
        command = [*plan.become, *plan.shell, "-c", _WAIT_AT_THE_GATE, "gate", *plan.program]
        process = spawn(
            bubblewrap(), [*(str(word) for word in options), *command], given={**files, **given}, pipes=pipes
        )
    if owner is not None:
        # The program may open its streams once more by name (/dev/stderr), which asks for the pipe's owner.
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                os.fchown(pipe.fileno(), owner, owner)
    return process


@contextlib.contextmanager
def _file_of(content: bytes) -> Iterator[int]:
    descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _read_init(info: int, process: Child) -> int:
    with os.fdopen(info, "rb", closefd=False) as file:
        text = file.read()
    if not text:
        raise SandboxError(f"bubblewrap failed: {_last_words(process)}")
    return int(json.loads(text)["child-pid"])


def _last_words(process: Child) -> str:
    process.kill()
    said = process.stderr.read(4096) if process.stderr is not None else b""
    return (said or b"").decode(errors="replace").strip() or f"it said nothing (status {process.wait()})"


def _hold(plan: Plan, setting: Setting, process: Child, init: int) -> Anchor:
    anchor = Anchor(init=init, init_handle=os.pidfd_open(init))
    try:
        plan.join(init)
        _wait_for_root(process, init)
        resource.prlimit(init, resource.RLIMIT_CORE, (CORE_BYTES, CORE_BYTES))
        resource.prlimit(init, resource.RLIMIT_NOFILE, plan.open_files)
        anchor.open_folders(setting.mounts)
        anchor.fill_folders(setting.mounts, owner=setting.owner)
    except BaseException as error:
        anchor.close()
        if isinstance(error, OSError):
            raise SandboxError(f"cannot set up the sandbox: {error}") from error
        raise
    return anchor


def _wait_for_root(process: Child, init: int) -> None:
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
        time.sleep(_POLL_SECONDS)


def _wait_for_gatekeeper(process: Child, init: int) -> None:
    """Wait until nothing but the word to start is missing, so that what goes wrong before is not the program's."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            for child in Path(f"/proc/{init}/task/{init}/children").read_text(encoding="ascii").split():
                if Path(f"/proc/{child}/comm").read_text(encoding="utf-8").strip() == _GATEKEEPER:
                    return
        except (FileNotFoundError, ProcessLookupError):
            pass  # it ended, which is seen below
        if process.poll() is not None:
            raise SandboxError(f"bubblewrap failed: {_last_words(process)}")
        if time.monotonic() > end:
            raise SandboxError(f"the sandbox did not get ready: {_last_words(process)}")
        time.sleep(_POLL_SECONDS)
