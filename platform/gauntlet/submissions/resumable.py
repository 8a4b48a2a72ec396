"""Uploads in parts: a large file survives a broken connection. What the tus 1.0 protocol asks for, without its words.

Where the parts are is the matter of `parts`. An upload that was submitted stays known for a while, with the submission
that it became: whoever did not hear the answer asks again and gets the same one.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.one_by_one import one_by_one
from gauntlet.submissions.errors import NoRoom, TooManyUploads, UploadNotFound, UploadTooLarge, UploadUnusable
from gauntlet.submissions.models import Submission, Upload
from gauntlet.submissions.parts import CHECKSUMS, Checksum, Source, parts, room_or_refusal

__all__ = [
    "CHECKSUMS",
    "CompleteUpload",
    "append",
    "become",
    "begin",
    "end",
    "find",
    "offset_of",
    "remove_parts",
    "sweep_uploads",
]


def begin(*, owner: User, length: int, file_name: str = "") -> Upload:
    """Begin an upload of ``length`` bytes.

    Holds the owner's row while it counts the owner's open ones.

    Raises:
        UploadTooLarge, UploadUnusable, TooManyUploads, NoRoom
    """
    most = max(settings.MAX_IMAGE_BYTES, settings.MAX_BUNDLE_BYTES)
    if length > most:
        raise UploadTooLarge(f"The file has {length:,} bytes; at most {most:,} are taken. Make the image smaller.")
    if length <= 0:
        raise UploadUnusable("The file is empty.")
    if shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free < settings.MIN_FREE_BYTES + 2 * length:
        raise NoRoom.now()  # for what is sent, and once more for what is stored of it
    now = timezone.now()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        mine = Upload.objects.filter(owner=owner, expires_at__gt=now, submission=None)
        # None is first where they are submitted or deleted in this moment.
        if mine.count() >= settings.MAX_OPEN_UPLOADS and (first := mine.order_by("expires_at").first()):
            raise TooManyUploads(
                f"You have {settings.MAX_OPEN_UPLOADS} uploads that were not submitted. Go on with one of them, or "
                "delete one.",
                retry_after=(first.expires_at - now).total_seconds(),
            )
        name = "".join(c if c.isprintable() else " " for c in file_name)[-255:]
        upload = Upload.objects.create(owner=owner, length=length, file_name=name, expires_at=_expiry())
    parts().begin(upload)
    return upload


def find(*, owner: User, upload_id: UUID) -> Upload:
    """One's own upload.

    Raises:
        UploadNotFound: also where it is somebody else's, or has expired.
    """
    found = Upload.objects.filter(pk=upload_id, owner=owner, expires_at__gt=timezone.now())
    upload = found.select_related("submission").first()
    if upload is None:
        raise UploadNotFound.any_more()
    return upload


def offset_of(upload: Upload) -> int:
    """How many bytes have come; of one that was submitted, all.

    Raises:
        UploadNotFound: its file is not there.
    """
    if upload.submission_id:
        return upload.length
    try:
        return parts().size_of(upload)
    except UploadNotFound:
        if Upload.objects.filter(pk=upload.pk, submission__isnull=False).exists():  # since it was read
            return upload.length
        raise


def append(upload: Upload, part: Source, *, offset: int, checksum: Checksum | None = None) -> int:
    """Append a part; return how many bytes have come with it.

    What of a part arrives before its connection breaks stays. The upload's time begins anew when a part starts to
    arrive and again when it ends, also where its connection broke.

    Args:
        offset: where the part begins.
        checksum: one of ``CHECKSUMS`` and the digest; a part of another digest is taken back.

    Raises:
        UploadNotFound: also where it is deleted while the part comes.
        UploadBusy
        UploadOffsetWrong: the part does not begin where the upload ends.
        UploadTooLarge: the part goes beyond the upload's length, and is taken back.
        UploadPartDamaged, NoRoom
    """
    if upload.submission_id:
        raise UploadNotFound("This upload was submitted, and nothing can be added to it. Begin a new one.")
    _prolong(upload)
    try:
        with room_or_refusal():
            return parts().append(upload, part, offset=offset, checksum=checksum)
    finally:
        _prolong(upload)


def become(upload: Upload, submission: Submission) -> None:
    """Note which submission an upload became; the caller holds its row."""
    Upload.objects.filter(pk=upload.pk).update(submission=submission, expires_at=_expiry())


def remove_parts(upload: Upload) -> None:
    """Remove what came of an upload that was submitted; its row stays for who asks again."""
    parts().remove(upload)


def end(upload: Upload) -> None:
    """Forget an upload that is not wanted any more. Idempotent."""
    Upload.objects.filter(pk=upload.pk).delete()
    parts().remove(upload)


def sweep_uploads() -> int:
    """Remove uploads that have expired, and parts of which no upload is left; return how many."""
    return one_by_one(_expired(), _remove_expired) + parts().sweep(
        lambda: {str(one) for one in Upload.objects.values_list("pk", flat=True)}
    )


def _expired() -> QuerySet[Upload]:
    return Upload.objects.filter(expires_at__lte=Now())  # a worker sweeps, whose own clock may be far off


def _remove_expired(upload: Upload) -> int:
    # Looked at again: a part that came meanwhile has given it its whole time.
    if not _expired().filter(pk=upload.pk).delete()[0]:
        return 0
    parts().remove(upload)
    return 1


def _prolong(upload: Upload) -> None:
    """Give an upload its whole time again, unless somebody holds its row, who does so too, or removes it.

    Raises:
        UploadNotFound: it is not there any more.
    """
    row = Upload.objects.filter(pk=upload.pk)
    with transaction.atomic():
        if row.select_for_update(skip_locked=True):
            upload.expires_at = _expiry()
            row.update(expires_at=upload.expires_at)
        elif not row.exists():
            raise UploadNotFound.any_more()


def _expiry() -> datetime:
    return timezone.now() + timedelta(hours=settings.UPLOAD_HOURS)


class CompleteUpload:
    """An upload that is whole, as `services.receive` takes it. Use it as a context manager.

    It has its whole time again, so that it is not swept while it is read.

    Raises:
        UploadNotFound, UploadUnusable
    """

    def __init__(self, upload: Upload) -> None:
        _prolong(upload)
        there = offset_of(upload)
        if there != upload.length:
            message = f"The upload has {there:,} of its {upload.length:,} bytes. Send the rest first."
            raise UploadUnusable(message)
        self.size = there
        self.name = upload.file_name
        self._file = parts().open(upload)

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
