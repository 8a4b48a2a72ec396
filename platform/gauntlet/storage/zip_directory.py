"""A look at a zip's directory before Python's zipfile reads it: a hostile one would make it fill the memory."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO, Final

from gauntlet.storage.errors import ArchiveFault, ArchiveRefused

_END: Final = struct.Struct("<4s4H2LH")  # end of the central directory
_END_SIGNATURE: Final = b"PK\x05\x06"
_END64: Final = struct.Struct("<4sQ2H2L4Q")
_END64_SIGNATURE: Final = b"PK\x06\x06"
_LOCATOR64: Final = struct.Struct("<4sLQL")
_LOCATOR64_SIGNATURE: Final = b"PK\x06\x07"
_ENTRY_FIXED: Final = 46  # bytes of an entry before its name
_ENTRY_SIGNATURE: Final = b"PK\x01\x02"
_MOST_COMMENT: Final = 65535
_MOST_ENTRY: Final = 1024  # bytes of an entry, on the average of a directory that is read at all

_OTHER_FORMATS: Final = {
    b"\x1f\x8b": "a gzip file",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a rar archive",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"BZh": "a bzip2 file",
    b"\xfd7zX": "an xz file",
}


def check_directory(archive: BinaryIO, *, most_files: int) -> None:
    """Refuse what is not a zip, and one whose directory lists more than ``most_files`` entries.

    Raises:
        ArchiveRefused
    """
    start, size = _find(archive)
    if size > most_files * _MOST_ENTRY:
        raise _refusal(f"The archive holds more than {most_files:,} files; remove some.")
    archive.seek(start)
    if _count(archive.read(size), most=most_files) > most_files:
        raise _refusal(f"The archive holds more than {most_files:,} files; remove some.")


def _refusal(message: str) -> ArchiveRefused:
    return ArchiveRefused([ArchiveFault("", message)])


def _find(archive: BinaryIO) -> tuple[int, int]:
    """Where the directory starts and how long it is, found as zipfile finds it."""
    length = archive.seek(0, os.SEEK_END)
    tail_start = max(0, length - _END.size - _MOST_COMMENT)
    archive.seek(tail_start)
    tail = archive.read()
    at = len(tail) - _END.size if tail[-_END.size :][:4] == _END_SIGNATURE and tail[-2:] == b"\0\0" else -1
    at = at if at >= 0 else tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END.size:
        raise _not_a_zip(archive)
    size = _END.unpack_from(tail, at)[5]
    end = tail_start + at
    end, size = _find64(archive, end) or (end, size)
    if size > end:
        raise _refusal("The archive is damaged; make it again.")
    return end - size, size


def _find64(archive: BinaryIO, end: int) -> tuple[int, int] | None:
    """The same for the format of large archives, which zipfile prefers where it is there."""
    at = end - _LOCATOR64.size - _END64.size
    if at < 0:
        return None
    archive.seek(at)
    record = archive.read(_END64.size + _LOCATOR64.size)
    if record[:4] != _END64_SIGNATURE or record[_END64.size :][:4] != _LOCATOR64_SIGNATURE:
        return None
    return at, _END64.unpack_from(record)[8]


def _count(directory: bytes, *, most: int) -> int:
    count = offset = 0
    while offset + _ENTRY_FIXED <= len(directory) and count <= most:
        if directory[offset : offset + 4] != _ENTRY_SIGNATURE:
            raise _refusal("The archive is damaged; make it again.")
        name, extra, comment = struct.unpack_from("<3H", directory, offset + 28)
        offset += _ENTRY_FIXED + name + extra + comment
        count += 1
    return count


def _not_a_zip(archive: BinaryIO) -> ArchiveRefused:
    archive.seek(0)
    head = archive.read(265)
    other = next((name for magic, name in _OTHER_FORMATS.items() if head.startswith(magic)), "")
    if head[257:262] == b"ustar":
        other = "a tar archive"
    found = f"This is {other}, not a zip." if other else "This is not a zip archive, or it is cut off."
    return _refusal(f"{found} Make a zip of the folder and send that.")
