"""Uploads in parts: a large file survives a broken connection. What the tus 1.0 protocol asks for, without its words.

The parts are appended to a file in the folder of uploads, which the web servers of an installation share. Its size is
how much has come; nothing else counts it, so nothing can be wrong about it after a crash.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.submissions.errors import (
    TooManyUploads,
    UploadBusy,
    UploadNotFound,
    UploadOffsetWrong,
    UploadPartDamaged,
    UploadTooLarge,
    UploadUnusable,
)
from gauntlet.submissions.models import Upload

CHUNK: Final = 1 << 20  # bytes held in memory, whatever the size of a part
CHECKSUMS: Final = ("sha256", "sha1", "md5")


class Source(Protocol):
    """Where a part's bytes come from."""

    def read(self, size: int, /) -> bytes:
        """Read on."""


def begin(*, owner: User, length: int, file_name: str = "") -> Upload:
    """Begin an upload of ``length`` bytes.

    Holds the owner's row while it counts the owner's open ones.

    Raises:
        UploadTooLarge, UploadUnusable, TooManyUploads
    """
    most = max(settings.MAX_IMAGE_BYTES, settings.MAX_BUNDLE_BYTES)
    if length > most:
        raise UploadTooLarge(f"The file has {length:,} bytes; at most {most:,} are taken. Make the image smaller.")
    if length <= 0:
        raise UploadUnusable("The file is empty.")
    now = timezone.now()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        mine = Upload.objects.filter(owner=owner, expires_at__gt=now)
        if mine.count() >= settings.MAX_OPEN_UPLOADS:
            first = mine.earliest("expires_at")
            raise TooManyUploads(
                f"You have {settings.MAX_OPEN_UPLOADS} uploads that were not submitted. Go on with one of them, or "
                "delete one.",
                retry_after=(first.expires_at - now).total_seconds(),
            )
        expires_at = now + timedelta(hours=settings.UPLOAD_HOURS)
        name = "".join(c if c.isprintable() else " " for c in file_name)[-255:]
        upload = Upload.objects.create(owner=owner, length=length, file_name=name, expires_at=expires_at)
    _folder().mkdir(mode=0o700, exist_ok=True)
    path_of(upload).touch(mode=0o600)
    return upload


def find(*, owner: User, upload_id: UUID) -> Upload:
    """One's own upload.

    Raises:
        UploadNotFound: also where it is somebody else's, or has expired.
    """
    upload = Upload.objects.filter(pk=upload_id, owner=owner, expires_at__gt=timezone.now()).first()
    if upload is None or not path_of(upload).exists():
        raise UploadNotFound("There is no such upload (any more). Begin a new one.")
    return upload


def offset_of(upload: Upload) -> int:
    """How many bytes have come."""
    try:
        return path_of(upload).stat().st_size
    except FileNotFoundError as error:
        raise UploadNotFound("There is no such upload (any more). Begin a new one.") from error


def append(upload: Upload, part: Source, *, offset: int, checksum: tuple[str, bytes] | None = None) -> int:
    """Append a part; return how many bytes have come with it.

    What of a part arrives before its connection breaks stays. Each part gives the upload its whole time again.

    Args:
        offset: where the part begins.
        checksum: one of ``CHECKSUMS`` and the digest; a part of another digest is taken back.

    Raises:
        UploadNotFound, UploadBusy
        UploadOffsetWrong: the part does not begin where the upload ends.
        UploadTooLarge: the part goes beyond the upload's length, and is taken back.
        UploadPartDamaged
    """
    digest = hashlib.new(checksum[0], usedforsecurity=False) if checksum else None
    with _opened(upload) as file:
        there = os.fstat(file).st_size
        if offset != there:
            raise UploadOffsetWrong(
                f"The upload has {there:,} bytes; the part begins at {offset:,}. Send on from there."
            )
        os.lseek(file, 0, os.SEEK_END)
        while chunk := part.read(CHUNK):
            if there + len(chunk) > upload.length:
                os.ftruncate(file, offset)
                raise UploadTooLarge(f"The upload was begun for {upload.length:,} bytes, and this is more.")
            if digest is not None:
                digest.update(chunk)
            left = memoryview(chunk)
            while left:
                left = left[os.write(file, left) :]
            there += len(chunk)
        if checksum and digest is not None and digest.digest() != checksum[1]:
            os.ftruncate(file, offset)
            raise UploadPartDamaged("The part is not what its checksum says. Send it again.")
        os.fsync(file)
    Upload.objects.filter(pk=upload.pk).update(expires_at=timezone.now() + timedelta(hours=settings.UPLOAD_HOURS))
    return there


def end(upload: Upload) -> None:
    """Forget an upload: it was submitted, or is not wanted any more. Idempotent."""
    Upload.objects.filter(pk=upload.pk).delete()
    path_of(upload).unlink(missing_ok=True)


def sweep_uploads() -> int:
    """Remove uploads that have expired, and files of which no upload is left; return how many."""
    removed = 0
    for upload in Upload.objects.filter(expires_at__lte=timezone.now()):
        end(upload)
        removed += 1
    known = {str(one) for one in Upload.objects.values_list("pk", flat=True)}
    newest = timezone.now().timestamp() - timedelta(hours=1).total_seconds()
    for path in _folder().glob("*-*"):  # a file whose row went with its owner, or whose process died between the two
        if path.name not in known and path.stat().st_mtime < newest:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


class CompleteUpload:
    """An upload that is whole, as `services.receive` takes it. Use it as a context manager."""

    def __init__(self, upload: Upload) -> None:
        there = offset_of(upload)
        if there != upload.length:
            message = f"The upload has {there:,} of its {upload.length:,} bytes. Send the rest first."
            raise UploadUnusable(message)
        self.size = there
        self.name = upload.file_name
        self._file = path_of(upload).open("rb")

    def seek(self, offset: int, /) -> int:
        """Go to a place in it."""
        return self._file.seek(offset)

    def read(self, size: int = -1, /) -> bytes:
        """Read on."""
        return self._file.read(size)

    def __enter__(self) -> CompleteUpload:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def path_of(upload: Upload) -> Path:
    """The file that the parts are appended to."""
    return _folder() / str(upload.pk)


def _folder() -> Path:
    return Path(settings.FILE_UPLOAD_TEMP_DIR) / "in-parts"


@contextmanager
def _opened(upload: Upload) -> Iterator[int]:
    """The file, for one writer at a time."""
    try:
        file = os.open(path_of(upload), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UploadNotFound("There is no such upload (any more). Begin a new one.") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file
    except BlockingIOError as error:
        raise UploadBusy("Another part of this upload is just being written. Ask again how much has come.") from error
    finally:
        os.close(file)
