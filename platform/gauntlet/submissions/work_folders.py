"""Folders in which bundles are unpacked while they are checked; one whose process died is removed by the next."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings

_PREFIX: Final = "check-"


def _prefix_of_host() -> str:
    # The folder may be shared by hosts, and a process id means something on its own host only.
    return f"{_PREFIX}{socket.gethostname()}-"


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder of this process's own; removed at the end, or by :func:`remove_left_behind` if the process dies."""
    from gauntlet_runtime.sandbox.processes import this_process

    prefix = f"{_prefix_of_host()}{this_process().replace(':', '-')}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=settings.FILE_UPLOAD_TEMP_DIR) as name:
        yield Path(name)


def remove_left_behind() -> int:
    """Remove the folders of this host's processes that died; return how many."""
    from gauntlet_runtime.sandbox.processes import is_alive

    removed = 0
    for folder in Path(settings.FILE_UPLOAD_TEMP_DIR).glob(f"{_prefix_of_host()}*"):
        pid, started, _ = folder.name.removeprefix(_prefix_of_host()).split("-", 2)
        if not is_alive(f"{pid}:{started}"):
            shutil.rmtree(folder, ignore_errors=True)  # another sweeper may be at it
            removed += 1
    return removed
