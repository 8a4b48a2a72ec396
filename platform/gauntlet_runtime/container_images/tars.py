"""Tars of strangers, entry by entry: bounded in count, in the size of a header, and in what is kept in memory."""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

from gauntlet_runtime.container_images.errors import ImageRefused
from gauntlet_runtime.container_images.streams import Budget, Window

HEADER_BYTES: Final = 1 << 20  # of one entry's headers, all of which a reader holds in memory
_MOST_READS: Final = 64  # of one entry's headers; ordinary ones take two each, and an entry has four of them
_KIND: Final = slice(156, 157)  # where a header says what it is
_PAX: Final = frozenset({tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE})
_WITH_CONTENT: Final = _PAX | {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
_MOST_DIGITS: Final = 10  # of a record's length, with the space
_DIGITS: Final = bytes(ord("0") if byte in b"0123456789" else 0 for byte in range(256))
_DIGITS_IN_A_ROW: Final = b"0" * 256  # more than a name may have
MOST_DEPTH: Final = 128
_MOST_NAME: Final = 255  # bytes of one component, what file systems allow
MOST_PATH: Final = 4096  # bytes of a path and its end, what Linux takes


def entries(source: BinaryIO, *, start: int, size: int, file: str, budget: Budget) -> Iterator[tarfile.TarInfo]:
    """The entries of a tar that is a part of ``source``; their ``offset_data`` counts from ``start``.

    Raises:
        ImageRefused: it is no tar, or damaged, or headers are absurdly long.
        LeaseLost
    """
    window = _Headers(source, start=start, size=size, file=file, budget=budget)
    try:
        with tarfile.open(fileobj=cast(BinaryIO, window), mode="r:", encoding="utf-8") as archive:
            while (entry := archive.next()) is not None:
                budget.look()
                _check_size(entry, next_at=vars(archive)["offset"])
                yield entry
                vars(archive)["members"].clear()  # it keeps every entry for those who ask twice
                vars(archive)["pax_headers"].clear()  # and all that global headers say; no image needs them
                window.begin()
    except (tarfile.TarError, ValueError, OverflowError, LookupError) as error:
        if size == 0:
            return  # some tools write a layer without any entry as no bytes at all
        raise ImageRefused("is damaged: it is no whole tar; make the archive again.", file=file) from error


class _Headers(Window):
    """A tar whose reader gets an error in the place of headers that are too long, too many, or made to keep it busy.

    It takes all that stands before an entry into memory, and one header in another: each names the length of the next.
    """

    _follows: bytes  # of what kind of header the content is read next; empty where a header is

    def __init__(self, source: BinaryIO, *, start: int, size: int, file: str, budget: Budget) -> None:
        super().__init__(source, start=start, size=size)
        self._file = file
        self._budget = budget
        self.begin()

    def begin(self) -> None:
        """The headers of another entry follow."""
        self._bytes = HEADER_BYTES
        self._reads = _MOST_READS
        self._follows = b""

    def read(self, size: int = -1, /) -> bytes:
        count = self.within(size)
        self._bytes -= count
        self._reads -= 1
        if self._bytes < 0 or self._reads < 0:
            message = f"holds an entry whose headers are longer than {HEADER_BYTES:,} bytes, or too many; "
            raise ImageRefused(message + "make the archive again.", file=self._file)
        self._budget.take_header(count, file=self._file)
        data = super().read(count)
        if self._follows in _PAX:
            _check_records(data)
        kind = data[_KIND] if count == tarfile.BLOCKSIZE and not self._follows else b""
        self._follows = kind if kind in _WITH_CONTENT else b""
        return data


def _check_records(content: bytes) -> None:
    """Check that a PAX header's records ("LENGTH KEY=VALUE") stand one after another.

    A reader believes each length: where it is less than the record, the rest is read again as records, each of which
    may be as long as all. And it looks for digits in a time that grows with the square of how many stand in a row.
    """
    place = 0
    while place < len(content) and content[place]:
        space = content.find(b" ", place, place + _MOST_DIGITS)
        length = int(content[place:space]) if space > place else 0
        end = place + length
        if content[end - 1 : end] != b"\n" or content.find(b"=", space, end) < 0:
            raise tarfile.ReadError("a record is not as long as it says")
        place = end
    if _DIGITS_IN_A_ROW in content.translate(_DIGITS):
        raise tarfile.ReadError("a number is longer than any")


def _check_size(entry: tarfile.TarInfo, *, next_at: int) -> None:
    """Check that the next entry begins where a file ends: an extended header may say another size afterwards."""
    blocks = -(-entry.size // tarfile.BLOCKSIZE)
    if entry.isreg() and not entry.issparse() and next_at != entry.offset_data + blocks * tarfile.BLOCKSIZE:
        raise tarfile.ReadError("a file reaches into what follows")
    if entry.size < 0 or next_at < entry.offset_data:
        raise tarfile.ReadError("a size is negative")


def parts_of(name: str, *, file: str) -> tuple[str, ...]:
    """The components of an entry's path.

    Raises:
        ImageRefused: it leads out of the root, or is no path that a file system takes.
    """
    if name.startswith("/"):
        raise ImageRefused(f"{file} holds this absolute path; an archive may hold relative paths only.", file=name)
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise ImageRefused(f"{file} holds this path, which leads out of the image; leave it out.", file=name)
    if "\0" in name:
        raise ImageRefused(f"{file} holds a name with a NUL in it; rename it.", file=name)
    sizes = [len(part.encode(errors="surrogateescape")) for part in parts]
    if len(parts) > MOST_DEPTH or sum(sizes) + len(sizes) > MOST_PATH or any(one > _MOST_NAME for one in sizes):
        limits = f"at most {MOST_DEPTH} folders deep, {_MOST_NAME} bytes a name"
        raise ImageRefused(f"{file} holds this path, which is too long: {limits}.", file=name)
    return parts


def joined(folder: str, target: str) -> str:
    """Where a link in ``folder`` leads, as a name in the archive."""
    return posixpath.normpath(posixpath.join(folder, target))
