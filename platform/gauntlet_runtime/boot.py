"""Which start of the machine this is: what was written before it may never have reached the disk.

Caches of a host are renamed into their places whole, which holds for killed processes. When the machine itself goes
down, a renamed folder may come back with files that are empty. To sync each would cost every submission the time of a
disk; so what is kept is named by the start of the machine too, and made anew after the next.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@functools.cache
def this_boot() -> str:
    """A short name of this start of the machine; no other has it."""
    return _BOOT_ID.read_text(encoding="ascii").strip().replace("-", "")[:12]
