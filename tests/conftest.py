"""Every process of a test run has an installation of its own: a fresh folder with a real PostgreSQL and Valkey in it.

Processes at the same time do not meet, and leave nothing behind. Rooms that know no Django are tested without it: a run
of only such rooms starts neither Django nor the services. What the processes of one run share is in
docs/decisions/0033-tests-side-by-side.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import hypothesis
import psutil
import pytest
from xdist.scheduler import LoadScopeScheduling

from gauntlet_runtime import services

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

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
#: What needs a Docker engine. One process of a run starts one, and so runs all of this.
_WITH_ENGINE = (
    "tests/gauntlet_runtime/sandbox/",
    "tests/security/",
    "tests/whole/chaos/test_steps_on_docker.py",
    "tests/whole/images/test_submitted_image.py",
    "tests/whole/test_own_workers.py",
)
#: Settings that a run takes as they are: where images are, and services that are not to be its own.
_OF_THE_SHELL = ("GAUNTLET_IMAGES", "DATABASE_URL", "BROKER_URL")
#: What takes longest; begun last, it would leave the other process with nothing to do.
_LONG = ("tests/whole/",)
#: Descriptors that a module of tests may leave open: what it shares with the next ones, and what is collected soon.
_MOST_LEFT_OPEN = 200
_PREFIX = "gauntlet-tests-"
_FOLDER = pytest.StashKey[Path]()
_TABLES = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the installation and set Django up on it. pytest-django configures itself after this, on what it finds."""
    _forget_the_shells_own()
    # Images take minutes to make and never change: all runs read those of the checkout.
    os.environ.setdefault("GAUNTLET_IMAGES", str(ROOT / "var" / "images"))
    config.stash[_TABLES] = {}
    only_hands_out = bool(config.option.numprocesses)
    if only_hands_out or all(_is_without_django(argument) for argument in config.args):
        return
    config.stash[_FOLDER] = _make_installation()
    os.environ["DJANGO_SETTINGS_MODULE"] = "gauntlet.settings"

    django.setup()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End this run's services and remove its folder, last of all."""
    folder = config.stash.get(_FOLDER, None)
    if folder is not None:
        _remove(folder)


class ByFile(LoadScopeScheduling):
    """Hands files of tests to the processes of a run, and all that needs an engine to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        return "engine" if nodeid.startswith(_WITH_ENGINE) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Only where a run has several processes."""
    config.option.loadscopereorder = False  # ours is the better order
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where a run has several processes, what takes longest goes first; the rest stays in its order."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not item.nodeid.startswith(_WITH_ENGINE), not item.nodeid.startswith(_LONG)))


@pytest.fixture(scope="module", autouse=True)
def little_left_open() -> Iterator[None]:
    """What a module leaves open is missing to those after it, and a worker that ran the same code would run out too."""
    before = len(os.listdir("/proc/self/fd"))
    yield
    left = len(os.listdir("/proc/self/fd")) - before
    assert left <= _MOST_LEFT_OPEN, f"these tests leave {left} descriptors open; {_MOST_LEFT_OPEN} may be"


@pytest.fixture(scope="session")
def closing_tables(pytestconfig: pytest.Config) -> dict[str, str]:
    """What the run prints at its end, by title, whichever process it comes from."""
    return pytestconfig.stash[_TABLES]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """An extra process hands its tables over."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tables"] = session.config.stash[_TABLES]


def pytest_testnodedown(node: WorkerController, error: object) -> None:
    """Take an extra process's tables."""
    node.config.stash[_TABLES].update(getattr(node, "workeroutput", {}).get("tables", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables."""
    for title, table in terminalreporter.config.stash[_TABLES].items():
        terminalreporter.section(title)
        terminalreporter.write_line(table)


def _forget_the_shells_own() -> None:
    """What somebody has set for the platform's own use, a shell's umask, and what it ignores, decide nothing in a test.

    What runs behind a shell ignores a Ctrl-C, and so would all that a test starts.
    """
    table = (ROOT / "platform/gauntlet/settings.py").read_text(encoding="utf-8").split('"""')[1]
    for name in re.findall(r"^([A-Z][A-Z_]+) ", table, re.MULTILINE):
        if name not in _OF_THE_SHELL:
            os.environ.pop(name, None)
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
        with contextlib.suppress(FileNotFoundError):  # two runs may find the same leftover
            if number.isdigit() and not psutil.pid_exists(int(number)) and folder.stat().st_uid == os.geteuid():
                _remove(folder)


def _remove(folder: Path) -> None:
    services.stop(folder / "var")
    shutil.rmtree(folder, ignore_errors=True)
