"""The file system that a program sees under bubblewrap, as bubblewrap's arguments."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gauntlet_runtime.sandbox.interface import Limits, Mount, SandboxError
from gauntlet_runtime.sandbox.outputs import tree_size

_PROVIDED = {"proc", "dev", "tmp", "sys", ".gauntlet"}  # never taken from the image
SHARED_MEMORY = 64 << 20  # /dev/shm, as Docker has it
SCRATCH = ("/tmp", "/dev/shm")  # noqa: S108  places inside the sandbox
_OPEN_FOLDER = 0o005  # others may list and enter


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A mount whose target was checked."""

    target: PurePosixPath
    source: Path | None
    size: int  # of a writable one, bytes; 0: read-only


def place(mounts: Sequence[Mount], *, room: int, foreign_uid: bool) -> list[Placed]:
    """Check the mounts; outer targets come before inner ones. A writable one has ``room`` bytes beside its source's.

    Raises:
        SandboxError: a target is not an absolute path of its own, or a source cannot be read by the sandbox's uid.
    """
    placed = []
    for mount in mounts:
        target = PurePosixPath(mount.target)
        if not target.is_absolute() or ".." in target.parts or len(target.parts) < 2:
            raise SandboxError(f"{mount.target!r} is no place for a mount")
        if target.parts[1] in {"proc", "dev", "sys"} or str(target) in SCRATCH:
            raise SandboxError(f"{mount.target!r} is the sandbox's own")
        if mount.source is None and not mount.writable:
            raise SandboxError(f"the read-only mount at {mount.target} has no source")
        if mount.source is not None:
            _check_source(mount.source, mount.writable, foreign_uid)
        size = 0
        if mount.writable:
            size = room + (tree_size(mount.source) if mount.source is not None else 0)
        placed.append(Placed(target=target, source=mount.source, size=size))
    if len({one.target for one in placed}) != len(placed):
        raise SandboxError("two mounts have the same target")
    return sorted(placed, key=lambda one: len(one.target.parts))


def _check_source(source: Path, writable: bool, foreign_uid: bool) -> None:
    try:
        mode = source.stat().st_mode
    except OSError as error:
        raise SandboxError(f"the source of a mount cannot be read: {error}") from error
    if writable and not stat.S_ISDIR(mode):
        raise SandboxError(f"{source} is not a folder; only folders can be writable in a sandbox")
    needed = _OPEN_FOLDER if stat.S_ISDIR(mode) else 0o004
    if foreign_uid and not writable and mode & needed != needed:
        raise SandboxError(f"the sandbox's uid cannot read {source}: chmod o+rX it, or mount a folder inside it")


def file_system(rootfs: Path, mounts: Sequence[Placed], limits: Limits, *, first: Sequence[str] = ()) -> list[str]:
    """bubblewrap's arguments for the whole tree, from the root to the remount that makes it read-only.

    bubblewrap can only make the folders of a mount's target where it may write, and the image is no such place. So
    the root is a small tmpfs; what the image has at its top is bound into it piece by piece, and a folder of the image
    in which a mount needs a new place is built the same way, one level further down. ``first`` are further arguments,
    for what is the sandbox's own.
    """
    arguments = _bind_children(rootfs, PurePosixPath("/"), [one.target for one in mounts])
    arguments += [*first, "--proc", "/proc", "--dev", "/dev"]
    shared = min(limits.scratch, SHARED_MEMORY)
    for target, size in zip(SCRATCH, (limits.scratch, shared), strict=True):
        arguments += ["--perms", "1777", "--size", str(size), "--tmpfs", target]
    # The order of mounts counts: a tmpfs hides what was bound below it before.
    for one in mounts:
        arguments += _folders_towards(rootfs, one)
        if one.size:
            arguments += ["--perms", "0755", "--size", str(one.size), "--tmpfs", str(one.target)]
        else:
            arguments += ["--ro-bind", str(one.source), str(one.target)]
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/"]


def _bind_children(rootfs: Path, folder: PurePosixPath, targets: Iterable[PurePosixPath]) -> list[str]:
    targets = list(targets)
    arguments: list[str] = []
    for entry in sorted(os.scandir(rootfs / folder.relative_to("/")), key=lambda entry: entry.name):
        path = folder / entry.name
        if len(path.parts) == 2 and entry.name in _PROVIDED:
            continue
        inner = [target for target in targets if path in target.parents]
        if entry.is_symlink():
            if inner or path in targets:
                raise SandboxError(f"{path} is a link in the image; mount at its destination")
            arguments += ["--symlink", os.readlink(entry.path), str(path)]
        elif entry.is_dir() and any(not _is_folder(rootfs, target) for target in inner):
            arguments += ["--perms", "0755", "--dir", str(path), *_bind_children(rootfs, path, inner)]
        else:
            arguments += ["--ro-bind", entry.path, str(path)]
    return arguments


def _is_folder(rootfs: Path, target: PurePosixPath) -> bool:
    """Whether the image has the folder, with no link on the way."""
    path = rootfs
    for part in target.parts[1:]:
        path = path / part
        if path.is_symlink() or not path.is_dir():
            return False
    return True


def _folders_towards(rootfs: Path, placed: Placed) -> list[str]:
    """Name each folder on the way: those that bubblewrap makes by itself are closed to everyone but root."""
    arguments = []
    for parent in reversed(placed.target.parents[:-1]):
        if not _is_folder(rootfs, parent):
            arguments += ["--perms", "0755", "--dir", str(parent)]
    return arguments
