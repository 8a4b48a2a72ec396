"""Artifacts as folders on this host: fetched once, checked, unpacked once, shared by the workers, bounded in size."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Final

from gauntlet_runtime.boot import this_boot
from gauntlet_runtime.jobs import Artifact

CACHE_BYTES: Final = 10 << 30
UNPACKED_BYTES: Final = 4 << 30  # of one zip
UNPACKED_FILES: Final = 100_000
_CHUNK: Final = 1 << 20
_BLOCK: Final = 4096  # what the smallest file and a folder take of a disk
_LEFT_SECONDS: Final = 6 * 3600.0


class ArtifactDamaged(Exception):
    """What was fetched is not what its digest says, or its zip may not be unpacked."""


class ArtifactFolders:
    """The artifact cache of one worker in a folder that workers share.

    What a worker has asked for is locked until `release`: another worker's clean-up passes it by. Entries are folders
    named by digest and start of the machine, made beside their place and renamed into it, so that nobody ever sees half
    of one.
    """

    def __init__(self, root: Path, *, fetch: Callable[[Artifact, Path], None], max_bytes: int = CACHE_BYTES) -> None:
        self._root = root
        self._fetch = fetch
        self._max_bytes = max_bytes
        self._held: dict[str, int] = {}
        self._lock = threading.Lock()
        root.mkdir(parents=True, exist_ok=True)

    def folder(self, artifact: Artifact) -> Path:
        """The unpacked folder of a zip artifact. Read-only by agreement; never changed once it is there.

        Raises:
            ArtifactDamaged
        """
        return self._entry(artifact) / "content"

    def file(self, artifact: Artifact) -> Path:
        """The file of a file artifact.

        Raises:
            ArtifactDamaged
        """
        return self._entry(artifact) / "content"

    @contextmanager
    def once(self, artifact: Artifact) -> Iterator[Path]:
        """The unpacked folder of a zip artifact for the length of the block: it comes into no cache.

        For what is read once: an evaluation has a record an episode, and no other one has them.

        Raises:
            ArtifactDamaged
        """
        with self._made(artifact) as entry:
            yield entry / "content"

    def release(self) -> None:
        """Let go of everything asked for so far, and drop the least recently used entries beyond the size bound."""
        with self._lock:
            for descriptor in self._held.values():
                os.close(descriptor)  # the lock goes with it
            self._held.clear()
            self._evict(self._max_bytes)

    def drop_unused(self) -> None:
        """Drop every entry that nobody holds: the disk is short."""
        self._evict(0)

    def _entry(self, artifact: Artifact) -> Path:
        name = _name(artifact)
        with self._lock:
            entry = self._root / name
            if name not in self._held:
                self._held[name] = self._locked(name, artifact)
            os.utime(entry)
            return entry

    def _locked(self, name: str, artifact: Artifact) -> int:
        """A shared lock on an entry that exists.

        Who makes an entry holds another lock meanwhile: whoever waited for this one exclusively would wait for as long
        as others use the entry.
        """
        while True:
            descriptor = _lock(self._root / f"{name}.lock", fcntl.LOCK_SH)
            if (self._root / name).is_dir():
                return descriptor
            os.close(descriptor)
            place = self._root / f"{name}.making"
            making = _lock(place, fcntl.LOCK_EX)
            try:
                if not (self._root / name).is_dir():
                    self._make(name, artifact)
            finally:
                place.unlink()
                os.close(making)

    def _make(self, name: str, artifact: Artifact) -> None:
        with self._made(artifact) as entry:
            (entry / "size").write_text(str(_size(entry)))
            entry.rename(self._root / name)

    @contextmanager
    def _made(self, artifact: Artifact) -> Iterator[Path]:
        """The artifact, checked and unpacked, as ``content`` in a folder that goes with the block."""
        with tempfile.TemporaryDirectory(prefix=".making-", dir=self._root) as making:
            place = Path(making)
            place.chmod(0o755)
            fetched = place / "fetched"
            self._fetch(artifact, fetched)
            _check(fetched, artifact)
            entry = place / "entry"
            entry.mkdir()
            if artifact.form == "zip":
                unpack(fetched, entry / "content")
            else:
                fetched.rename(entry / "content")
                (entry / "content").chmod(0o644)
            yield entry

    def _evict(self, most: int) -> None:
        """One worker at a time: only who holds this lock takes entries away, so what is listed here stays."""
        try:
            descriptor = _lock(self._root / ".evicting", fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # somebody else is at it
        try:
            self._evict_alone(most)
        finally:
            os.close(descriptor)

    def _evict_alone(self, most: int) -> None:
        folders = [path for path in self._root.iterdir() if path.is_dir()]
        for left in folders:
            if left.name.startswith("."):
                _remove_if_old(left)
        entries = sorted(
            (path for path in folders if not path.name.startswith(".")), key=lambda entry: entry.stat().st_mtime
        )
        sizes = {entry: _noted_size(entry) for entry in entries}
        total = sum(sizes.values())
        for entry in entries:
            if total <= most:
                return
            if self._drop(entry):
                total -= sizes[entry]

    def _drop(self, entry: Path) -> bool:
        place = self._root / f"{entry.name}.lock"
        try:
            descriptor = _lock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            with tempfile.TemporaryDirectory(prefix=".dropping-", dir=self._root) as dropping:
                entry.rename(Path(dropping) / "entry")
                place.unlink()
        finally:
            os.close(descriptor)
        return True


def _name(artifact: Artifact) -> str:
    return f"{artifact.digest.removeprefix('sha256:')}-{artifact.form}-{this_boot()}"


def _lock(path: Path, how: int) -> int:
    """Lock the file of this name, and not one that was removed meanwhile: a lock goes with what it guards.

    Raises:
        BlockingIOError: somebody else holds it, and it is not to be waited for.
    """
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, how)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _check(path: Path, artifact: Artifact) -> None:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    if f"sha256:{digest.hexdigest()}" != artifact.digest:
        raise ArtifactDamaged(f"What was fetched for {artifact.digest} has another digest.")


def _size(folder: Path) -> int:
    """What it takes of the disk, about: of small files many times what is in them."""
    return sum(_BLOCK * max(1, -(-path.lstat().st_size // _BLOCK)) for path in (folder, *folder.rglob("*")))


def _noted_size(entry: Path) -> int:
    """The size of an entry, as it was noted; of one that the machine's end cut off, as it is."""
    try:
        return int((entry / "size").read_text())
    except (FileNotFoundError, ValueError):
        return _size(entry)


