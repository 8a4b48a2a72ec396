"""What an upload in parts asks of the place where the parts are kept, and how one part is taken.

There are two places. Where the storage of artifacts is a file system, the parts are appended to a file in the folder of
uploads (`part_files`). On any other storage each part becomes an object in it (`part_objects`), so that each of several
web servers takes any part.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from gauntlet.storage.services import CHUNK, is_file_system
from gauntlet.submissions.errors import NoRoom, UploadPartDamaged, UploadTooLarge
from gauntlet.submissions.models import Upload

CHECKSUMS: Final = ("sha256", "sha1", "md5")
Checksum = tuple[str, bytes]  # one of CHECKSUMS, and the digest


class Source(Protocol):
    """Where a part's bytes come from."""

    def read(self, size: int, /) -> bytes:
        """Read on."""


class Whole(Protocol):
    """All parts as one file."""

    def seek(self, offset: int, /) -> int:
        """Go to a place in it."""

    def read(self, size: int = -1, /) -> bytes:
        """Read on."""

    def close(self) -> None:
        """Let go of it."""


class Parts(Protocol):
    """A place where parts are kept."""

    def begin(self, upload: Upload) -> None:
        """Make room for an upload of which nothing has come."""

    def size_of(self, upload: Upload) -> int:
        """How many bytes have come.

        Raises:
            UploadNotFound
        """

    def append(self, upload: Upload, part: Source, *, offset: int, checksum: Checksum | None) -> int:
        """Keep a part, and what came of one whose connection broke; return how many bytes have come with it.

        Raises:
            UploadNotFound, UploadBusy, UploadOffsetWrong, UploadTooLarge, UploadPartDamaged
        """

    def open(self, upload: Upload) -> Whole:
        """What has come, to be read."""

    def remove(self, upload: Upload) -> None:
        """Remove what has come. Idempotent."""

    def sweep(self, known: Callable[[], Collection[str]]) -> int:
        """Remove what belongs to no upload; return of how many. ``known`` asks for the ids that there are."""


def parts() -> Parts:
    """The installation's place for parts."""
    from gauntlet.submissions.part_files import PartFiles
    from gauntlet.submissions.part_objects import PartObjects

    return PartFiles() if is_file_system() else PartObjects()


@contextmanager
def room_or_refusal() -> Iterator[None]:
    """Tell whoever sends that a full disk is not their fault.

    Raises:
        NoRoom
    """
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise NoRoom.now() from error


def take(part: Source, write: Callable[[bytes], object], *, length: int, offset: int, checksum: Checksum | None) -> int:
    """Write a part that begins at ``offset`` of an upload of ``length`` bytes; return the bytes of the part.

    Raises:
        UploadTooLarge, UploadPartDamaged: nothing of what was written may stay.
    """
    digest = hashlib.new(checksum[0], usedforsecurity=False) if checksum else None
    taken = 0
    while chunk := part.read(CHUNK):
        taken += len(chunk)
        if offset + taken > length:
            raise UploadTooLarge(f"The upload was begun for {length:,} bytes, and this is more.")
        if digest is not None:
            digest.update(chunk)
        write(chunk)
    if checksum and digest is not None and digest.digest() != checksum[1]:
        raise UploadPartDamaged("The part is not what its checksum says. Send it again.")
    return taken
