"""Parts on a file system: appended to one file, whose size is how much has come.

Nothing else counts it, so nothing can be wrong about it after a crash.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from django.conf import settings

from gauntlet.one_by_one import one_by_one
from gauntlet.submissions.errors import (
    UploadBusy,
    UploadNotFound,
    UploadOffsetWrong,
    UploadPartDamaged,
    UploadTooLarge,
)
from gauntlet.submissions.models import Upload
from gauntlet.submissions.parts import Checksum, Source, take

_STRAY_SECONDS: Final = 3600.0  # how old a file is of which no upload is known before it is removed


class PartFiles:
    """A file for each upload, in the folder of uploads."""

    def begin(self, upload: Upload) -> None:
        """Make an empty file."""
        _folder().mkdir(mode=0o700, exist_ok=True)
        path_of(upload).touch(mode=0o600)

    def size_of(self, upload: Upload) -> int:
        """The file's size."""
        try:
            return path_of(upload).stat().st_size
        except FileNotFoundError as error:
            raise UploadNotFound.any_more() from error

    def append(self, upload: Upload, part: Source, *, offset: int, checksum: Checksum | None) -> int:
        """Write the part at the file's end, as the only writer."""
        with _opened(upload) as file:
            there = os.fstat(file.fileno()).st_size
            if offset != there:
                raise UploadOffsetWrong.of(there, offset)
            file.seek(0, os.SEEK_END)
            try:
                there += take(part, file.write, length=upload.length, offset=offset, checksum=checksum)
            except (UploadTooLarge, UploadPartDamaged):
                file.truncate(offset)
                raise
            file.flush()
            os.fsync(file.fileno())
        return there

    def open(self, upload: Upload) -> BinaryIO:
        """The file."""
        return path_of(upload).open("rb")

    def remove(self, upload: Upload) -> None:
        """Remove the file."""
        path_of(upload).unlink(missing_ok=True)

    def sweep(self, known: Callable[[], Collection[str]]) -> int:
        """Remove files whose row went with its owner, or whose process died between the two."""
        found = [path for path in _folder().glob("*-*") if _is_old(path)]
        ids = known() if found else ()
        return one_by_one([path for path in found if path.name not in ids], _remove)


def path_of(upload: Upload) -> Path:
    """The file that the parts are appended to."""
    return _folder() / str(upload.pk)


def _remove(path: Path) -> bool:
    path.unlink(missing_ok=True)
    return True


def _is_old(path: Path) -> bool:
    try:
        return path.stat().st_mtime < time.time() - _STRAY_SECONDS
    except FileNotFoundError:  # just submitted
        return False


def _folder() -> Path:
    return Path(settings.FILE_UPLOAD_TEMP_DIR) / "in-parts"


@contextmanager
def _opened(upload: Upload) -> Iterator[BinaryIO]:
    """The file, for one writer at a time."""
    try:
        file = path_of(upload).open("r+b")
    except FileNotFoundError as error:
        raise UploadNotFound.any_more() from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UploadBusy.now() from error
        yield file
