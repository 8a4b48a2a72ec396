"""Tars of strangers, entry by entry: bounded in count, in the size of a header, and in what is kept in memory."""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

from gauntlet_runtime.container_images.errors import ImageRefused
from gauntlet_runtime.container_images.streams import Budget, Window

HEADER_BYTES: Final = 1 << 20  # of one entry's extended headers, all of which a reader holds in memory
MOST_DEPTH: Final = 128
_MOST_NAME: Final = 255  # bytes of one component, what file systems allow
_MOST_PATH: Final = 4096


def entries(source: BinaryIO, *, start: int, size: int, file: str, budget: Budget) -> Iterator[tarfile.TarInfo]:
    """The entries of a tar that is a part of ``source``; their ``offset_data`` counts from ``start``.

    Raises:
        ImageRefused: it is no tar, or damaged, or a header is absurdly long.
        LeaseLost
    """

    def too_long() -> ImageRefused:
        return ImageRefused(f"holds an entry whose header is longer than {HEADER_BYTES:,} bytes.", file=file)

    window = Window(source, start=start, size=size, most=HEADER_BYTES, refuse=too_long)
    try:
        with tarfile.open(fileobj=cast(BinaryIO, window), mode="r:", encoding="utf-8") as archive:
            while (entry := archive.next()) is not None:
                budget.look()
                yield entry
                vars(archive)["members"].clear()  # it keeps every entry for those who ask twice
    except (tarfile.TarError, ValueError, OverflowError, UnicodeError) as error:
        if size == 0:
            return  # some tools write a layer without any entry as no bytes at all
        raise ImageRefused("is damaged: it is no whole tar; make the archive again.", file=file) from error


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
    if len(parts) > MOST_DEPTH or sum(sizes) + len(sizes) > _MOST_PATH or any(one > _MOST_NAME for one in sizes):
        limits = f"at most {MOST_DEPTH} folders deep, {_MOST_NAME} bytes a name"
        raise ImageRefused(f"{file} holds this path, which is too long: {limits}.", file=name)
    return parts


def joined(folder: str, target: str) -> str:
    """Where a link in ``folder`` leads, as a name in the archive."""
    return posixpath.normpath(posixpath.join(folder, target))
