"""Participants' images as bubblewrap needs them: unpacked under the images folder, by digest and start of machine."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gauntlet_runtime.boot import this_boot
from gauntlet_runtime.container_images import ImageDamaged, unpack_image
from gauntlet_runtime.sandbox.image_shelf import SUBMITTED, ImageShelf, default_shelf_bytes, submitted_name
from gauntlet_runtime.sandbox.interface import SandboxError
from gauntlet_runtime.sandbox.processes import this_process

_DRAFT: Final = ".draft-"  # what is being made or dropped, with the process that does


class SubmittedTrees:
    """Trees that all workers of a host share, in ``images`` beside the operator's own."""

    def __init__(self, images: Path, *, most_bytes: int | None = None) -> None:
        self._folder = images / SUBMITTED
        self._shelf = ImageShelf(
            self._folder / ".kept",
            is_there=lambda entry: (self._folder / entry / "current").exists(),
            drop=self._drop,
            most_bytes=default_shelf_bytes() if most_bytes is None else most_bytes,
        )

    @contextmanager
    def borrowed(self, archive: Path, *, digest: str) -> Iterator[str]:
        """The name under which the image of this archive is installed, for the length of the block.

        Raises:
            SandboxError: it cannot be unpacked.
        """
        name = f"{submitted_name(digest)}-{this_boot()}"
        entry = name.rpartition("/")[2]
        with self._shelf.borrowed(entry, lambda: self._make(archive, entry, digest=digest)):
            yield name

    def _make(self, archive: Path, entry: str, *, digest: str) -> int:
        self._folder.mkdir(parents=True, exist_ok=True)
        place = self._folder / entry
        shutil.rmtree(place, ignore_errors=True)  # of a worker that was killed meanwhile
        with self._draft() as making:
            draft = Path(making) / "image"
            home = draft / "image"
            home.mkdir(parents=True)
            for folder in (draft, home):
                folder.chmod(0o755)
            try:
                config = unpack_image(archive, home / "rootfs")
            except ImageDamaged as error:
                raise SandboxError(f"the image of a submission cannot be unpacked: {error}") from error
            (home / "config.json").write_text(json.dumps(_installed(config, digest)))
            (draft / "current").symlink_to("image")
            size = _bytes_of(home)
            draft.rename(place)
        return size

    def _drop(self, entry: str) -> None:
        with self._draft() as dropping:
            (self._folder / entry).rename(Path(dropping) / "image")

    def _draft(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix=f"{_DRAFT}{this_process()}-", dir=self._folder)

    def reap(self, is_alive: Callable[[str], bool]) -> list[str]:
        """Remove what processes that are no longer alive were making or dropping; return the folders' names."""
        reaped = []
        for left in self._folder.glob(f"{_DRAFT}*"):
            if not is_alive(left.name.removeprefix(_DRAFT).rpartition("-")[0]):
                shutil.rmtree(left, ignore_errors=True)
                reaped.append(left.name)
        return reaped


def _installed(config: dict[str, object], digest: str) -> dict[str, object]:
    """What `images.installed_image` reads. The environment is the run's to give, together with the platform's."""
    return {
        "digest": digest,
        "environment": {},
        "command": [],
        "submitted": True,
        "architecture": config["architecture"],
    }


def _bytes_of(folder: Path) -> int:
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, files in os.walk(folder) for name in files)
