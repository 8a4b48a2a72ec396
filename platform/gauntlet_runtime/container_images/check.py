"""The check of an image archive: read, bounded, put together, and written anew as one that is safe to run."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from gauntlet_runtime.container_images.accounts import drop_numbered_accounts
from gauntlet_runtime.container_images.archive import Archive, FoundImage, Part, part_of
from gauntlet_runtime.container_images.config import Config, read_config
from gauntlet_runtime.container_images.errors import ImageRefused, shown
from gauntlet_runtime.container_images.packing import Sources, write_image
from gauntlet_runtime.container_images.streams import Budget, decompressed, is_image_archive, is_plain
from gauntlet_runtime.container_images.tars import MOST_PATH, entries, parts_of
from gauntlet_runtime.container_images.tree import File, Folder, Special, Tree

HEAD: Final = 512  # bytes that tell what a file is
MOST_NAMES: Final = 60_000  # of one file: ext4 takes 65,000
_HEADER_SHARE: Final = 4096  # bytes of headers, and of paths below, for each entry that an image may have:
_PATH_SHARE: Final = 1024  # many times what ordinary ones take
#: Places that are the sandbox's own: what an image has there is dropped.
PROVIDED: Final = ("dev", "proc", "sys", "tmp")
_OPEN: Final = (("tmp",), ("dev", "shm"))  # where a program may work all the same: they are there, and empty
DOOR: Final = ("run", "gauntlet")
PRIVATE: Final = ".gauntlet"  # where the launcher is, in the sandbox


@dataclass(frozen=True, kw_only=True)
class ImageLimits:
    """What an image may be."""

    unpacked_bytes: int = 8 << 30  # of all its layers, and of what is needed on disk to read them
    entries: int = 300_000  # of all its layers


@dataclass(frozen=True, kw_only=True)
class CheckedImage:
    """An image that can be run: what was found."""

    id: str  # "sha256:…", as the participant's Docker shows it
    command: list[str]
    environment: dict[str, str]
    working_directory: str
    architecture: str
    user: str  # as the image has it
    layers: int
    entries: int
    size: int  # bytes of its files
    notes: list[str]  # sentences for the participant


def check_image(
    source: BinaryIO, into: Path, *, work: Path, limits: ImageLimits, unwanted: threading.Event | None = None
) -> CheckedImage:
    """Check an image archive and write what is to be run to the new file ``into``.

    What is written is an archive of `docker save`'s form with one layer, compressed by zstd. All in it belongs to root,
    can be read by all, has no setuid bit, and each path is there once; equal images give equal bytes.

    Args:
        source: seekable; a tar (docker save, OCI layout), plain or compressed by gzip or zstd.
        work: a folder for what has to lie on disk meanwhile: at most twice the limit.
        unwanted: set when nobody waits for the answer any more.

    Raises:
        ImageRefused: the sentence says what to do.
        LeaseLost: ``unwanted`` was set meanwhile.
    """
    most = limits.unpacked_bytes
    budget = Budget(most, most, limits.entries * _HEADER_SHARE, unwanted or threading.Event())
    with _plain(source, work=work, budget=budget, file="") as (plain, size):
        archive = Archive(plain, size=size, budget=budget)
        found = archive.image()
        config = read_config(found.config, file=found.config_file)
        with tempfile.TemporaryDirectory(prefix="layers-", dir=work) as folder:
            layers = _Layers(archive, plain, work=Path(folder), budget=budget)
            tree, sources = _put_together(found, config, layers, budget=budget, most_entries=limits.entries)
            notes = [*config.notes, *_make_places(tree)]
            drop_numbered_accounts(tree, sources)
            directory = _working_directory(tree, config, file=found.config_file)
            _check_start(tree, config, directory=directory, file=found.config_file)
            _check_names(tree, most_bytes=limits.entries * _PATH_SHARE)
            used = sum({(f.source, f.start): f.size for _, f in tree.walk() if isinstance(f, File)}.values())
            if used > limits.unpacked_bytes:
                raise ImageRefused(f"The image has {used:,} bytes of files; at most {most:,} are taken.")
            image = CheckedImage(
                id=found.id,
                command=config.command,
                environment=config.environment,
                working_directory=directory,
                architecture=config.architecture,
                user=config.user,
                layers=len(found.layers),
                entries=tree.entries,
                size=used,
                notes=notes,
            )
            budget.look()
            write_image(tree, sources, into=into, work=Path(folder), facts=image)
    return image


@contextmanager
def _plain(source: BinaryIO, *, work: Path, budget: Budget, file: str) -> Iterator[tuple[BinaryIO, int]]:
    """The archive without compression, and its size."""
    source.seek(0)
    head = source.read(HEAD)
    if not is_image_archive(head):
        raise ImageRefused("The file is no image archive; make it with: docker save NAME:TAG -o FILE", file=file)
    if is_plain(head):
        yield source, source.seek(0, os.SEEK_END)
        return
    with tempfile.TemporaryFile(dir=work) as spool:
        decompressed(source, cast(BinaryIO, spool), budget=budget, file=file or "the archive")
        yield cast(BinaryIO, spool), spool.tell()


@dataclass(frozen=True)
class _Layer:
    """A layer's tar: the file that it is in, where, its size, and its SHA-256 (hexadecimal)."""

    source: BinaryIO
    start: int
    size: int
    digest: str


