"""Unpacking archives that strangers made: everything is refused while unpacking, not after, and by name.

What operating systems leave behind is tolerated: one nested top folder, ``__MACOSX``, ``.DS_Store``, Windows
separators. Links, devices, absolute paths, paths out of the folder, duplicates, encrypted entries and bombs are not.
"""

from __future__ import annotations

import os
import shutil
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from django.conf import settings

from gauntlet.storage.errors import ArchiveFault, ArchiveRefused
from gauntlet.storage.folders import is_noise
from gauntlet.storage.zip_directory import check_directory

_MOST_FAULTS: Final = 50  # that are told at once
_MOST_DEPTH: Final = 64
_MOST_NAME: Final = 255  # bytes of one component, what file systems allow
_MOST_PATH: Final = 3000  # bytes: Linux takes 4096, and before it comes the folder in which a worker has it
_METHODS: Final = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED: Final = 0x1  # bit of an entry's flags
_CHUNK: Final = 1 << 18


@dataclass(frozen=True, kw_only=True)
class ArchiveLimits:
    """What an archive may unpack to."""

    total_bytes: int
    files: int
    # A text that compresses better than this is a bomb; small archives may (an empty log compresses a thousandfold).
    ratio: int = 200
    ratio_from_bytes: int = 64 << 20


def configured_limits() -> ArchiveLimits:
    """The installation's limits."""
    return ArchiveLimits(total_bytes=settings.MAX_UNPACKED_BYTES, files=settings.MAX_ARCHIVE_FILES)


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """What was unpacked."""

    files: int
    bytes: int
    top_folder: str  # the nested one that was taken away, or ""
    as_sent: bool  # whether every entry was written, under its own name: the archive itself stands for the folder


@dataclass(frozen=True, kw_only=True)
class _Entry:
    info: zipfile.ZipInfo
    parts: tuple[str, ...]
    is_folder: bool

    @property
    def name(self) -> str:
        return "/".join(self.parts)


def unpack(
    archive: BinaryIO, into: Path, *, limits: ArchiveLimits | None = None, keep_top_folder: bool = False
) -> Unpacked:
    """Unpack a zip into the new folder ``into``; on a refusal the folder is not there.

    Args:
        archive: seekable.
        into: must not exist; its parent must.
        limits: the installation's where None.
        keep_top_folder: whether one folder around everything is part of what was sent.

    Raises:
        ArchiveRefused: naming every entry that is at fault, as far as that was seen before anything was written.
    """
    limits = limits or configured_limits()
    check_directory(archive, most_files=limits.files)
    into.mkdir(mode=0o755)
    try:
        with zipfile.ZipFile(archive) as opened:
            sent = opened.infolist()
            entries = _checked_entries(opened, size=_size(archive), limits=limits)
            top, entries = ("", entries) if keep_top_folder else _without_top_folder(entries)
            written = _extract(opened, entries, into=into, limits=limits)
        return Unpacked(
            files=sum(not e.is_folder for e in entries),
            bytes=written,
            top_folder=top,
            as_sent=[e.name for e in entries] == [info.orig_filename.removesuffix("/") for info in sent],
        )
    except BaseException as error:
        shutil.rmtree(into)
        if isinstance(error, zipfile.BadZipFile | UnicodeDecodeError | EOFError | ValueError | NotImplementedError):
            raise ArchiveRefused([ArchiveFault("", "The archive is damaged; make it again.")]) from error
        raise


def _size(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)


def _checked_entries(archive: zipfile.ZipFile, *, size: int, limits: ArchiveLimits) -> list[_Entry]:
    """Every entry that is to be unpacked; refuses by what the archive declares of itself."""
    faults: list[ArchiveFault] = []
    entries: list[_Entry] = []
    for info in archive.infolist():
        parts, fault = _path_of(info)
        fault = fault or _fault_of(info)
        if fault:
            faults.append(ArchiveFault(_shown(info.orig_filename), fault))
        elif parts and not is_noise(parts):
            entries.append(_Entry(info=info, parts=parts, is_folder=_is_folder(info)))
    faults += _clashes(entries)
    faults += _too_large(entries, size=size, limits=limits)
    if faults:
        raise ArchiveRefused(faults[:_MOST_FAULTS])
    return entries


