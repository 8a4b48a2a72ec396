"""Whether the worker that this process belongs to is to end, and by when.

The signal reaches the worker's main process; its children, which do the jobs, read of it in memory that they share.
"""

from __future__ import annotations

import mmap
import struct
import time
from typing import Final

from django.conf import settings

# Of the system, so that all processes read the same: when it was asked, on the monotonic clock; 0 where it was not.
_ASKED: Final = mmap.mmap(-1, struct.calcsize("d"))


def ask_to_stop() -> None:
    """Let every child finish the job at hand or hand it back; again changes nothing. Safe in a signal's handler."""
    if not _asked_at():
        struct.pack_into("d", _ASKED, 0, time.monotonic())


def stop_by() -> float | None:
    """None, or the time (monotonic) by which a child is to have no job any more."""
    asked = _asked_at()
    return asked + settings.STOP_SECONDS if asked else None


def _asked_at() -> float:
    (asked,) = struct.unpack_from("d", _ASKED, 0)
    return float(asked)
