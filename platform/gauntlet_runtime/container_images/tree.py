"""An image's layers put together: a tree in memory, whose files are places in the layers. Nothing is unpacked.

So no name, link or mode of a stranger's ever meets this machine's own file system. What a later layer says wins;
whiteouts and opaque folders take away what is below (OCI image specification, `layer.md`).
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gauntlet_runtime.container_images.errors import ImageRefused
from gauntlet_runtime.container_images.tars import MOST_DEPTH, MOST_PATH, parts_of

_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_UNION_NOTES: Final = ".wh..wh."  # what a union file system noted for itself
_MOST_HOPS: Final = 40  # links on the way to one path, as Linux allows
_EXECUTABLE: Final = 0o111
_LATEST: Final = (1 << 33) - 1  # the year 2242, the last that every tar's header takes
#: Looks at entries while whiteouts are applied, and characters of links that are followed; an ordinary image needs some
#: hundred thousand.
_MOST_WORK: Final = 10_000_000


@dataclass(eq=False)
class File:
    """A regular file. Hard links are several of these with one place."""

    layer: int  # that has this name
    source: int  # the layer that has the bytes
    start: int
    size: int
    executable: bool
    time: int  # of its last change, seconds of Unix time


@dataclass(eq=False)
class Special(File):
    """A device, say: empty. Later layers may take it away, or the sandbox its folder; else the image is refused."""

    what: str = ""


@dataclass(eq=False)
class Link:
    """A symbolic link."""

    layer: int
    target: str


@dataclass(eq=False)
class Folder:
    """A folder."""

    layer: int
    depth: int
    time: int = 0  # as a file's
    children: dict[str, Node] = field(default_factory=dict)


Node = File | Link | Folder


class Tree:
    """The root file system so far; ``most_entries`` bounds what all layers together may hold."""

    def __init__(self, *, most_entries: int) -> None:
        self.root = Folder(0, 0)
        self.entries = 0
        self._made = 0  # folders that no entry names, but paths of entries
        self._most = most_entries
        self._work = 0

    def add_layer(self, listed: Iterator[tarfile.TarInfo], *, layer: int, file: str) -> None:
        """Put a layer on top.

        Args:
            layer: its number, from 0; files remember it.
            file: what the layer is called in refusals.

        Raises:
            ImageRefused
        """
        for entry in listed:
            self.entries += 1
            self._check_count(file=file)
            parts = parts_of(entry.name.lstrip("/"), file=file)  # some builders write absolute names: Nix does
            if parts:
                self._add(entry, parts, layer=layer, file=file)

    def _check_count(self, *, file: str) -> None:
        if self.entries + self._made > self._most:
            message = f"has more than {self._most:,} entries, with folders on the way and the layers below it; "
            raise ImageRefused(message + "leave out what the agent does not need.", file=file)

    def _add(self, entry: tarfile.TarInfo, parts: tuple[str, ...], *, layer: int, file: str) -> None:
        *above, name = parts
        if name.startswith(_WHITEOUT):
            self._take_away(above, name, layer=layer)
            return
        folder = self._make(above, layer=layer, entry=entry, file=file)
        there = folder.children.get(name)
        if entry.isdir():
            if isinstance(there, Folder):
                there.layer, there.time = layer, _time(entry)
            else:
                folder.children[name] = _inner(folder, layer, entry=entry, file=file)
        elif entry.issym():
            folder.children[name] = Link(layer, _target(entry, file=file))
        elif entry.islnk():
            folder.children[name] = self._linked(entry, layer=layer, file=file)
        elif entry.isreg() and not entry.issparse():
            executable = bool(entry.mode & _EXECUTABLE)
            folder.children[name] = File(layer, layer, entry.offset_data, entry.size, executable, _time(entry))
        else:
            folder.children[name] = Special(layer, layer, 0, 0, False, 0, what=_kind(entry))

    def _linked(self, entry: tarfile.TarInfo, *, layer: int, file: str) -> File | Link:
        target = self.find(parts_of(entry.linkname.lstrip("/"), file=file), follow=False)
        if not isinstance(target, File | Link):  # links have hard links too: `ln` makes them
            message = f"{file} holds this hard link to {entry.linkname[:200]!r}, which is no file of the image."
            raise ImageRefused(message, file=entry.name)
        return replace(target, layer=layer)

    def _take_away(self, above: Sequence[str], name: str, *, layer: int) -> None:
        folder = self.find(above)
        if not isinstance(folder, Folder):
            return  # there is nothing below it
        if name == _OPAQUE:
            self._prune(folder, layer)
        elif not name.startswith(_UNION_NOTES):
            self._remove(folder, name.removeprefix(_WHITEOUT), layer)

    def _remove(self, folder: Folder, name: str, layer: int) -> None:
        """A whiteout: what lower layers have at this name goes, what this one has stays."""
        there = folder.children.get(name)
        if isinstance(there, Folder):
            self._prune(there, layer)
        if there is not None and _is_gone(there, layer):
            del folder.children[name]

    def _prune(self, folder: Folder, layer: int) -> None:
        """Take away what lower layers put into a folder, at whatever depth."""
        self._use(1 + len(folder.children))
        for name, node in list(folder.children.items()):
            if isinstance(node, Folder):
                self._prune(node, layer)
            if _is_gone(node, layer):
                del folder.children[name]

    def _use(self, work: int) -> None:
        self._work += work
        if self._work > _MOST_WORK:
            message = "The image's links lead further, or its layers take away more, than those of any image do; "
            raise ImageRefused(message + "build it in fewer steps, with shorter links.")

    def _make(self, parts: Sequence[str], *, layer: int, entry: tarfile.TarInfo, file: str) -> Folder:
        """The folder at a path, made where a layer does not name it; links on the way are followed inside the root."""
        folder = self.root
        done: list[str] = []
        for part in parts:
            done.append(part)
            there = folder.children.get(part)
            if isinstance(there, Link):
                there = self.find(done) or there
            if there is None:
                self._made += 1
                self._check_count(file=file)
                there = folder.children[part] = _inner(folder, layer, entry=entry, file=file)
            if not isinstance(there, Folder):
                message = f"{file} holds this, but {'/'.join(done)[:200]} is no folder; build the image again."
                raise ImageRefused(message, file=entry.name)
            folder = there
        return folder

    def find(self, parts: Sequence[str], *, follow: bool = True) -> Node | None:
        """What is at a path; links are followed inside the root, the last one only where ``follow`` is set."""
        found = self.resolve(parts, follow=follow)
        return None if found is None else found[1]

    def resolve(self, parts: Sequence[str], *, follow: bool = True) -> tuple[tuple[str, ...], Node] | None:
        """The path without links on the way, and what is there; None where there is nothing."""
        trail: list[tuple[str, Folder]] = [("", self.root)]
        left = list(reversed(parts))
        hops = 0
        while left:
            part = left.pop()
            if part == "..":
                trail = trail[: max(1, len(trail) - 1)]  # above the root is the root
                continue
            there = trail[-1][1].children.get(part)
            if isinstance(there, Link) and (left or follow):
                hops += 1
                if hops > _MOST_HOPS:
                    return None
                self._use(len(there.target))
                if there.target.startswith("/"):
                    trail = trail[:1]
                left += [one for one in reversed(there.target.split("/")) if one not in ("", ".")]
            elif isinstance(there, Folder):
                trail.append((part, there))
            elif there is None or left:
                return None
            else:
                return (*(name for name, _ in trail[1:]), part), there
        return tuple(name for name, _ in trail[1:]), trail[-1][1]

    def make_folder(self, parts: Sequence[str], *, file: str) -> tuple[tuple[str, ...], Node]:
        """Make a folder that an image names but does not have; return it as `resolve` does.

        Raises:
            ImageRefused: something else is in its place.
        """
        entry = tarfile.TarInfo("/".join(parts))
        self._make(parts, layer=0, entry=entry, file=file)
        found = self.resolve(parts)
        if found is None:
            raise ImageRefused("cannot be made a folder in the image.", file=entry.name)
        return found

    def walk(self) -> Iterator[tuple[str, Node]]:
        """Every path with what is there, folders before what is in them, in one order."""
        waiting = [("", iter(sorted(self.root.children.items())))]  # paths of folders, not of all that is in them
        while waiting:
            above, left = waiting[-1]
            found = next(left, None)
            if found is None:
                waiting.pop()
                continue
            name, node = found
            yield above + name, node
            if isinstance(node, Folder):
                waiting.append((f"{above}{name}/", iter(sorted(node.children.items()))))


def _kind(entry: tarfile.TarInfo) -> str:
    if entry.isdev():
        return "a FIFO" if entry.isfifo() else "a device"
    return "of a kind that no image needs"


def _target(entry: tarfile.TarInfo, *, file: str) -> str:
    target = entry.linkname
    if not target or "\0" in target:
        raise ImageRefused(f"{file} holds this link, which leads to nothing that has a name.", file=entry.name)
    if len(target.encode(errors="surrogateescape")) >= MOST_PATH:
        most = f"a path of more than {MOST_PATH - 1:,} bytes"
        raise ImageRefused(f"{file} holds this link, which leads to {most}; use a shorter one.", file=entry.name)
    return target


def _is_gone(node: Node, layer: int) -> bool:
    """Whether nothing of this layer is left of it, once what is below was taken away."""
    return node.layer < layer and not (isinstance(node, Folder) and node.children)


def _inner(folder: Folder, layer: int, *, entry: tarfile.TarInfo, file: str) -> Folder:
    """A new folder in another."""
    if folder.depth >= MOST_DEPTH:  # links can lead to where no path of an entry does
        raise ImageRefused(f"{file} holds this, more than {MOST_DEPTH} folders deep.", file=entry.name)
    return Folder(layer, folder.depth + 1, _time(entry))


def _time(entry: tarfile.TarInfo) -> int:
    try:
        return min(max(int(entry.mtime), 0), _LATEST)
    except (ValueError, OverflowError):  # an extended header may say `nan` or `inf`
        return 0
