"""Removes the temporary files of processes that were killed: uploads half received, bundles half read."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

import structlog
from django.conf import settings

from gauntlet.one_by_one import one_by_one

log = structlog.get_logger(__name__)


def sweep_temporary_files(*, older_than: timedelta | None = None) -> int:
    """Remove what nobody has written to for that long, `ARTIFACT_SECONDS` unless said; return how many.

    Only what Python's `tempfile` named: folders of checks and of uploads in parts lie beside it, and have their own.
    """
    kept_for = timedelta(seconds=settings.ARTIFACT_SECONDS) if older_than is None else older_than
    before = time.time() - kept_for.total_seconds()
    left = Path(settings.FILE_UPLOAD_TEMP_DIR).glob(f"{tempfile.gettempprefix()}*")
    removed = one_by_one(left, partial(_remove, before=before))
    if removed:
        log.info("temporary_files.swept", removed=removed)
    return removed


def _remove(path: Path, before: float) -> int:
    with suppress(FileNotFoundError):  # its process was slow, and not dead
        if path.lstat().st_mtime < before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            return 1
    return 0
