"""A container in which nothing of a submission is yet, held right before its program.

The container is started with a holder that does nothing. So there is a network namespace to open the door in and
folders to fill before the program runs, and counters and outputs to read after it. The program's process is there
too, as an exec: a shell that waits at the gate (gate.py). What the program is, it hears only then, so that a container
can be held before anybody has asked for it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import docker
import requests
from docker.errors import DockerException

from gauntlet_runtime.sandbox.cgroups import Counters
from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.gate import ANSWER, QUESTION
from gauntlet_runtime.sandbox.interface import SandboxError, SandboxGone
from gauntlet_runtime.sandbox.layout import Placed
from gauntlet_runtime.sandbox.supervision import CHUNK, GRACE_SECONDS

ENGINE_ERRORS: Final = (DockerException, requests.RequestException, OSError)
_HEADER: Final = struct.Struct(">BxxxL")  # of a frame: stream, length (Docker Engine API, "Stream format")
_STREAMS: Final[Mapping[int, str]] = {1: "stdout", 2: "stderr"}
_START_SECONDS: Final = 60.0  # for the gatekeeper to be there
_POLL_SECONDS: Final = 0.003  # between two questions about the program; the engine tells nobody


class Frames:
    """Takes apart what comes from a program: the engine sends both streams over one connection."""

    def __init__(self) -> None:
        self._received = bytearray()

    def take(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        """The whole frames that there are with this: which stream, and what was said."""
        self._received += chunk
        while len(self._received) >= _HEADER.size:
            number, length = _HEADER.unpack_from(self._received)
            if len(self._received) < _HEADER.size + length:
                return
            frame = bytes(self._received[_HEADER.size : _HEADER.size + length])
            del self._received[: _HEADER.size + length]
            yield _STREAMS.get(number, "stderr"), frame


@dataclass(frozen=True, kw_only=True)
class ContainerPlan:
    """What a container and the gatekeeper in it are started with."""

    container: Mapping[str, Any]  # arguments of create_container
    gatekeeper: Mapping[str, Any]  # arguments of exec_create
    mounts: Sequence[Placed]
    counters: Callable[[int], Callable[[], Counters]]  # of the group that a process is in


class Container:
    """A held container, and then the one of a run. `end` removes it; the anchor's descriptors are for `close`."""

    def __init__(self, client: docker.DockerClient, plan: ContainerPlan) -> None:
        """Create and start it, up to the gate.

        Raises:
            SandboxError: it could not be had; nothing of it is left.
        """
        self._api = client.api
        self._id = ""
        self._life: socket.socket | None = None  # the holder's stdin: the container ends when it is closed
        self._exec = ""
        self._anchor: Anchor | None = None
        self.counters: Callable[[], Counters] = Counters
        self.stream: socket.socket | None = None  # the program's standard streams, in frames
        self.frames = Frames()
        self.program: int | None = None  # process id of the gatekeeper, and then of the program
        self.program_handle: int | None = None
        try:
            self._start(plan)
        except BaseException as error:
            self.end()
            if self._anchor is not None:
                self._anchor.close()
            if isinstance(error, ENGINE_ERRORS):
                raise SandboxError(f"Docker could not prepare the sandbox: {error}") from error
            raise

    def _start(self, plan: ContainerPlan) -> None:
        self._id = self._api.create_container(**plan.container)["Id"]
        self._life = _raw(self._api.attach_socket(self._id, {"stdin": 1, "stream": 1}))
        self._api.start(self._id)
        init = int(self._api.inspect_container(self._id)["State"]["Pid"])
        self._anchor = Anchor(init=init, init_handle=os.pidfd_open(init))
        self._anchor.open_folders(plan.mounts)
        self.counters = plan.counters(init)
        self._exec = self._api.exec_create(self._id, **plan.gatekeeper)["Id"]
        self.stream = _raw(self._api.exec_start(self._exec, socket=True))
        self._wait_for_gatekeeper(self.stream)
        self.program = self._number_of_gatekeeper()
        self.program_handle = os.pidfd_open(self.program)

    def _wait_for_gatekeeper(self, stream: socket.socket) -> None:
        stream.settimeout(_START_SECONDS)
        stream.sendall(QUESTION)
        said = ""
        while chunk := stream.recv(CHUNK):
            for name, frame in self.frames.take(chunk):
                if (name, frame) == ("stdout", ANSWER):
                    stream.setblocking(False)
                    return
                said += frame.decode(errors="replace")
        raise SandboxError(f"the sandbox did not get ready: {said.strip() or 'it said nothing'}")

    def _number_of_gatekeeper(self) -> int:
        """It may answer before the engine has noted its number."""
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            state = self._api.exec_inspect(self._exec)
            if state["Pid"]:
                return int(state["Pid"])
            if state["ExitCode"] is not None:
                break
            time.sleep(_POLL_SECONDS)
        raise SandboxError("the sandbox did not get ready: its gatekeeper is gone")

    @property
    def anchor(self) -> Anchor:
        """Its first process and its folders."""
        if self._anchor is None:
            raise SandboxError("the container was not started")
        return self._anchor

    @property
    def is_alive(self) -> bool:
        """The holder and the gatekeeper, or the program, are there."""
        handles = (self.anchor.init_handle, self.program_handle)
        return not any(handle is None or has_ended(handle) for handle in handles)

    def ping(self) -> None:
        """Raise one of `ENGINE_ERRORS` where the engine does not answer."""
        self._api.ping()

    def says_out_of_memory(self) -> bool:
        """Whether the engine noted that the holder ended for want of memory.

        Raises:
            SandboxGone: the engine is away.
        """
        try:
            return bool(self._api.inspect_container(self._id)["State"]["OOMKilled"])
        except ENGINE_ERRORS as error:
            raise SandboxGone(f"Docker went away: {error}") from error

    def exit_status(self) -> int:
        """How the program ended, once it has.

        Raises:
            SandboxGone: the engine does not say.
        """
        end = time.monotonic() + GRACE_SECONDS
        try:
            while time.monotonic() < end:
                state = self._api.exec_inspect(self._exec)
                if not state["Running"] and state["ExitCode"] is not None:
                    return int(state["ExitCode"])
                time.sleep(_POLL_SECONDS)
        except ENGINE_ERRORS as error:
            raise SandboxGone(f"Docker went away: {error}") from error
        raise SandboxGone("Docker does not say how the program ended")

    def hang_up(self) -> None:
        """Close the program's standard streams. Idempotent."""
        stream, self.stream = self.stream, None
        if stream is not None:
            _hang_up(stream)

    def end(self) -> None:
        """Kill all that runs in it and remove it. Idempotent; the folders can be read until the anchor is closed."""
        if self._anchor is not None:
            self._anchor.kill()
            self._anchor.wait(GRACE_SECONDS)
        self.hang_up()
        if self.program_handle is not None:
            os.close(self.program_handle)
            self.program_handle = None
        if self._life is not None:
            _hang_up(self._life)
            self._life = None
        if self._id:
            # Where the engine is away the container is dead all the same, and the reaper removes it later.
            with contextlib.suppress(*ENGINE_ERRORS):
                self._api.remove_container(self._id, force=True, v=True)
            self._id = ""


def has_ended(handle: int) -> bool:
    """Whether the process of this pidfd has ended."""
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        return bool(selector.select(0))


def _hang_up(connection: socket.socket) -> None:
    """End the connection itself, whoever else holds a descriptor of it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _raw(stream: Any) -> socket.socket:
    """The connection under what the SDK returns, which is a file object made from it."""
    inner = getattr(stream, "_sock", stream)
    if not isinstance(inner, socket.socket):
        raise SandboxError("the Docker connection is no socket")
    copy = inner.dup()
    # The SDK's own goes now. It lies in a circle with the answer that it came with, and what lies in circles is
    # collected some day: a worker would run out of descriptors first.
    inner.close()
    stream.close()
    copy.setblocking(True)
    return copy
