"""Writes and reads of artifacts: content-addressed, idempotent, never half there.

On a file system a file is written under another name and linked to its own, so that an object is there wholly or not
at all. On any other storage Django's storage interface is used, whose uploads are atomic (S3).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Final, cast

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, Storage, default_storage
from django.db import transaction
from django.db.models.functions import Now

from gauntlet.storage.folders import write_zip
from gauntlet.storage.locks import lock_for_storing
from gauntlet.storage.models import Artifact, Form

CHUNK: Final = 1 << 20  # bytes held in memory, whatever the size of the file


def store(source: BinaryIO | Path, *, form: Form) -> Artifact:
    """Keep the bytes of ``source`` (read from where it stands) and return their artifact.

    Storing the same bytes again returns the same artifact, also when two processes do it at once. An artifact that was
    stored as a plain file and comes again as a zip becomes a zip.
    """
    if isinstance(source, Path):
        with source.open("rb") as opened:
            return store(opened, form=form)
    folder = _local_folder()
    with _draft(folder) as draft:
        digest, size = _copy_and_hash(source, draft)
        artifact = Artifact(digest=f"sha256:{digest}", size=size, form=form)
        with transaction.atomic():
            lock_for_storing(artifact.digest)
            if folder is not None:
                _link_into_place(draft, folder / artifact.path, size=size)
            else:
                _upload(draft, artifact)
            return _row_of(artifact)


def _row_of(artifact: Artifact) -> Artifact:
    """The artifact's row; that it was stored just now keeps the sweeper away until a row uses it."""
    row, created = Artifact.objects.get_or_create(
        digest=artifact.digest, defaults={"size": artifact.size, "form": artifact.form}
    )
    if created:
        return row
    Artifact.objects.filter(pk=row.pk).update(stored_at=Now())
    return as_zip(row) if artifact.form == Form.ZIP else row


def store_folder(folder: Path) -> Artifact:
    """Keep a folder as a zip whose digest depends on names, contents and execute bits only.

    Raises:
        FolderRefused: it holds links, devices or the like.
    """
    with tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as draft:
        write_zip(folder, cast(BinaryIO, draft))
        draft.seek(0)
        return store(cast(BinaryIO, draft), form=Form.ZIP)


def as_zip(artifact: Artifact) -> Artifact:
    """Let a file that was stored stand for the folder in it. It has to be a zip that was checked."""
    if artifact.form != Form.ZIP:
        Artifact.objects.filter(pk=artifact.pk).update(form=Form.ZIP)
        artifact.form = Form.ZIP
    return artifact


def open_artifact(artifact: Artifact) -> BinaryIO:
    """Open an artifact for reading; seekable. The caller closes it."""
    return cast(BinaryIO, default_storage.open(artifact.path, "rb"))


def copy_to(artifact: Artifact, target: Path) -> None:
    """Put an artifact's bytes into the new file ``target``, wholly or not at all.

    On one file system it is a hard link: treat ``target`` as read-only.
    """
    folder = _local_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            os.link(folder / artifact.path, target)
            return
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open_artifact(artifact) as source, draft.open("xb") as out:
            shutil.copyfileobj(source, out, CHUNK)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def is_file_system() -> bool:
    """Whether artifacts are files of this machine's, or of a folder that machines share."""
    return _local_folder() is not None


def _local_folder() -> Path | None:
    """The storage's folder, where the storage is a file system."""
    return Path(default_storage.location) if isinstance(default_storage, FileSystemStorage) else None


@contextlib.contextmanager
def _draft(folder: Path | None) -> Iterator[IO[bytes]]:
    """A file to write to: on the storage's own file system where it has one, so that it can be linked."""
    place = Path(settings.FILE_UPLOAD_TEMP_DIR) if folder is None else folder / "incoming"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place) as draft:
        yield draft


def _copy_and_hash(source: BinaryIO, draft: IO[bytes]) -> tuple[str, int]:
    """Copy to the draft; return SHA-256 and size."""
    digest = hashlib.sha256()
    size = 0
    while chunk := source.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
        draft.write(chunk)
    draft.flush()
    return digest.hexdigest(), size


def _link_into_place(draft: IO[bytes], target: Path, *, size: int) -> None:
    """Give the draft its final name, unless a whole file already bears it."""
    with contextlib.suppress(FileNotFoundError):
        if target.stat().st_size == size:
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    os.fsync(draft.fileno())
    os.fchmod(draft.fileno(), 0o444)
    name = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    os.link(draft.name, name)
    # Replaces a file of another size, which only a failing disk can have left; equal content otherwise.
    name.replace(target)


def _upload(draft: IO[bytes], artifact: Artifact) -> None:
    """Save through Django's storage interface, unless a whole object is already there."""
    storage: Storage = default_storage
    if storage.exists(artifact.path) and storage.size(artifact.path) == artifact.size:
        return
    draft.seek(0)
    name = storage.save(artifact.path, File(draft))
    if name != artifact.path:  # somebody else was faster, and the storage gave ours another name
        storage.delete(name)
