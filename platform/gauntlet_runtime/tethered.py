"""Runs a program that ends when the process that started it does, also by SIGKILL.

    python -m gauntlet_runtime.tethered PARENT PROGRAM [ARGUMENT ...]

The kernel sends SIGTERM to it when the thread that started it ends: start it from a thread that lasts.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


def end_with_parent(number: signal.Signals, *, parent: int) -> None:
    """Let the kernel send a signal to this process when its parent ends. It outlives exec, and children do not get it.

    Args:
        parent: the parent's process id, as it was before: one that is dead by now is noticed too
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def tethered(command: list[str]) -> list[str]:
    """The command that runs ``command`` tethered to this process."""
    return [sys.executable, "-P", "-m", "gauntlet_runtime.tethered", str(os.getpid()), *command]


if __name__ == "__main__":
    end_with_parent(signal.SIGTERM, parent=int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - no shell is wanted
