"""An image's lists of users and groups, without those whose name is a number.

A sandbox's uid and gid are given to programs as numbers, and some of them look for a user or a group of that *name*
first: `setpriv`, and Docker for the groups of what it runs. A group called 1900000001 with the number 0 would make the
program a member of group 0.
"""

from __future__ import annotations

import io
from typing import Final

from gauntlet_runtime.container_images.errors import ImageRefused
from gauntlet_runtime.container_images.packing import Sources
from gauntlet_runtime.container_images.tree import File, Folder, Tree

LISTS: Final = (("etc", "passwd"), ("etc", "group"))
_MOST_BYTES: Final = 4 << 20


def drop_numbered_accounts(tree: Tree, sources: Sources) -> None:
    """Take them out of the lists, wherever links lead to them.

    Raises:
        ImageRefused: a list is too long to be read.
    """
    for parts in LISTS:
        found = tree.resolve(parts)
        if found is None:
            continue
        path, file = found
        if not isinstance(file, File):
            continue
        if file.size > _MOST_BYTES:
            raise ImageRefused(f"has more than {_MOST_BYTES:,} bytes; make it shorter.", file="/".join(path))
        lines = sources.at(file).read(file.size).splitlines(keepends=True)
        kept = b"".join(line for line in lines if not line.split(b":")[0].strip().isdigit())
        if len(kept) != file.size:
            folder = tree.find(path[:-1])
            assert isinstance(folder, Folder)  # noqa: S101  what `resolve` found is in it
            source = sources.add(io.BytesIO(kept), 0)
            folder.children[path[-1]] = File(file.layer, source, 0, len(kept), file.executable, file.time)
