"""Every test run has an installation of its own: a fresh folder with a real PostgreSQL and a real Valkey in it.

Runs at the same time do not meet, and leave nothing behind. Rooms that know no Django are tested without it: a run of
only such rooms starts neither Django nor the services.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import django
import hypothesis
import psutil
import pytest

from gauntlet_runtime import services

ROOT = Path(__file__).resolve().parents[1]
hypothesis.settings.register_profile("gauntlet", deadline=None)  # a busy machine is no fault of what is tested
hypothesis.settings.load_profile("gauntlet")
_WITHOUT_DJANGO = (
    "competitions",
    "gauntlet_agent",
    "gauntlet_runtime",
    "gauntlet_scoring",
    "scoring_programs",
    "security",
    "starter_kits",
    "structure",
)
_PREFIX = "gauntlet-tests-"
_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the installation and set Django up on it. pytest-django configures itself after this, on what it finds."""
    # Images take minutes to make and never change: all runs read those of the checkout.
    os.environ.setdefault("GAUNTLET_IMAGES", str(ROOT / "var" / "images"))
    if all(_is_without_django(argument) for argument in config.args):
        return
    if "PYTEST_XDIST_WORKER" not in os.environ:  # an extra process of a run shares what the first one made
        config.stash[_FOLDER] = _make_installation()
    os.environ["DJANGO_SETTINGS_MODULE"] = "gauntlet.settings"

    django.setup()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End this run's services and remove its folder, last of all."""
    folder = config.stash.get(_FOLDER, None)
    if folder is not None:
        _remove(folder)


def _is_without_django(argument: str) -> bool:
    path = Path(argument.split("::")[0]).resolve()
    return any(path.is_relative_to(ROOT / "tests" / room) for room in _WITHOUT_DJANGO)


def _make_installation() -> Path:
    _remove_dead_runs()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    folder.chmod(0o711)  # the servers' account passes through
    urls = services.ensure(folder / "var", durable=False)
    os.environ["GAUNTLET_VAR"] = str(folder / "var")
    os.environ.setdefault("DATABASE_URL", urls.database_url)
    os.environ.setdefault("BROKER_URL", urls.broker_url)
    return folder


def _remove_dead_runs() -> None:
    """Stop and remove what a killed run left: its folder's name holds the process id."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        number = folder.name.removeprefix(_PREFIX).split("-")[0]
        if number.isdigit() and not psutil.pid_exists(int(number)) and folder.stat().st_uid == os.geteuid():
            _remove(folder)


def _remove(folder: Path) -> None:
    services.stop(folder / "var")
    shutil.rmtree(folder, ignore_errors=True)  # two runs may find the same leftover
