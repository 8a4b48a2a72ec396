"""The command `docker` for tests: it knows a few images, and saves an archive as Docker 28 does, never twice the same.

    docker_command.py FOLDER WORDS...

The folder holds `images.json` (ids, each with its names), `archive.tar` (what every image is saved as) and perhaps
`fails` (what `save` says when it has written half). It gets `saved`: the names that were saved, a line each time.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tarfile
from pathlib import Path

TIME = 1_700_000_000


def main(folder: Path, words: list[str]) -> int:
    """Do what `docker` does with these words."""
    images: dict[str, list[str]] = json.loads((folder / "images.json").read_text())
    name = words[-1]
    if words[:2] == ["image", "inspect"]:
        return inspect(images, name)
    assert words[:1] == ["save"], words
    return save(folder, images, name)


def inspect(images: dict[str, list[str]], name: str) -> int:
    """An image by a name, without a tag the one called `latest`, or else by its id."""
    wanted = f"{name}:latest" if is_name_only(name) else name
    found = [identity for identity, names in images.items() if wanted in names] or by_id(images, name)
    if not found:
        sys.stderr.write(f"Error response from daemon: No such image: {name}\n")
        return 1
    names = [one for one in images[found[0]] if "@" not in one]
    print(found[0], json.dumps(names))  # noqa: T201  the command's output
    return 0


def save(folder: Path, images: dict[str, list[str]], name: str) -> int:
    """Every image of a name without a tag, or the one of another name or id."""
    every = [one for names in images.values() for one in names]
    of_name = [one for one in every if "@" not in one and one.rpartition(":")[0] == name]
    found = (of_name if is_name_only(name) else [one for one in every if one == name]) or by_id(images, name)
    count = note(folder / "saved", found)
    made = archive(folder / "archive.tar", time=TIME + count)
    fails = folder / "fails"
    sys.stdout.buffer.write(made[: len(made) // 2] if fails.exists() else made)
    if fails.exists():
        sys.stderr.write(fails.read_text())
    return int(fails.exists())


def is_name_only(name: str) -> bool:
    """Whether a name has neither tag nor digest."""
    return "@" not in name and ":" not in name.rpartition("/")[2]


def by_id(images: dict[str, list[str]], name: str) -> list[str]:
    """The image whose id begins so."""
    return [one for one in images if one.removeprefix("sha256:").startswith(name.removeprefix("sha256:"))]


def note(file: Path, found: list[str]) -> int:
    """Add a line to a file; return how many there are."""
    with file.open("a") as lines:
        lines.write(json.dumps(found) + "\n")
    return len(file.read_text().splitlines())


def archive(file: Path, *, time: int) -> bytes:
    """The archive's files, with their folder's entry before them, which has the present time, and trailing zeros."""
    out = io.BytesIO()
    with tarfile.open(file) as source, tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as made:
        blobs = tarfile.TarInfo("blobs/sha256")
        blobs.type, blobs.mtime, blobs.mode = tarfile.DIRTYPE, time, 0o755
        made.addfile(blobs)
        for entry in source:
            entry.mtime = TIME
            made.addfile(entry, source.extractfile(entry))
    shutil.copyfileobj(io.BytesIO(bytes(1 << 20)), out)
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
