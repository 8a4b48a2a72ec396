"""Folders in which bundles are unpacked while they are checked; one whose process died is removed by the next."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.conf import settings

_PREFIX: Final = "check-"
# Whose it is, and what `tempfile` adds. The host last and whole: one host's name may begin as another's does.
_NAME: Final = re.compile(_PREFIX + r"(\d+)-(\d+)-(.+)-[a-z0-9_]+")


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder of this process's own; removed at the end, or by :func:`remove_left_behind` if the process dies."""
    from gauntlet_runtime.sandbox.processes import this_process

    prefix = f"{_PREFIX}{this_process().replace(':', '-', 2)}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=settings.FILE_UPLOAD_TEMP_DIR) as name:
        yield Path(name)


def remove_left_behind() -> int:
    """Remove the folders of this host's processes that died; return how many.

    Other hosts may share what they lie in: theirs stay.
    """
    from gauntlet_runtime.sandbox.processes import is_alive

    removed = 0
    for folder in Path(settings.FILE_UPLOAD_TEMP_DIR).glob(f"{_PREFIX}*"):
        named = _NAME.fullmatch(folder.name)
        if named is not None and not is_alive(":".join(named.groups())):
            shutil.rmtree(folder, ignore_errors=True)  # another sweeper may be at it
            removed += 1
    return removed
