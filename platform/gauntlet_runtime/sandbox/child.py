"""A child process whose descriptors have the numbers that we choose.

`subprocess` passes descriptors on under the numbers that they happen to have; a POSIX shell can name those up to 9.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Mapping, Sequence
from typing import BinaryIO, cast

_OUT_OF_THE_WAY = 100  # above every number that is asked for
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class Child:
    """A started process. ``streams`` are our ends of the pipes to it."""

    def __init__(self, pid: int, streams: Mapping[int, BinaryIO]) -> None:
        self.pid = pid
        self.stdin = streams.get(0)
        self.stdout = streams.get(1)
        self.stderr = streams.get(2)
        self._status: int | None = None

    def poll(self) -> int | None:
        """The exit code, or minus the signal, once it has ended."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Block until it has ended."""
        status = self._reap(0)
        assert status is not None  # noqa: S101  without WNOHANG there is always one
        return status

    def _reap(self, options: int) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def kill(self) -> None:
        """SIGKILL, unless it was reaped already."""
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close_streams(self) -> None:
        """Close our ends of its pipes."""
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def spawn(program: str, arguments: Sequence[str], *, given: Mapping[int, int], pipes: Sequence[int]) -> Child:
    """Start a program with an empty environment and no descriptor but those that are named here.

    ``given`` maps its descriptors to ours; for each of ``pipes`` (0, 1, 2) it gets a pipe, whose other end is in the
    result.
    """
    streams: dict[int, BinaryIO] = {}
    with contextlib.ExitStack() as stack:
        wanted = dict(given)
        for number in pipes:
            read, write = os.pipe2(os.O_CLOEXEC)
            theirs, ours = (read, write) if number == 0 else (write, read)
            stack.callback(os.close, theirs)
            wanted[number] = theirs
            streams[number] = cast(BinaryIO, os.fdopen(ours, "wb" if number == 0 else "rb", buffering=0))
        # First away from the numbers that are to be given out, or one could be overwritten before it is copied.
        away = {number: fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for number, ours in wanted.items()}
        for descriptor in away.values():
            stack.callback(os.close, descriptor)
        try:
            pid = os.posix_spawn(
                program,
                [program, *arguments],
                {},
                file_actions=[
                    *((os.POSIX_SPAWN_CLOSE, number) for number in _inheritable() if number not in away),
                    *((os.POSIX_SPAWN_DUP2, ours, number) for number, ours in away.items()),
                ],
                setpgroup=0,  # a Ctrl-C in the terminal is for the worker, which ends what it began in order
                setsigmask=[],
                setsigdef=_SIGNALS,  # Python ignores some, and whoever started it (nohup, a pool) others
            )
        except OSError:
            for stream in streams.values():
                stream.close()
            raise
    return Child(pid, streams)


def _inheritable() -> list[int]:
    """What a child would get by default: not ours, which Python keeps to itself, but what we were started with."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the folder's own descriptor, and what another thread has closed
            if os.get_inheritable(int(name)):
                found.append(int(name))
    return found
