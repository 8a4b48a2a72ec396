"""Parts on any other storage: each is an object of its own, and a row says where in the upload it belongs.

A part is received into a file of this server's first, so that a slow sender holds nothing, and then kept under the lock
of the upload's row. Its row is committed after the object is there: what a row names can be read by every server. An
object without a row is a part whose server died; it goes with its upload.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Collection
from typing import IO, Any, Final

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Count, Sum

from gauntlet.one_by_one import one_by_one
from gauntlet.submissions.errors import TooManyParts, UploadBusy, UploadNotFound, UploadOffsetWrong
from gauntlet.submissions.models import Upload, UploadPart
from gauntlet.submissions.parts import Checksum, Source, Whole, take

_FOLDER: Final = "in-parts"
_MOST_PARTS: Final = 10_000  # as S3's own uploads have
_ENOUGH: Final = 8 << 20  # bytes of a part with which they suffice for the largest upload there is


class PartObjects:
    """An object for each part."""

    def begin(self, upload: Upload) -> None:
        """Nothing: the upload's row says that it has begun."""

    def size_of(self, upload: Upload) -> int:
        """The sum of its parts."""
        return _counted(upload)[0]

    def append(self, upload: Upload, part: Source, *, offset: int, checksum: Checksum | None) -> int:
        """Receive the part, then keep it where it still belongs."""
        _check(upload, offset)  # early: what does not belong there need not be received
        with tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as draft:
            try:
                size = take(part, draft.write, length=upload.length, offset=offset, checksum=checksum)
            except OSError:  # the connection broke: what came of the part is kept, and the rest sent again
                if size := draft.tell():
                    _keep(upload, draft, offset=offset, size=size)
                raise
            if size:
                _keep(upload, draft, offset=offset, size=size)
        return offset + size

    def open(self, upload: Upload) -> Whole:
        """The parts in a row."""
        return _Joined(list(upload.parts.order_by("offset")))

    def remove(self, upload: Upload) -> None:
        """Remove the objects, also those that have no row."""
        _remove(str(upload.pk))

    def sweep(self, known: Callable[[], Collection[str]]) -> int:
        """Remove the objects of uploads whose row is gone."""
        try:
            found, _ = default_storage.listdir(_FOLDER)
        except FileNotFoundError:
            return 0
        ids = known() if found else ()
        return one_by_one([name for name in found if name not in ids], _remove)


def _counted(upload: Upload) -> tuple[int, int]:
    """How many bytes have come, in how many parts."""
    row = UploadPart.objects.filter(upload=upload).aggregate(there=Sum("size", default=0), parts=Count("pk"))
    return row["there"], row["parts"]


def _check(upload: Upload, offset: int) -> None:
    there, count = _counted(upload)
    if offset != there:
        raise UploadOffsetWrong.of(there, offset)
    if count >= _MOST_PARTS:
        message = f"The upload came in {count:,} parts, and more are not taken. "
        raise TooManyParts(f"{message}Begin a new one, with parts of {_ENOUGH:,} bytes or more.")


def _keep(upload: Upload, draft: IO[bytes], *, offset: int, size: int) -> None:
    """Keep a part that was received, unless another of the same place was."""
    draft.seek(0)
    with transaction.atomic():
        row = Upload.objects.filter(pk=upload.pk)
        if not row.select_for_update(skip_locked=True):
            raise UploadBusy.now() if row.exists() else UploadNotFound.any_more()
        _check(upload, offset)
        wanted = f"{_FOLDER}/{upload.pk}/{offset:020}-{secrets.token_hex(4)}"
        name = default_storage.save(wanted, File(draft))
        UploadPart.objects.create(upload=upload, offset=offset, size=size, name=name)


def _remove(upload: str) -> bool:
    """Whether there was anything to remove."""
    try:
        _, names = default_storage.listdir(f"{_FOLDER}/{upload}")
    except FileNotFoundError:
        return False
    for name in names:
        default_storage.delete(f"{_FOLDER}/{upload}/{name}")
    return bool(names)


class _Joined:
    """Parts that are read as one file; of them one is open at a time."""

    def __init__(self, parts: list[UploadPart]) -> None:
        self._parts = parts
        self._at = 0
        self._open: tuple[UploadPart, Any] | None = None

    def seek(self, offset: int, /) -> int:
        """Go to a place in it."""
        self._at = offset
        return offset

    def read(self, size: int = -1, /) -> bytes:
        """Read on."""
        read = bytearray()
        while (size < 0 or len(read) < size) and (found := self._part_here()) is not None:
            part, file = found
            file.seek(self._at - part.offset)
            chunk = file.read(size - len(read) if size >= 0 else -1)
            if not chunk:
                raise EOFError(f"{part.name} is shorter than the {part.size} bytes that were kept.")
            read += chunk
            self._at += len(chunk)
        return bytes(read)

    def close(self) -> None:
        """Close the part that is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _part_here(self) -> tuple[UploadPart, Any] | None:
        """The part in which the place is, and its file; None at the end."""
        if self._open is None or not self._open[0].offset <= self._at < self._open[0].offset + self._open[0].size:
            self.close()
            part = next((one for one in self._parts if one.offset <= self._at < one.offset + one.size), None)
            if part is None:
                return None
            self._open = part, default_storage.open(part.name, "rb")
        return self._open