def unpack(source: Path, into: Path) -> None:
    """Unpack a zip into a new folder that any uid can read: regular files and folders only, no way out of it.

    Raises:
        ArtifactDamaged: no zip, a name that leads outside, a link, or too much or too many.
    """
    into.mkdir()
    into.chmod(0o755)
    written = 0
    try:
        with zipfile.ZipFile(source) as archive:
            entries = archive.infolist()
            if len(entries) > UNPACKED_FILES:
                raise ArtifactDamaged(f"The zip holds more than {UNPACKED_FILES} files.")
            for entry in entries:
                target = _target(entry, into)
                if entry.is_dir():
                    _make_folder(target, into)
                    continue
                _make_folder(target.parent, into)
                written += _write(archive, entry, target, room=UNPACKED_BYTES - written)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError) as error:
        raise ArtifactDamaged(f"The zip cannot be unpacked ({type(error).__name__}).") from error


def _target(entry: zipfile.ZipInfo, into: Path) -> Path:
    name = PurePosixPath(entry.filename.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or "\0" in entry.filename:
        raise ArtifactDamaged("The zip holds a name that leads out of its folder.")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ArtifactDamaged("The zip holds a link or a device.")
    return into.joinpath(*name.parts)


def _make_folder(folder: Path, into: Path) -> None:
    if folder == into or folder.is_dir():
        return
    _make_folder(folder.parent, into)
    folder.mkdir()
    folder.chmod(0o755)


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, *, room: int) -> int:
    written = 0
    with archive.open(entry) as source, target.open("xb") as file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > room:
                raise ArtifactDamaged("The zip unpacks to too much.")
            file.write(chunk)
    target.chmod(0o755 if (entry.external_attr >> 16) & 0o111 else 0o644)
    return written


def _remove_if_old(left: Path) -> None:
    """Of a worker that was killed while it made or dropped an entry; a living one's goes at any moment."""
    with suppress(FileNotFoundError):
        if time.time() - left.lstat().st_mtime > _LEFT_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
