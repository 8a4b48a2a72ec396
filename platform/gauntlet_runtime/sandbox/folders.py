"""The writable folders of a sandbox, held open from the host: filled before the start, read after the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet_runtime.sandbox.interface import SandboxError
from gauntlet_runtime.sandbox.layout import SCRATCH, Placed
from gauntlet_runtime.sandbox.outputs import seed_tree


@dataclass(kw_only=True)
class Anchor:
    """The first process of a sandbox, and its writable folders, each of them a tmpfs."""

    init: int  # process id on the host; all of the sandbox dies with it
    init_handle: int  # pidfd of the same: a number may be used again, a handle is not
    folders: dict[str, int] = field(default_factory=dict)  # target -> descriptor; it keeps the tmpfs alive

    def open_folders(self, mounts: Sequence[Placed], *, owner: int | None) -> None:
        """Open every writable folder, fill those that have a source, give them to ``owner`` (None: they are ours).

        Raises:
            SandboxError: one cannot be opened or filled.
        """
        sources = {str(one.target): one.source for one in mounts if one.size}
        try:
            for target in (*SCRATCH, *sources):
                path = f"/proc/{self.init}/root{target}"
                self.folders[target] = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for target, source in sources.items():
                _fill(self.folders[target], source, owner)
        except OSError as error:
            raise SandboxError(f"cannot prepare the sandbox's folders: {error}") from error

    def close(self) -> None:
        """Close the descriptors; the folders' contents are gone then."""
        for descriptor in (*self.folders.values(), self.init_handle):
            os.close(descriptor)
        self.folders.clear()


def _fill(folder: int, source: Path | None, owner: int | None) -> None:
    if source is not None:
        seed_tree(source, folder, owner=owner)
    if owner is not None:
        os.fchown(folder, owner, owner)
