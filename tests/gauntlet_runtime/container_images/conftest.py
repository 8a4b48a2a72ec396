"""Checks archives, and shows what came of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gauntlet_runtime.container_images import CheckedImage, ImageLimits, check_image, unpack_image


@dataclass
class Taken:
    """An image that was taken, unpacked."""

    image: CheckedImage
    archive: Path
    root: Path
    config: dict[str, Any]

    @property
    def files(self) -> dict[str, str]:
        """What is in it: contents of files, targets of links, "/" for folders; without the sandbox's own places."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if name.split("/")[0] not in {"dev", "proc", "sys", "tmp", "run", "etc"}:
                found[name] = "/" if path.is_dir() and not path.is_symlink() else _shown(path)
        return found


def _shown(path: Path) -> str:
    return f"-> {path.readlink()}" if path.is_symlink() else path.read_text()


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., Taken]:
    """Check an archive and unpack what was written."""
    count = iter(range(100))

    def one(archive: bytes, **limits: int) -> Taken:
        folder = tmp_path / f"taken-{next(count)}"
        (folder / "work").mkdir(parents=True)
        limit = ImageLimits(**limits)
        image = check_image(io.BytesIO(archive), folder / "image", work=folder / "work", limits=limit)
        assert list((folder / "work").iterdir()) == []
        config = unpack_image(folder / "image", folder / "root")
        return Taken(image, folder / "image", folder / "root", config)

    return one


@pytest.fixture
def refuse(tmp_path: Path) -> Callable[..., str]:
    """Check an archive that must be refused, and that nothing of it is left; return the sentence."""

    def one(archive: bytes, **limits: int) -> str:
        from gauntlet_runtime.container_images import ImageRefused

        work = tmp_path / "work"
        work.mkdir()
        with pytest.raises(ImageRefused) as refusal:
            check_image(io.BytesIO(archive), tmp_path / "image", work=work, limits=ImageLimits(**limits))
        assert list(work.iterdir()) == []
        assert not (tmp_path / "image").exists()
        return str(refusal.value)

    return one