class _Layers:
    """Reads layers, each once, however often an image names it."""

    def __init__(self, archive: Archive, plain: BinaryIO, *, work: Path, budget: Budget) -> None:
        self._archive = archive
        self._plain = plain
        self._work = work
        self._budget = budget
        self._known: dict[Part, _Layer] = {}

    def read(self, part: Part) -> _Layer:
        """The tar of the layer that is this file of the archive."""
        if part not in self._known:
            self._known[part] = self._read(part)
        return self._known[part]

    def _read(self, part: Part) -> _Layer:
        window = part_of(self._plain, part)
        if is_plain(window.read(min(HEAD, part.size))):
            return _Layer(self._plain, part.start, part.size, self._archive.digest_of(part))
        spool = cast(BinaryIO, (self._work / f"layer-{len(self._known)}").open("w+b"))
        digest = decompressed(window, spool, budget=self._budget, file=part.name)
        return _Layer(spool, 0, spool.tell(), digest)


def _put_together(
    found: FoundImage, config: Config, layers: _Layers, *, budget: Budget, most_entries: int
) -> tuple[Tree, Sources]:
    if len(found.layers) != len(config.diff_ids):
        message = f"lists {len(config.diff_ids)} layers, and the archive has {len(found.layers)}; save the image again."
        raise ImageRefused(message, file=found.config_file)
    tree, sources = Tree(most_entries=most_entries), Sources()
    for number, (part, wanted) in enumerate(zip(found.layers, config.diff_ids, strict=True)):
        layer = layers.read(part)
        if f"sha256:{layer.digest}" != wanted:
            message = "is not the layer that the image's config names: its digest is another; save the image again."
            raise ImageRefused(message, file=part.name)
        sources.add(layer.source, layer.start)
        listed = entries(layer.source, start=layer.start, size=layer.size, file=part.name, budget=budget)
        tree.add_layer(listed, layer=number, file=part.name)
    return tree, sources


def _check_names(tree: Tree, *, most_bytes: int) -> None:
    """Refuse names that cannot be unpacked: of devices, too long, too many for one file, or for the memory."""
    names: Counter[tuple[int, int]] = Counter()
    left = most_bytes
    for path, file in tree.walk():
        length = len(path.encode(errors="surrogateescape"))
        if length >= MOST_PATH:  # links can lead to where no path of an entry does
            message = (
                f"has a path of more than {MOST_PATH - 1:,} bytes; use shorter names, or fewer folders in folders."
            )
            raise ImageRefused(message, file=path)
        if isinstance(file, Special):
            message = f"is {file.what}; remove it from the image, in a later layer for example (RUN rm)."
            raise ImageRefused(message, file=path)
        left -= length
        if left < 0:
            message = f"The paths in the image have more than {most_bytes:,} bytes together; "
            raise ImageRefused(message + "use shorter names, or fewer folders in folders.")
        if isinstance(file, File) and file.size:
            place = (file.source, file.start)
            names[place] += 1
            if names[place] > MOST_NAMES:
                raise ImageRefused(f"has more than {MOST_NAMES:,} names (hard links); use links, or copies.", file=path)


def _make_places(tree: Tree) -> list[str]:
    """Give the sandbox's own folders their places, empty; say what was dropped."""
    notes = []
    if PRIVATE in tree.root.children:
        raise ImageRefused("is a name that the sandbox keeps for itself; rename it in the image.", file=f"/{PRIVATE}")
    for name in PROVIDED:
        there = tree.root.children.get(name)
        if isinstance(there, Folder) and there.children:
            notes.append(f"What the image has in /{name} is left out: the sandbox has its own.")
        tree.root.children[name] = Folder(0, 1)
    folder = tree.root
    for name in DOOR:
        there = folder.children.setdefault(name, Folder(0, folder.depth + 1))
        if not isinstance(there, Folder):
            raise ImageRefused("must be a folder, or absent: the agent's door is put there.", file="/run/gauntlet")
        folder = there
    folder.children.clear()
    etc = tree.root.children.setdefault("etc", Folder(0, 1))
    if not isinstance(etc, Folder):
        raise ImageRefused("must be a folder in the image.", file="/etc")
    etc.children.pop("ld.so.preload", None)  # nothing of an image is loaded into what is not of the image
    return notes


def _working_directory(tree: Tree, config: Config, *, file: str) -> str:
    """Where the program is started, without links on the way; made where the image does not have it."""
    parts = parts_of(config.working_directory.lstrip("/"), file=file)
    found = tree.resolve(parts)
    if found is None:  # Docker makes it, too
        found = tree.make_folder(parts, file=file)
    place, node = found
    has = f"has the WORKDIR {shown(config.working_directory)},"
    if not isinstance(node, Folder):
        raise ImageRefused(f"{has} which is no folder.", file=file)
    if place not in _OPEN and (place[:1] in [(name,) for name in (*PROVIDED, PRIVATE)] or place[: len(DOOR)] == DOOR):
        message = f"{has} where the sandbox has its own folders; use another, /app for example."
        raise ImageRefused(message, file=file)
    directory = "/" + "/".join(place)
    if directory.encode(errors="ignore").decode() != directory:  # what stores it takes nothing else
        message = f"{has} which leads to a folder whose name is no UTF-8; rename that in the image."
        raise ImageRefused(message, file=file)
    return directory


def _check_start(tree: Tree, config: Config, *, directory: str, file: str) -> None:
    """Check that the image holds what it starts."""
    program = config.command[0]
    if program.startswith("/"):
        places = [program]
    elif "/" in program:
        places = [f"{directory}/{program}"]
    else:
        places = [f"{folder}/{program}" for folder in config.environment["PATH"].split(":") if folder]
    if not any(_can_start(tree, one) for one in places):
        message = f"starts '{shown(program)}', which is not in the image, or may not be executed (chmod +x)."
        raise ImageRefused(message, file=file)


def _can_start(tree: Tree, place: str) -> bool:
    node = tree.find([part for part in place.split("/") if part not in ("", ".")])
    return isinstance(node, File) and node.executable
