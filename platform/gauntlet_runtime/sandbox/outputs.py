"""Files in and out of a sandbox's writable folders, by descriptor: no path of the program's making is ever followed."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from gauntlet_runtime.sandbox.interface import Collected, SandboxError

_MAX_DEPTH = 64  # of folders in an output; each level holds a descriptor open
_MAX_NAMED = 1_000  # entries of `Collected.skipped`
_CHUNK = 1 << 20
_READ_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: should a FIFO have taken the file's place, opening it must not hang.
_READ_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(kw_only=True)
class _Collection:
    max_bytes: int
    max_files: int
    files: int = 0
    folders: int = 0
    bytes: int = 0
    skipped: list[str] = field(default_factory=list)
    truncated: bool = False

    def skip(self, path: str, reason: str, *, limit: bool = False) -> None:
        self.truncated = self.truncated or limit
        if len(self.skipped) < _MAX_NAMED:
            self.skipped.append(f"{path}: {reason}")


def collect_tree(folder: int, into: Path, *, max_bytes: int, max_files: int) -> Collected:
    """Copy the regular files below the open folder into ``into`` (made if missing; bytes and files are capped).

    Files become ours, 0644 or 0755. What is not a regular file, is too much, or is in the way is skipped and named.
    """
    into.mkdir(parents=True, exist_ok=True)
    collection = _Collection(max_bytes=max_bytes, max_files=max_files)
    target = os.open(into, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _collect_folder(folder, target, "", collection, depth=0)
    finally:
        os.close(target)
    return Collected(
        files=collection.files,
        bytes=collection.bytes,
        skipped=tuple(collection.skipped),
        truncated=collection.truncated,
    )


def _collect_folder(source: int, target: int, prefix: str, collection: _Collection, *, depth: int) -> None:
    for name in _names(source, prefix, collection):
        path = prefix + name
        mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            _collect_file(source, target, name, path, collection)
        elif not stat.S_ISDIR(mode):
            collection.skip(path, _KINDS.get(stat.S_IFMT(mode), "not a regular file"))
        elif depth >= _MAX_DEPTH:
            collection.skip(path, "too deep", limit=True)
        else:
            _collect_subfolder(source, target, name, path, collection, depth=depth)


def _names(folder: int, prefix: str, collection: _Collection) -> list[str]:
    """In order; of a folder that holds more than may be taken, no more than those are read."""
    most = collection.max_files + _MAX_NAMED
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, most + 1)]
    if len(names) > most:
        collection.skip(prefix or ".", "more files than allowed", limit=True)
    return sorted(names[:most])


def _collect_subfolder(source: int, target: int, name: str, path: str, collection: _Collection, *, depth: int) -> None:
    if collection.folders >= collection.max_files:
        collection.skip(path, "more folders than files are allowed", limit=True)
        return
    collection.folders += 1
    try:
        inner_source = os.open(name, _READ_FOLDER, dir_fd=source)
    except OSError as error:
        collection.skip(path, os.strerror(error.errno or 0))
        return
    try:
        with contextlib.suppress(FileExistsError):  # a folder is joined; anything else makes the next call fail
            os.mkdir(name, 0o755, dir_fd=target)
        inner_target = os.open(name, _READ_FOLDER, dir_fd=target)
        try:
            _collect_folder(inner_source, inner_target, path + "/", collection, depth=depth + 1)
        finally:
            os.close(inner_target)
    except OSError as error:
        collection.skip(path, os.strerror(error.errno or 0))
    finally:
        os.close(inner_source)


def _collect_file(source: int, target: int, name: str, path: str, collection: _Collection) -> None:
    if collection.files >= collection.max_files:
        collection.skip(path, "more files than allowed", limit=True)
        return
    try:
        descriptor = os.open(name, _READ_FILE, dir_fd=source)
    except OSError as error:
        collection.skip(path, os.strerror(error.errno or 0))
        return
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            collection.skip(path, "not a regular file")
        elif status.st_size > collection.max_bytes - collection.bytes:
            collection.skip(path, "larger than what is left of the limit", limit=True)
        else:
            mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
            collection.bytes += _copy_new(descriptor, target, name, size=status.st_size, mode=mode)
            collection.files += 1
    except OSError as error:
        collection.skip(path, os.strerror(error.errno or 0))
    finally:
        os.close(descriptor)


def _copy_new(source: int, folder: int, name: str, *, size: int, mode: int, owner: int | None = None) -> int:
    """Copy ``size`` bytes at most into a new file; return how many there were."""
    target = os.open(name, _NEW_FILE, mode, dir_fd=folder)
    copied = 0
    try:
        while copied < size:
            chunk = os.read(source, min(_CHUNK, size - copied))
            if not chunk:
                break
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(target, rest) :]
            copied += len(chunk)
        os.fchmod(target, mode)  # whatever the umask
        if owner is not None:
            os.fchown(target, owner, owner)
    finally:
        os.close(target)
    return copied


def tree_size(source: Path) -> int:
    """Bytes that a copy of the folder takes at most, pages and entries counted."""
    total = 0
    for folder, folders, files in os.walk(source):
        total += 4096 * (1 + len(folders) + len(files))
        total += sum(os.lstat(os.path.join(folder, name)).st_size for name in files)
    return total


def seed_tree(source: Path, folder: int, *, owner: int | None) -> None:
    """Copy the files and folders of ``source`` into the open folder, and give them to ``owner``.

    Raises:
        SandboxError: the source holds something else than files, folders and links within it.
    """
    for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
        if entry.is_symlink():
            _seed_link(source, entry.name, folder, owner=owner)
        elif entry.is_dir():
            os.mkdir(entry.name, 0o755, dir_fd=folder)
            inner = os.open(entry.name, _READ_FOLDER, dir_fd=folder)
            try:
                seed_tree(Path(entry.path), inner, owner=owner)
                if owner is not None:
                    os.fchown(inner, owner, owner)
            finally:
                os.close(inner)
        elif entry.is_file():
            descriptor = os.open(entry.path, _READ_FILE)
            try:
                status = os.fstat(descriptor)
                mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
                _copy_new(descriptor, folder, entry.name, size=status.st_size, mode=mode, owner=owner)
            finally:
                os.close(descriptor)
        else:
            raise SandboxError(f"{entry.path} is neither a file nor a folder, and cannot be copied into a sandbox")


def _seed_link(source: Path, name: str, folder: int, *, owner: int | None) -> None:
    os.symlink(os.readlink(source / name), name, dir_fd=folder)
    if owner is not None:
        os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
