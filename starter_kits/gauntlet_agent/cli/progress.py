"""How far an upload is, for the person at the terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from gauntlet_agent.cli.output import clean, console, size

Advance = Callable[[int], object]  # told how many bytes more have arrived


class Counted:
    """A file that says how far it has been read; only what an HTTP client needs of one."""

    def __init__(self, file: IO[bytes], advance: Advance) -> None:
        self._file = file
        self._advance = advance

    def read(self, length: int = -1) -> bytes:
        """Read on, and say so."""
        chunk = self._file.read(length)
        self._advance(len(chunk))
        return chunk

    def fileno(self) -> int:
        """The file's descriptor, which tells its size."""
        return self._file.fileno()

    def seek(self, position: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place in it."""
        return self._file.seek(position, whence)

    def tell(self) -> int:
        """Where it is read next."""
        return self._file.tell()


@contextmanager
def progress(name: str, length: int, *, done: int = 0) -> Iterator[Advance]:
    """A bar in bytes and seconds that begins at ``done``; without a terminal, one line at the end."""
    out = console(stderr=True)
    if not out.is_terminal:
        yield lambda _count: None
        out.print(f"Uploaded {clean(name)} ({size(length)}).")
        return
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=out) as shown:
        task = shown.add_task(clean(name), total=length, completed=done)
        yield lambda count: shown.advance(task, count)
