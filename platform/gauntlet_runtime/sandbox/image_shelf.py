"""Participants' images on this host: made ready once, locked while they are used, the least recently used dropped.

An entry is a record beside two lock files; what it stands for (an unpacked tree, an image in Docker) is the backend's.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from gauntlet_runtime.sandbox.interface import SandboxUnavailable

SUBMITTED: Final = "submitted"  # the names of participants' images begin so: submitted/<digest>
DEFAULT_BYTES: Final = 20 << 30


def submitted_name(digest: str) -> str:
    """The name of a participant's image, by the digest of its checked archive."""
    return f"{SUBMITTED}/{digest.removeprefix('sha256:')}"


def default_shelf_bytes() -> int:
    """GAUNTLET_IMAGE_CACHE_BYTES, or 20 GiB.

    Raises:
        SandboxUnavailable: it is no number of bytes.
    """
    given = os.environ.get("GAUNTLET_IMAGE_CACHE_BYTES", str(DEFAULT_BYTES))
    with suppress(ValueError):
        if (wanted := int(given)) > 0:
            return wanted
    raise SandboxUnavailable(f"GAUNTLET_IMAGE_CACHE_BYTES must be a positive number, not {given!r}")


class ImageShelf:
    """Images that are kept on this host, by all of its workers, up to a size.

    Args:
        folder: holds records and locks
        is_there: whether what the entry stands for still is
        drop: takes it away
        most_bytes: beyond which the least recently used is dropped
    """

    def __init__(
        self,
        folder: Path,
        *,
        is_there: Callable[[str], bool],
        drop: Callable[[str], None],
        most_bytes: int,
    ) -> None:
        self._folder = folder
        self._is_there = is_there
        self._drop = drop
        self._most = most_bytes

    @contextmanager
    def borrowed(self, entry: str, make: Callable[[], int]) -> Iterator[None]:
        """Have the entry for the length of the block; ``make`` makes it where it is missing, and returns its bytes."""
        self._folder.mkdir(parents=True, exist_ok=True)
        held = self._held(entry, make)
        try:
            os.utime(self._record(entry))
            self._evict()
            yield
        finally:
            os.close(held)

    def _record(self, entry: str) -> Path:
        return self._folder / f"{entry}.json"

    def _held(self, entry: str, make: Callable[[], int]) -> int:
        """A shared lock on an entry that is there.

        Who makes one holds another lock meanwhile: whoever waited for this one exclusively would wait for as long as
        others use the entry.
        """
        while True:
            lock = _open_lock(self._folder / f"{entry}.lock")
            fcntl.flock(lock, fcntl.LOCK_SH)
            if self._record(entry).exists() and self._is_there(entry):
                return lock
            os.close(lock)
            making = _open_lock(self._folder / f"{entry}.making")
            try:
                fcntl.flock(making, fcntl.LOCK_EX)
                if not (self._record(entry).exists() and self._is_there(entry)):
                    self._write(entry, make())
            finally:
                os.close(making)

    def _write(self, entry: str, size: int) -> None:
        draft = self._folder / f".{entry}.{os.getpid()}"
        draft.write_text(json.dumps({"bytes": size}))
        draft.replace(self._record(entry))

    def _evict(self) -> None:
        """One worker at a time: only who holds this lock takes entries away."""
        lock = _open_lock(self._folder / ".evicting")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            records = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
            sizes = {path: _noted_bytes(path) for path in records}
            total = sum(sizes.values())
            for path in records:
                if total <= self._most:
                    return
                if self._take_away(path):
                    total -= sizes[path]
        except BlockingIOError:
            return  # somebody else is at it
        finally:
            os.close(lock)

    def _take_away(self, record: Path) -> bool:
        entry = record.name.removesuffix(".json")
        lock = _open_lock(self._folder / f"{entry}.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False  # in use
        else:
            with suppress(FileNotFoundError):
                record.unlink()
            self._drop(entry)
            return True  # the lock file stays: another worker may wait on this very inode
        finally:
            os.close(lock)


def _noted_bytes(record: Path) -> int:
    """The size in a record; 0 in one that the machine's end cut off."""
    try:
        return int(json.loads(record.read_text())["bytes"])
    except ValueError:
        return 0


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
