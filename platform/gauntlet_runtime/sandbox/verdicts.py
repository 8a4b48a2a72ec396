"""How a verdict is read off what the kernel says; the same for both backends."""

from __future__ import annotations

import os
import signal

from gauntlet_runtime.sandbox.interface import Cause

SIGNAL_BASE = 128


def exit_and_signal(status: int) -> tuple[int | None, int | None]:
    """Exit code and signal, of which one is None.

    Both bubblewrap and Docker report the signal N that ended a program as status 128 + N, as shells do. A program that
    exits with such a number by itself reads as ended by that signal; what it cannot do is to fake a counter.
    """
    if status > SIGNAL_BASE and status - SIGNAL_BASE in set(signal.valid_signals()):
        return None, status - SIGNAL_BASE
    return status, None


def cause_of(ours: Cause, oom_kills: int) -> Cause:
    """The cause, given why we ended the program (EXITED: we did not) and how often the kernel killed for memory.

    A cancelled run is that and nothing else. Before a limit of ours stands the kernel's: a program whose child was
    killed for memory and which then waited for ever ran out of memory.
    """
    if ours is not Cause.CANCELLED and oom_kills > 0:
        return Cause.MEMORY_LIMIT
    return ours


def is_full(folder: int) -> bool:
    """Whether the file system of an open folder has no block or no entry left."""
    status = os.fstatvfs(folder)
    return (status.f_blocks > 0 and status.f_bfree == 0) or (status.f_files > 0 and status.f_ffree == 0)
