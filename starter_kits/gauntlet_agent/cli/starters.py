"""`gauntlet init`: a starter kit copied into a folder of one's own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gauntlet_agent.bundle import IGNORE_FILE, MANIFEST, bundle_files
from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.output import add_row, console, table

_PACKAGE: Final = Path(__file__).parents[1]
#: In a wheel the kits lie in the package; in a checkout of the project beside it.
_PLACES: Final = (_PACKAGE / "starters", _PACKAGE.parent)


@dataclass(frozen=True)
class Starter:
    """A starter kit: its name, its folder, and what its agent.yaml says of it."""

    name: str
    folder: Path
    description: str


def starters(places: Sequence[Path] = _PLACES) -> list[Starter]:
    """The kits of this installation, by name: those of the first place that has any."""
    import yaml

    for place in places:
        found = []
        for manifest in sorted(place.glob(f"*/{MANIFEST}")):
            described = yaml.safe_load(manifest.read_text(encoding="utf-8")).get("description", "")
            found.append(Starter(manifest.parent.name, manifest.parent, str(described)))
        if found:
            return found
    return []


def show_starters() -> None:
    """Print which kits there are."""
    made = table("Kit", "What it is")
    for starter in starters():
        add_row(made, starter.name, starter.description)
    console().print(made)


def start(kit: str, folder: Path | None) -> Path:
    """Copy a kit and return the new folder.

    Args:
        folder: new or empty; one of the kit's name here where None

    Raises:
        CommandFailed: there is no such kit, or the folder has something in it.
    """
    known = {starter.name: starter for starter in starters()}
    starter = known.get(kit.replace("-", "_"))
    if starter is None:
        raise CommandFailed(f"There is no kit {kit!r}. There are: {', '.join(known) or 'none'}.", code=Exit.USAGE)
    target = folder if folder is not None else Path(starter.name)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        message = f"{target} is there already, and not empty. Name another folder: `gauntlet init FOLDER --kit {kit}`."
        raise CommandFailed(message, code=Exit.USAGE)
    own_rules = starter.folder / IGNORE_FILE
    files = list(bundle_files(starter.folder)) + ([(IGNORE_FILE, own_rules)] if own_rules.is_file() else [])
    try:
        for name, source in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    except OSError as error:
        raise CommandFailed(f"{target} cannot be written: {error.strerror or error}.") from error
    return target
