"""The images that are installed on this host: by `sandbox_images/build.py`, or from a submission."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet_runtime.sandbox.interface import ImageUnavailable

_NAME = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)*")


@dataclass(frozen=True, kw_only=True)
class InstalledImage:
    """An unpacked image."""

    name: str
    digest: str  # "sha256:…", over the tree's names, modes, links and contents
    rootfs: Path
    environment: Mapping[str, str]
    command: Sequence[str]
    submitted: bool = False  # a participant's: nothing of it may run before the sandbox's uid is taken on


def default_images_folder() -> Path:
    """GAUNTLET_IMAGES, or ./var/images."""
    return Path(os.environ.get("GAUNTLET_IMAGES", "var/images")).absolute()


def installed_image(name: str, *, folder: Path) -> InstalledImage:
    """Find an image by name.

    Raises:
        ImageUnavailable: it is not installed, or its name is none.
    """
    if not _NAME.fullmatch(name):
        raise ImageUnavailable(f"{name!r} is not the name of an image")
    try:
        # Resolved once: a build that moves `current` meanwhile must not give the tree of one and the config of another.
        home = (folder / name / "current").resolve(strict=True)
        config = json.loads((home / "config.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise ImageUnavailable(
            f"image {name} is not in {folder}; make it with: python sandbox_images/build.py"
        ) from error
    return InstalledImage(
        name=name,
        digest=config["digest"],
        rootfs=home / "rootfs",
        environment=config["environment"],
        command=config["command"],
        submitted=config.get("submitted", False),
    )