def _shown(name: str) -> str:
    """A hostile name, fit to be shown."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)[:200]


def _is_folder(info: zipfile.ZipInfo) -> bool:
    return info.orig_filename.endswith(("/", "\\"))


def _path_of(info: zipfile.ZipInfo) -> tuple[tuple[str, ...], str]:
    """The components of an entry's path, and what is wrong with it."""
    name = info.orig_filename
    if "\0" in name or any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
        return (), "its name holds control characters; rename it."
    name = unicodedata.normalize("NFC", name).replace("\\", "/")
    if name.startswith("/") or (len(name) > 1 and name[1] == ":" and name[0].isalpha()):
        return (), "has an absolute path; pack the folder with relative paths."
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        return (), "leads out of the archive's folder; paths may not contain '..'."
    sizes = [len(part.encode()) for part in parts]
    if len(parts) > _MOST_DEPTH or sum(sizes) + len(sizes) > _MOST_PATH or any(size > _MOST_NAME for size in sizes):
        limits = f"at most {_MOST_DEPTH} folders deep, {_MOST_NAME} bytes a name, {_MOST_PATH:,} bytes in all"
        return (), f"its path is too long: {limits}."
    return parts, ""


def _fault_of(info: zipfile.ZipInfo) -> str:
    """What is wrong with an entry beside its path."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a link; put the file itself into the archive."
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a device, a pipe or a socket; an archive may hold files and folders only."
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted; make the archive without a password."
    if info.compress_type not in _METHODS:
        return "is compressed in an unusual way; use an ordinary zip (deflate)."
    return ""


def _clashes(entries: Sequence[_Entry]) -> list[ArchiveFault]:
    """Names that stand for two things at once."""
    faults = []
    files: set[tuple[str, ...]] = set()
    for entry in entries:
        if not entry.is_folder:
            if entry.parts in files:
                faults.append(ArchiveFault(entry.name, "is in the archive twice; keep one."))
            files.add(entry.parts)
    for entry in entries:
        prefixes = (entry.parts[:n] for n in range(1, len(entry.parts) + entry.is_folder))
        clash = next((prefix for prefix in prefixes if prefix in files), None)
        if clash:
            faults.append(ArchiveFault(entry.name, f"needs a folder where {'/'.join(clash)} is a file."))
    return faults


def _too_large(entries: Sequence[_Entry], *, size: int, limits: ArchiveLimits) -> list[ArchiveFault]:
    """The entry with which the declared sizes go beyond the limits."""
    total = 0
    for entry in entries:
        total += entry.info.file_size
        if fault := _over(total, size=size, limits=limits):
            return [ArchiveFault(entry.name, fault)]
    return []


def _over(total: int, *, size: int, limits: ArchiveLimits) -> str:
    if total > limits.total_bytes:
        return f"the archive unpacks to more than {limits.total_bytes:,} bytes with this file; make it smaller."
    if total > limits.ratio_from_bytes and total > size * limits.ratio:
        return f"the archive unpacks to more than {limits.ratio} times its own size; it looks like a bomb."
    return ""


def _without_top_folder(entries: list[_Entry]) -> tuple[str, list[_Entry]]:
    """Take one nested top folder away, where everything is in it."""
    tops = {entry.parts[0] for entry in entries}
    if len(tops) != 1 or any(len(e.parts) == 1 and not e.is_folder for e in entries):
        return "", entries
    inside = [_Entry(info=e.info, parts=e.parts[1:], is_folder=e.is_folder) for e in entries if len(e.parts) > 1]
    return (tops.pop(), inside) if inside else ("", entries)


def _extract(archive: zipfile.ZipFile, entries: Sequence[_Entry], *, into: Path, limits: ArchiveLimits) -> int:
    """Write the files, counting what really comes out; return the bytes."""
    written = 0
    for entry in entries:
        target = into.joinpath(*entry.parts)
        if entry.is_folder:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            written += _write(archive, entry, target=target, room=limits.total_bytes - written)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
            raise ArchiveRefused([ArchiveFault(entry.name, "is damaged; make the archive again.")]) from error
    return written


def _write(archive: zipfile.ZipFile, entry: _Entry, *, target: Path, room: int) -> int:
    """Write one file of at most ``room`` bytes; the mode keeps only whether it can be executed."""
    executable = bool(entry.info.external_attr >> 16 & stat.S_IXUSR)
    # Exclusive and not through a link: whatever the names say, nothing that exists is written to.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if executable else 0o644)
    size = 0
    with os.fdopen(descriptor, "wb") as out, archive.open(entry.info) as source:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > room:
                raise ArchiveRefused([ArchiveFault(entry.name, "is larger than the archive says; it is a bomb.")])
            out.write(chunk)
    return size
