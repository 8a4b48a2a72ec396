"""Compressed files of strangers: recognised by their content, decompressed to disk, never beyond a limit."""

from __future__ import annotations

import gzip
import hashlib
import io
import threading
import zlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO, Final, cast

import zstandard

from gauntlet_runtime.container_images.errors import ImageRefused
from gauntlet_runtime.jobs import LeaseLost

CHUNK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_TAR_MAGIC: Final = (257, b"ustar")  # where it stands, and what it is, in every tar of this century
_BLOCK: Final = 512
# What a decompressor may hold in memory; `zstd --long=27` needs as much, and nobody's defaults need more.
_WINDOW: Final = 128 << 20


def is_image_archive(head: bytes) -> bool:
    """Whether a file that begins with these (at least 512) bytes is a tar, or one compressed by gzip or zstd."""
    where, magic = _TAR_MAGIC
    return head.startswith((_GZIP, _ZSTD)) or head[where:].startswith(magic)


def is_plain(head: bytes) -> bool:
    """Whether what begins so is not compressed."""
    return not head.startswith((_GZIP, _ZSTD))


@dataclass
class Budget:
    """What may still be used up while an archive is read, and whether anybody still waits for it."""

    left: int  # bytes on disk
    most: int  # of them at first
    headers: int  # bytes of tars' headers: reading these takes much longer than what they stand before
    unwanted: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Stop where nobody waits any more.

        Raises:
            LeaseLost
        """
        if self.unwanted.is_set():
            raise LeaseLost

    def take(self, count: int, *, file: str) -> None:
        """Use some of it.

        Raises:
            ImageRefused: it is used up.
            LeaseLost
        """
        self.look()
        self.left -= count
        if self.left < 0:
            message = f"the image unpacks to more than {self.most:,} bytes with this; make it smaller."
            raise ImageRefused(message, file=file)

    def take_header(self, count: int, *, file: str) -> None:
        """Use some of what headers may have.

        Raises:
            ImageRefused: it is used up.
        """
        self.headers -= count
        if self.headers < 0:
            message = "has headers that are longer together than those of any image; "
            raise ImageRefused(message + "use shorter names and fewer extended attributes.", file=file)


def decompressed(source: BinaryIO, into: BinaryIO, *, budget: Budget, file: str) -> str:
    """Write what ``source`` (read from its start) holds to ``into``, decompressed; return its SHA-256 (hexadecimal).

    Raises:
        ImageRefused: it is damaged, or larger than the budget.
        LeaseLost
    """
    digest = hashlib.sha256()
    try:
        with _opened(cast(BinaryIO, _Watched(source, budget))) as plain:
            while chunk := plain.read(CHUNK):
                budget.take(len(chunk), file=file)
                digest.update(chunk)
                into.write(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise ImageRefused("is damaged: it cannot be decompressed; make the archive again.", file=file) from error
    into.flush()
    return digest.hexdigest()


def _opened(source: BinaryIO) -> AbstractContextManager[BinaryIO]:
    source.seek(0)
    head = source.read(len(_ZSTD))
    source.seek(0)
    if head.startswith(_GZIP):
        return cast("AbstractContextManager[BinaryIO]", gzip.GzipFile(fileobj=source))
    reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(
        source, read_across_frames=True, closefd=False
    )
    return cast("AbstractContextManager[BinaryIO]", reader)


class _Watched(io.RawIOBase):
    """A file that is read only while somebody waits, since much of it may decompress to nothing."""

    def __init__(self, source: BinaryIO, budget: Budget) -> None:
        super().__init__()
        self._source = source
        self._budget = budget

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._source.seek(offset, whence)

    def read(self, size: int = -1, /) -> bytes:
        self._budget.look()
        return self._source.read(size)


class Window(io.RawIOBase):
    """A part of a seekable file, as a file."""

    def __init__(self, source: BinaryIO, *, start: int, size: int) -> None:
        super().__init__()
        self._source = source
        self._start = start
        self._size = size
        self._place = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._place = max(0, offset + (0, self._place, self._size)[whence])
        return self._place

    def read(self, size: int = -1, /) -> bytes:
        self._source.seek(self._start + self._place)
        data = self._source.read(self.within(size))
        self._place += len(data)
        return data

    def within(self, size: int) -> int:
        """How many bytes are read where ``size`` are asked for; all that are left where it is negative."""
        left = max(0, self._size - self._place)
        return left if size < 0 else min(size, left)
