"""One program under Docker.

The container is started with a holder that does nothing, and the program is run in it as an exec. So there is a network
namespace to open the door in and folders to fill before the program runs, and counters and outputs to read after it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import docker
import requests
from docker.errors import DockerException

from gauntlet_runtime.sandbox.cgroups import Counters
from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.interface import Cause, SandboxError, SandboxGone, SandboxSpec, Verdict
from gauntlet_runtime.sandbox.processes import is_dying
from gauntlet_runtime.sandbox.supervision import CHUNK, GRACE_SECONDS, Setting, SupervisedRun
from gauntlet_runtime.sandbox.verdicts import SIGNAL_BASE

ENGINE_ERRORS = (DockerException, requests.RequestException, OSError)
_HEADER = struct.Struct(">BxxxL")  # of a frame: stream, length (Docker Engine API, "Stream format")
_STREAMS: Mapping[int, str] = {1: "stdout", 2: "stderr"}
_POLL_SECONDS = 0.003  # between two questions whether the program has started; the engine tells nobody
_KILLED = SIGNAL_BASE + 9


@dataclass(frozen=True, kw_only=True)
class DockerPlan:
    """What the container and the program in it are started with."""

    container: Mapping[str, Any]  # arguments of create_container
    program: Mapping[str, Any]  # arguments of exec_create
    counters: Callable[[int], Callable[[], Counters]]  # of the group that a process is in


class DockerRun(SupervisedRun):
    """See :class:`SupervisedRun`."""

    def __init__(self, client: docker.DockerClient, spec: SandboxSpec, setting: Setting, plan: DockerPlan) -> None:
        self._api = client.api
        self._plan = plan
        self._container = ""
        self._life: socket.socket | None = None  # the holder's stdin: the container ends when it is closed
        self._program = ""
        self._program_pid: int | None = None
        self._program_handle: int | None = None
        self._counters: Callable[[], Counters] = Counters
        self._stream: socket.socket | None = None
        self._alone = False  # the program runs on with its streams closed
        self._received = bytearray()
        self._stdin_left = memoryview(spec.stdin)
        self._inner: dict[str, int] = {}  # our ends of the caller's pipes
        self._outgoing = bytearray()  # for the caller's stdout
        super().__init__(spec, setting)

    @property
    def host_pid(self) -> int | None:
        if self._anchor is None or self._ended.is_set():
            return None
        return self._program_pid or self._anchor.init

    def close(self) -> None:
        super().close()
        for descriptor in self._inner.values():
            os.close(descriptor)
        self._inner.clear()

    # --- before the start --------------------------------------------------------------------------------------------

    def _launch(self) -> Anchor:
        try:
            self._container = self._api.create_container(**self._plan.container)["Id"]
            self._life = _raw(self._api.attach_socket(self._container, {"stdin": 1, "stream": 1}))
            self._api.start(self._container)
            init = int(self._api.inspect_container(self._container)["State"]["Pid"])
            anchor = Anchor(init=init, init_handle=os.pidfd_open(init))
            self._anchor = anchor
            anchor.open_folders(self._setting.mounts, owner=self._setting.owner)
            self._counters = self._plan.counters(init)
            self._program = self._api.exec_create(self._container, **self._plan.program)["Id"]
        except ENGINE_ERRORS as error:
            raise SandboxError(f"Docker could not prepare the sandbox: {error}") from error
        if not self._captured:
            self._open_pipes()
        return anchor

    def _open_pipes(self) -> None:
        in_read, in_write = os.pipe2(os.O_CLOEXEC)
        out_read, out_write = os.pipe2(os.O_CLOEXEC)
        for descriptor in (in_read, out_write):
            os.set_blocking(descriptor, False)
        self._inner = {"stdin": in_read, "stdout": out_write}
        self.stdin = cast(BinaryIO, os.fdopen(in_write, "wb", buffering=0))
        self.stdout = cast(BinaryIO, os.fdopen(out_read, "rb", buffering=0))

    def _let_go(self) -> None:
        """The supervisor was woken and starts the program: the answer of the engine can take its time."""

    # --- while it runs -----------------------------------------------------------------------------------------------

    def _watch(self, anchor: Anchor) -> Verdict:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ, self._swallow_wake)
            selector.register(anchor.init_handle, selectors.EVENT_READ, lambda: None)
            while self._started is None:
                selector.select()
                if self._cause is not Cause.EXITED or _has_ended(anchor.init_handle):
                    return self._judge_unstarted(anchor)
                self._swallow_wake()
            selector.unregister(anchor.init_handle)
            try:
                self._start_program(anchor, selector)
                if self._program_handle is not None:
                    selector.register(self._program_handle, selectors.EVENT_READ, lambda: None)
                    while not _has_ended(self._program_handle):
                        self._turn(selector)
                        self._look_after_engine()
                    selector.unregister(self._program_handle)
            except ENGINE_ERRORS as error:
                raise SandboxGone(f"Docker went away: {error}") from error
            return self._finish(anchor, selector)

    def _judge_unstarted(self, anchor: Anchor) -> Verdict:
        if self._cause is Cause.EXITED:
            raise SandboxGone("the container disappeared before the program was started")
        return self._conclude(anchor, status=_KILLED, counters=Counters(), ended=time.monotonic())

    def _start_program(self, anchor: Anchor, selector: selectors.DefaultSelector) -> None:
        self._stream = _raw(self._api.exec_start(self._program, socket=True))
        self._stream.setblocking(False)
        selector.register(self._stream, selectors.EVENT_READ, self._receive)
        if self._captured:
            self._send_stdin()
        else:
            selector.register(self._inner["stdin"], selectors.EVENT_READ, self._relay_stdin)
        while True:
            state = self._api.exec_inspect(self._program)
            if state["Pid"] or state["ExitCode"] is not None:
                break
            if _has_ended(anchor.init_handle):
                return
            self._turn(selector, at_most=_POLL_SECONDS)
        if state["Running"]:
            with contextlib.suppress(ProcessLookupError):  # over already
                handle = os.pidfd_open(state["Pid"])
                self._program_pid, self._program_handle = state["Pid"], handle

    def _turn(self, selector: selectors.DefaultSelector, at_most: float | None = None) -> None:
        left = self._seconds_left()
        self._send_stdin()
        if not self._captured and self._stdin_left:
            self._push_stdin()  # nothing more may come from the caller that would remind us of the rest
        self._want_writing(selector)
        for key, _ in selector.select(left if at_most is None or left is None else min(left, at_most)):
            key.data()
        self._unregister_closed(selector)
        self._keep_time()

    def _look_after_engine(self) -> None:
        """The connection ended before the program: either that closed its streams, or the engine is gone."""
        if self._stream is None and not self._alone:
            self._api.ping()
            self._alone = True

    def _want_writing(self, selector: selectors.DefaultSelector) -> None:
        """Ask to be woken when the program, or the caller, can take more of what we hold for it."""
        if self._stream is None:
            return
        # While the caller does not read, nothing more is taken from the program: its pipe fills, and it waits.
        events = 0 if self._outgoing else selectors.EVENT_READ
        if self._stdin_left:
            events |= selectors.EVENT_WRITE
        registered = selector.get_map().get(self._stream.fileno())
        if registered is not None and not events:
            selector.unregister(self._stream)
        elif registered is not None and registered.events != events:
            selector.modify(self._stream, events, self._receive)
        elif registered is None and events:
            selector.register(self._stream, events, self._receive)
        into = self._inner.get("stdin")
        if into is not None:  # while the program does not read, nothing more is taken from the caller either
            waiting = into in selector.get_map()
            if self._stdin_left and waiting:
                selector.unregister(into)
            elif not self._stdin_left and not waiting:
                selector.register(into, selectors.EVENT_READ, self._relay_stdin)
        out = self._inner.get("stdout")
        if out is not None:
            waiting = out in selector.get_map()
            if self._outgoing and not waiting:
                selector.register(out, selectors.EVENT_WRITE, self._relay_stdout)
            elif not self._outgoing and waiting:
                selector.unregister(out)

    def _unregister_closed(self, selector: selectors.DefaultSelector) -> None:
        inner = set(self._inner.values())
        for key in list(selector.get_map().values()):
            relays = (self._relay_stdin, self._relay_stdout)
            if key.data in relays and key.fd not in inner:
                selector.unregister(key.fd)
            elif key.data == self._receive and self._stream is None:
                selector.unregister(key.fileobj)

    # --- standard streams --------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        if self._stream is None:
            return
        try:
            chunk = self._stream.recv(CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._close_stream()
            return
        self._received += chunk
        while len(self._received) >= _HEADER.size:
            number, length = _HEADER.unpack_from(self._received)
            if len(self._received) < _HEADER.size + length:
                return
            frame = bytes(self._received[_HEADER.size : _HEADER.size + length])
            del self._received[: _HEADER.size + length]
            self._hand_out(_STREAMS.get(number, "stderr"), frame)

    def _hand_out(self, stream: str, frame: bytes) -> None:
        if stream in self._logs:
            if self._cause is not Cause.OUTPUT_LIMIT:
                self._log(stream, frame)
        elif "stdout" in self._inner:
            self._outgoing += frame
            self._relay_stdout()

    def _send_stdin(self) -> None:
        """Send what is left of the captured program's standard input, then close it."""
        if not self._captured or self._stream is None:
            return
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._stdin_left:
                self._stdin_left = self._stdin_left[self._stream.send(self._stdin_left[:CHUNK]) :]
            self._stream.shutdown(socket.SHUT_WR)

    def _relay_stdin(self) -> None:
        """From the caller's pipe to the program."""
        if self._stdin_left or self._stream is None:
            self._push_stdin()
            return
        with contextlib.suppress(BlockingIOError):
            chunk = os.read(self._inner["stdin"], CHUNK)
            if chunk:
                self._stdin_left = memoryview(chunk)
                self._push_stdin()
            else:
                os.close(self._inner.pop("stdin"))
                self._stream.shutdown(socket.SHUT_WR)

    def _push_stdin(self) -> None:
        if self._stream is None:
            self._stdin_left = memoryview(b"")
            return
        with contextlib.suppress(BlockingIOError):
            while self._stdin_left:
                self._stdin_left = self._stdin_left[self._stream.send(self._stdin_left) :]

    def _relay_stdout(self) -> None:
        """From the program to the caller's pipe."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._inner["stdout"], self._outgoing[:CHUNK])]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the caller does not listen any more
            self._outgoing.clear()
            os.close(self._inner.pop("stdout"))

    def _close_stream(self) -> None:
        if self._stream is not None:
            _hang_up(self._stream)
            self._stream = None

    # --- the end -----------------------------------------------------------------------------------------------------

    def _finish(self, anchor: Anchor, selector: selectors.DefaultSelector) -> Verdict:
        ended = time.monotonic()
        ours = self._cause is not Cause.EXITED
        gone = is_dying(anchor.init)
        # Read while the container is there: Docker removes the group with it.
        counters = self._final_counters(gone=gone)
        self._kill_all(anchor)
        self._wait_for_all(anchor)
        self._drain(selector)
        if gone and not ours and not counters.oom_kills:
            raise SandboxGone("the container disappeared")
        status = _KILLED if ours or gone else self._exit_status()
        return self._conclude(anchor, status=status, counters=counters, ended=ended)

    def _final_counters(self, *, gone: bool) -> Counters:
        try:
            return self._counters()
        except (SandboxGone, OSError):
            if not gone:
                raise
        try:  # the holder itself is gone, and the group with it: the engine has noted whether memory was the reason
            state = self._api.inspect_container(self._container)["State"]
        except ENGINE_ERRORS as error:
            raise SandboxGone(f"Docker went away: {error}") from error
        return Counters(oom_kills=1 if state["OOMKilled"] else 0)

    def _drain(self, selector: selectors.DefaultSelector) -> None:
        """Read what the engine still has of the program's output; all writers are dead."""
        end = time.monotonic() + GRACE_SECONDS
        while self._stream is not None and time.monotonic() < end and self._cause is not Cause.OUTPUT_LIMIT:
            if self._outgoing and self._cause is not Cause.EXITED:
                break  # the caller does not read, and has not been promised more
            try:
                self._turn(selector, at_most=0.05)
            except OSError:
                self._close_stream()
        self._close_stream()
        if (out := self._inner.pop("stdout", None)) is not None:
            os.close(out)

    def _exit_status(self) -> int:
        end = time.monotonic() + GRACE_SECONDS
        try:
            while time.monotonic() < end:
                state = self._api.exec_inspect(self._program)
                if not state["Running"] and state["ExitCode"] is not None:
                    return int(state["ExitCode"])
                time.sleep(_POLL_SECONDS)
        except ENGINE_ERRORS as error:
            raise SandboxGone(f"Docker went away: {error}") from error
        raise SandboxGone("Docker does not say how the program ended")

    def _clear_away(self) -> None:
        if self._anchor is not None:
            self._kill_all(self._anchor)
            self._wait_for_all(self._anchor)
        self._close_stream()
        if self._program_handle is not None:
            os.close(self._program_handle)
            self._program_handle = None
        if self._life is not None:
            _hang_up(self._life)
            self._life = None
        if self._container:
            # Where the engine is away the container is dead all the same, and the reaper removes it later.
            with contextlib.suppress(*ENGINE_ERRORS):
                self._api.remove_container(self._container, force=True, v=True)


def _has_ended(handle: int) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        return bool(selector.select(0))


def _hang_up(connection: socket.socket) -> None:
    """End the connection itself: the SDK may still hold a descriptor of it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _raw(stream: Any) -> socket.socket:
    """The connection under what the SDK returns, which is a file object made from it."""
    inner = getattr(stream, "_sock", stream)
    if not isinstance(inner, socket.socket):
        raise SandboxError("the Docker connection is no socket")
    # A duplicate: the SDK's objects close theirs when they are collected.
    copy = inner.dup()
    copy.setblocking(True)
    return copy
