"""One program under Docker, in a container that was held for it (docker_container.py)."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from dataclasses import replace
from typing import BinaryIO, cast

from gauntlet_runtime.sandbox.cgroups import Counters
from gauntlet_runtime.sandbox.docker_container import ENGINE_ERRORS, Container, has_ended
from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.interface import Cause, SandboxGone, SandboxSpec, Verdict
from gauntlet_runtime.sandbox.processes import is_dying
from gauntlet_runtime.sandbox.supervision import CHUNK, GRACE_SECONDS, Setting, SupervisedRun
from gauntlet_runtime.sandbox.verdicts import SIGNAL_BASE

_KILLED = SIGNAL_BASE + 9
_CLOSED = (BrokenPipeError, ConnectionResetError)  # by the other end, which is seen when it is read from


class DockerRun(SupervisedRun):
    """See :class:`SupervisedRun`. ``word`` opens the container's gate."""

    def __init__(self, spec: SandboxSpec, setting: Setting, container: Container, *, word: bytes) -> None:
        self._container = container
        self._noted = Counters()  # what was counted when we killed it
        self._alone = False  # the program runs on with its streams closed
        self._stdin_left = memoryview(word + spec.stdin)
        self._inner: dict[str, int] = {}  # our ends of the caller's pipes
        self._outgoing = bytearray()  # for the caller's stdout
        super().__init__(spec, setting)

    @property
    def host_pid(self) -> int | None:
        return None if self._ended.is_set() else self._container.program

    def close(self) -> None:
        super().close()
        for descriptor in self._inner.values():
            os.close(descriptor)
        self._inner.clear()

    # --- before the start --------------------------------------------------------------------------------------------

    def _launch(self) -> Anchor:
        anchor = self._container.anchor
        anchor.fill_folders(self._setting.mounts, owner=self._setting.owner)
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
        """The supervisor was woken, and sends the word that opens the gate."""

    # --- while it runs -----------------------------------------------------------------------------------------------

    def _watch(self, anchor: Anchor) -> Verdict:
        container = self._container
        program = container.program_handle
        if program is None:
            raise SandboxGone("the container was not prepared")
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ, self._swallow_wake)
            selector.register(program, selectors.EVENT_READ, lambda: None)  # ends with the container, if not before
            while self._started is None:
                selector.select()
                if self._cause is not Cause.EXITED or not container.is_alive:
                    return self._judge_unstarted(anchor)
                self._swallow_wake()
            try:
                if not self._captured:
                    selector.register(self._inner["stdin"], selectors.EVENT_READ, self._relay_stdin)
                while not has_ended(program):
                    self._turn(selector)
                    self._look_after_engine()
                selector.unregister(program)
            except ENGINE_ERRORS as error:
                raise SandboxGone(f"Docker went away: {error}") from error
            return self._finish(anchor, selector)

    def _judge_unstarted(self, anchor: Anchor) -> Verdict:
        if self._cause is Cause.EXITED:
            raise SandboxGone("the container disappeared before the program was started")
        return self._conclude(anchor, status=_KILLED, counters=Counters(), ended=time.monotonic())

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
            self._container.ping()
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

    @property
    def _stream(self) -> socket.socket | None:
        return self._container.stream

    def _receive(self) -> None:
        if self._stream is None:
            return
        try:
            chunk = self._stream.recv(CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._container.hang_up()
            return
        for stream, frame in self._container.frames.take(chunk):
            self._hand_out(stream, frame)

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
        with contextlib.suppress(BlockingIOError, *_CLOSED):
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
        try:
            while self._stdin_left:
                self._stdin_left = self._stdin_left[self._stream.send(self._stdin_left) :]
        except BlockingIOError:
            return
        except _CLOSED:
            self._stdin_left = memoryview(b"")

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

    # --- the end -----------------------------------------------------------------------------------------------------

    def _finish(self, anchor: Anchor, selector: selectors.DefaultSelector) -> Verdict:
        ended = time.monotonic()
        ours = self._cause is not Cause.EXITED
        gone = is_dying(anchor.init)
        # Read while the container is there: Docker removes the group with it.
        counters = self._final_counters(gone=gone)
        anchor.kill()
        anchor.wait(GRACE_SECONDS)
        self._drain(selector)
        if gone and not ours and not counters.oom_kills:
            raise SandboxGone("the container disappeared")
        status = _KILLED if ours or gone else self._container.exit_status()
        return self._conclude(anchor, status=status, counters=counters, ended=ended)

    def _final_counters(self, *, gone: bool) -> Counters:
        try:
            return self._container.counters()
        except (SandboxGone, OSError):
            if not gone:
                raise
        # The holder itself is gone, and the group with it: the engine has noted whether memory was the reason.
        if self._container.says_out_of_memory():
            return replace(self._noted, oom_kills=max(1, self._noted.oom_kills))
        return self._noted

    def _note_counters(self) -> None:
        with contextlib.suppress(SandboxGone, OSError):  # it died by itself just now
            self._noted = self._container.counters()

    def _drain(self, selector: selectors.DefaultSelector) -> None:
        """Read what the engine still has of the program's output; all writers are dead."""
        end = time.monotonic() + GRACE_SECONDS
        while self._stream is not None and time.monotonic() < end and self._cause is not Cause.OUTPUT_LIMIT:
            if self._outgoing and self._cause is not Cause.EXITED:
                break  # the caller does not read, and has not been promised more
            try:
                self._turn(selector, at_most=0.05)
            except OSError:
                self._container.hang_up()
        self._container.hang_up()
        if (out := self._inner.pop("stdout", None)) is not None:
            os.close(out)

    def _clear_away(self) -> None:
        self._anchor = self._container.anchor  # also where nothing was launched: what is open is closed with the run
        self._container.end()
