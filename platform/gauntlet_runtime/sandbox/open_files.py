"""How many files a program may have open: all programs of a host share one number of them (fs.file-max)."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final

_SOFT: Final = 1024  # what programs begin with: some close every number below it, or use select()
_MOST: Final = 65_536
_SHARE: Final = 4  # of the host's number, a fourth is for all processes of one sandbox
_FILE_MAX: Final = Path("/proc/sys/fs/file-max")


def open_files(processes: int, *, file_max: Path = _FILE_MAX) -> tuple[int, int]:
    """The soft and the hard limit of each of a sandbox's processes.

    An open file takes a quarter of a KiB of the memory limit, and the kernel lets a host have one for each 10 KiB that
    it has: a sandbox's memory alone would allow more of them than there are. Where systemd runs the number is endless.
    """
    of_the_host = int(file_max.read_text(encoding="ascii"))
    most = max(_SOFT, min(_MOST, of_the_host // _SHARE // processes))
    _, ours = resource.getrlimit(resource.RLIMIT_NOFILE)
    if ours != resource.RLIM_INFINITY:  # whoever starts the sandbox may have no right to more
        most = min(most, ours)
    return min(_SOFT, most), most
