"""What a program writes to stdout and stderr, kept in a file and cut at a limit."""

from __future__ import annotations

import os
from pathlib import Path


class CappedLog:
    """A file that takes up to ``limit`` bytes."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self._limit = limit
        self._size = 0
        self._descriptor: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def write(self, chunk: bytes) -> bool:
        """Append; False where the limit cut something off."""
        room = self._limit - self._size
        kept = memoryview(chunk)[:room] if len(chunk) > room else memoryview(chunk)
        self._size += len(kept)
        while kept and self._descriptor is not None:
            kept = kept[os.write(self._descriptor, kept) :]
        return len(chunk) <= room

    def close(self) -> None:
        """Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def tail(path: Path, size: int) -> bytes:
    """The last ``size`` bytes of a file; nothing where there is no file."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - size))
            return file.read(size)
    except FileNotFoundError:
        return b""
