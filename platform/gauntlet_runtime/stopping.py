"""Whether the processes of a worker are to end, and since when.

The signal reaches the worker's main process; its children, which do the jobs, read of it in memory that they share.
"""

from __future__ import annotations

import mmap
import struct
import time
from typing import Final

# Of the system, so that all processes read the same: when it was asked, on the monotonic clock; 0 where it was not.
_ASKED: Final = mmap.mmap(-1, struct.calcsize("d"))


def ask_to_stop() -> None:
    """Let every child finish the job at hand or hand it back; again changes nothing. Safe in a signal's handler."""
    if asked_at() is None:
        struct.pack_into("d", _ASKED, 0, time.monotonic())


def asked_at() -> float | None:
    """When it was asked (monotonic), or None."""
    (asked,) = struct.unpack_from("d", _ASKED, 0)
    return float(asked) or None


def stop_by(seconds: float) -> float | None:
    """None, or the time (monotonic) by which a child is to have no job any more that may work so long after it."""
    asked = asked_at()
    return None if asked is None else asked + seconds
