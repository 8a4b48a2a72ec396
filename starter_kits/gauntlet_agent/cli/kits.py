"""A competition's public data on this machine, fetched once a phase and version."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO, Final

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import console
from gauntlet_agent.cli.platform_api import PlatformApi
from gauntlet_agent.cli.submit import choose_phase

_MOST_BYTES: Final = 4 << 30  # unpacked; a kit beyond that is a mistake or an attack
_CHUNK: Final = 1 << 20


def cache_folder() -> Path:
    """Where kits are kept, after the XDG base directory specification."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "gauntlet" / "kits"


def kit_folder(api: PlatformApi, slug: str, phase: int | None) -> Path:
    """Fetch the public data of a phase and return the folder it is in.

    Raises:
        CommandFailed: there is none, or it is not a sound archive.
    """
    if phase is None:
        phase = int(choose_phase(api.competition(slug), None, open_only=False)["index"])
    with tempfile.TemporaryFile() as archive:
        api.download_kit(slug, phase, into=archive)
        archive.seek(0)
        digest = hashlib.file_digest(archive, "sha256").hexdigest()
        folder = cache_folder() / digest[:32]
        if not folder.is_dir():
            archive.seek(0)
            _unpack_whole(archive, folder)
    inner = competition_folder(folder)
    console(stderr=True).print(f"Public data of {slug}, phase {phase}, in {inner}")
    return inner


def competition_folder(folder: Path) -> Path:
    """The folder that holds ``competition.yaml``: this one, or the only one in it.

    Raises:
        CommandFailed: there is none.
    """
    if (folder / "competition.yaml").is_file():
        return folder
    inner = [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []
    if len(inner) == 1 and (inner[0] / "competition.yaml").is_file():
        return inner[0]
    raise CommandFailed(f"There is no competition.yaml in {folder}.", code=Exit.USAGE)


def _unpack_whole(archive: IO[bytes], folder: Path) -> None:
    """Unpack beside the place and move there when all is well, so that half a kit is never taken for one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        unpack(archive, beside)
        os.replace(beside, folder)
    except zipfile.BadZipFile as error:
        raise CommandFailed("What the platform sent is not a zip archive.", code=Exit.UNREACHABLE) from error
    except OSError as error:
        if not folder.is_dir():  # another run may have been quicker
            raise CommandFailed(f"The public data cannot be unpacked: {error}.") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def unpack(archive: IO[bytes], into: Path) -> None:
    """Unpack plain files and folders only, nothing outside ``into``.

    Raises:
        CommandFailed: an entry leads elsewhere, or it is too much.
        zipfile.BadZipFile
    """
    left = _MOST_BYTES
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
            is_link = stat.S_ISLNK(entry.external_attr >> 16)
            if is_link or not parts or parts[0] == "/" or ".." in parts or ":" in parts[0]:
                raise CommandFailed(f"The public data holds {entry.filename!r}, which leads out of its folder.")
            target = into.joinpath(*parts)
            if entry.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened.open(entry) as source, target.open("xb") as file:
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise CommandFailed("The public data unpacks to more than 4 GB.")
                    file.write(chunk)
