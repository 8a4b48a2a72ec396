"""Checked images as files: written as one layer, read again as a tree on disk or as what Docker loads."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import zstandard

from gauntlet_runtime.container_images.streams import CHUNK
from gauntlet_runtime.container_images.tree import File, Folder, Link, Node, Tree

if TYPE_CHECKING:
    from gauntlet_runtime.container_images.check import CheckedImage

_LAYER: Final = "layer.tar"
_CONFIG: Final = "config.json"
_MANIFEST: Final = "manifest.json"
_LEVEL: Final = 3
_LABEL: Final = "org.gauntlet.digest"


class ImageDamaged(Exception):
    """A checked image is not as it was written: the platform's fault."""


class Sources:
    """Where the layers' bytes are: a file and a start for each."""

    def __init__(self) -> None:
        self._parts: list[tuple[BinaryIO, int]] = []

    def add(self, source: BinaryIO, start: int) -> int:
        """The next layer, or what stands beside the layers; returns its number."""
        self._parts.append((source, start))
        return len(self._parts) - 1

    def at(self, file: File) -> BinaryIO:
        """The file that a file's bytes are in, standing at their start."""
        source, start = self._parts[file.source]
        source.seek(start + file.start)
        return source


def write_image(tree: Tree, sources: Sources, *, into: Path, work: Path, facts: CheckedImage) -> None:
    """Write the tree as an image of one layer; see `check_image` for its form."""
    layer = work / _LAYER
    with tarfile.open(layer, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as archive:
        _write_tree(archive, tree, sources)
    with layer.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    config = {
        "architecture": facts.architecture,
        "os": "linux",
        "created": "1980-01-01T00:00:00Z",
        "config": {
            "Cmd": facts.command,
            "Env": [f"{name}={value}" for name, value in facts.environment.items()],
            "WorkingDir": facts.working_directory,
            "Labels": {_LABEL: facts.id},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": "1980-01-01T00:00:00Z"}],
    }
    manifest = [{"Config": _CONFIG, "RepoTags": None, "Layers": [_LAYER]}]
    with (
        into.open("xb") as file,
        zstandard.ZstdCompressor(level=_LEVEL).stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as archive,
        layer.open("rb") as written,
    ):
        for name, content in ((_CONFIG, config), (_MANIFEST, manifest)):
            _add_bytes(archive, name, json.dumps(content).encode())
        archive.addfile(_entry(_LAYER, size=layer.stat().st_size), written)
    layer.unlink()


def _entry(
    name: str, *, kind: bytes = tarfile.REGTYPE, size: int = 0, mode: int = 0o644, time: int = 0
) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size, entry.mode, entry.mtime = kind, size, mode, time
    return entry


def _add_bytes(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    archive.addfile(_entry(name, size=len(content)), io.BytesIO(content))


def _write_tree(archive: tarfile.TarFile, tree: Tree, sources: Sources) -> None:
    written: dict[tuple[int, int], str] = {}
    for path, node in tree.walk():
        _write_node(archive, path, node, sources, written)
        vars(archive)["members"].clear()


def _write_node(
    archive: tarfile.TarFile, path: str, node: Node, sources: Sources, written: dict[tuple[int, int], str]
) -> None:
    if isinstance(node, Folder):
        mode = 0o1777 if path == "tmp" else 0o755
        archive.addfile(_entry(path, kind=tarfile.DIRTYPE, mode=mode, time=node.time))
        return
    if isinstance(node, Link):
        entry = _entry(path, kind=tarfile.SYMTYPE, mode=0o777)
        entry.linkname = node.target
        archive.addfile(entry)
        return
    mode = 0o755 if node.executable else 0o644
    if node.size and (first := written.setdefault((node.source, node.start), path)) != path:
        # Docker gives the one file what each name's entry says.
        entry = _entry(path, kind=tarfile.LNKTYPE, mode=mode, time=node.time)
        entry.linkname = first
        archive.addfile(entry)
    else:
        archive.addfile(_entry(path, size=node.size, mode=mode, time=node.time), sources.at(node))


@contextmanager
def _opened(archive: Path) -> Iterator[BinaryIO]:
    with archive.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as plain:
        yield cast(BinaryIO, plain)


def docker_stream(archive: Path) -> Iterator[bytes]:
    """What `docker load` reads."""
    with _opened(archive) as plain:
        while chunk := plain.read(CHUNK):
            yield chunk


def docker_id(archive: Path) -> str:
    """The id that Docker gives to the image.

    Raises:
        ImageDamaged
    """
    try:
        with _opened(archive) as plain, tarfile.open(fileobj=plain, mode="r|") as outer:
            entry = outer.next()
            content = outer.extractfile(entry) if entry is not None and entry.name == _CONFIG else None
            if content is None:
                raise ImageDamaged(f"{archive.name} is no checked image")
            return f"sha256:{hashlib.sha256(content.read()).hexdigest()}"
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise ImageDamaged(f"{archive.name} cannot be read: {error}") from error


def unpack_image(archive: Path, into: Path) -> dict[str, Any]:
    """Unpack a checked image's tree into the new folder ``into``; return its config.

    Every entry's folder must be there, made by an entry before it: no link is ever followed.

    Raises:
        ImageDamaged
    """
    into.mkdir()
    into.chmod(0o755)
    config: dict[str, Any] | None = None
    try:
        with _opened(archive) as plain, tarfile.open(fileobj=plain, mode="r|") as outer:
            for entry in outer:
                content = outer.extractfile(entry)
                if content is not None and entry.name == _CONFIG:
                    config = json.loads(content.read())
                elif content is not None and entry.name == _LAYER:
                    with tarfile.open(fileobj=content, mode="r|", encoding="utf-8") as layer:
                        _unpack_layer(layer, into)
    except (tarfile.TarError, zstandard.ZstdError, OSError, ValueError) as error:
        raise ImageDamaged(f"{archive.name} cannot be unpacked: {error}") from error
    if config is None:
        raise ImageDamaged(f"{archive.name} is no checked image")
    return config


def _unpack_layer(layer: tarfile.TarFile, into: Path) -> None:
    above: list[tarfile.TarInfo] = []  # the folders that are being filled, whose times change with each name in them
    while (entry := layer.next()) is not None:
        vars(layer)["members"].clear()
        while above and not entry.name.startswith(f"{above[-1].name}/"):
            _set_time(above.pop(), into)
        parts = entry.name.split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise ImageDamaged(f"it holds the path {entry.name!r}")
        folder = os.open(into, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in parts[:-1]:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            _unpack_entry(layer, entry, parts[-1], folder, into)
        finally:
            os.close(folder)
        if entry.isdir():
            above.append(entry)
    while above:
        _set_time(above.pop(), into)


def _set_time(folder: tarfile.TarInfo, into: Path) -> None:
    """Give a folder its own time. It was made by us, on a path without links, and stays so while we unpack."""
    os.utime(into / folder.name, (folder.mtime, folder.mtime), follow_symlinks=False)


def _unpack_entry(layer: tarfile.TarFile, entry: tarfile.TarInfo, name: str, folder: int, into: Path) -> None:
    if entry.isdir():
        os.mkdir(name, 0o755, dir_fd=folder)
        os.chmod(name, 0o755, dir_fd=folder)  # noqa: S103  whatever the umask: another uid works in it
    elif entry.issym():
        os.symlink(entry.linkname, name, dir_fd=folder)
    elif entry.islnk():
        # Its target was written by us before, under a path without links, like every other.
        _link(entry.linkname, name, folder, into)
    elif entry.isreg() and (content := layer.extractfile(entry)) is not None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(name, flags, entry.mode & 0o755, dir_fd=folder), "wb") as out:
            shutil.copyfileobj(content, out, CHUNK)
            out.flush()  # what is written later would change the time
            os.fchmod(out.fileno(), entry.mode & 0o755)
            os.utime(out.fileno(), (entry.mtime, entry.mtime))
    else:
        raise ImageDamaged(f"it holds {entry.name!r}, which is neither file, folder nor link")


def _link(target: str, name: str, folder: int, into: Path) -> None:
    *above, last = target.split("/")
    source = os.open(into, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in above:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=source)
            os.close(source)
            source = inner
        os.link(last, name, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
    finally:
        os.close(source)
