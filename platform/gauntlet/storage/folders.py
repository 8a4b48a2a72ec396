"""A folder as a zip whose bytes are a function of its content."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from gauntlet.storage.errors import FolderRefused

# What operating systems and interpreters leave lying about; never part of a bundle.
NOISE_FOLDERS: Final = frozenset({"__MACOSX", "__pycache__"})
NOISE_FILES: Final = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold


def is_noise(parts: tuple[str, ...]) -> bool:
    """Whether a path inside a bundle is a leftover of an operating system or an interpreter."""
    return any(part in NOISE_FOLDERS for part in parts) or parts[-1] in NOISE_FILES or parts[-1].startswith("._")


def write_zip(folder: Path, out: BinaryIO) -> None:
    """Write a folder as a zip: sorted, with fixed times, keeping of a file's mode only whether it can be executed.

    Raises:
        FolderRefused: it holds links, devices or the like.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path, is_folder in _entries(folder):
            name = path.relative_to(folder).as_posix()
            info = zipfile.ZipInfo(f"{name}/" if is_folder else name, date_time=_EPOCH)
            info.create_system = 3  # Unix, wherever this runs
            if is_folder:
                info.external_attr = (stat.S_IFDIR | 0o755) << 16 | 0x10
                archive.writestr(info, b"")
                continue
            status = path.stat()
            mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
            info.external_attr = (stat.S_IFREG | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            info.file_size = status.st_size  # decides whether the entry needs the format for large files
            with path.open("rb") as source, archive.open(info, "w") as target:
                shutil.copyfileobj(source, target, 1 << 20)


def _entries(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Files, and folders that hold nothing, in the order of their names, each with whether it is a folder."""
    with os.scandir(folder) as scan:
        found = sorted(scan, key=lambda entry: entry.name)
    for entry in found:
        path = Path(entry.path)
        if is_noise((entry.name,)):
            continue
        if entry.is_dir(follow_symlinks=False):
            inside = list(_entries(path))
            yield from inside or [(path, True)]
        elif entry.is_file(follow_symlinks=False):
            yield path, False
        else:
            raise FolderRefused(f"{entry.name} is a link or a device; a bundle may hold files and folders only.")
