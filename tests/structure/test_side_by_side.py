"""How tests are run: in several processes as in one, and none at the cost of those after it."""

from __future__ import annotations

import os
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path

PROGRAMS = "bubblewrap and (keyctl or io_uring)"
LEAKING = """
import os
KEPT = []
def test_keeps_open():
    KEPT.extend(os.dup(1) for _ in range(300))
"""


def pytest_on(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run of its own, started as from a shell: what pytest and its Django say to their children is not handed on."""
    own = ("PYTEST_", "DJANGO_SETTINGS_MODULE")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=root, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )


def test_several_processes_print_the_table_of_the_one_that_has_it_and_the_closing_line_last(root: Path) -> None:
    done = pytest_on(root, "--numprocesses=2", "-k", PROGRAMS, "tests/security/test_zoo.py")
    lines = done.stdout.rstrip().splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum("hostile programs" in line for line in lines) == 1
    assert all(any(name in line for line in lines) for name in ("keyctl", "io_uring"))
    assert " passed" in lines[-1]


SETTLED = """
import os
import signal
from django.conf import settings

def test_it():
    assert (settings.DEBUG, settings.RUN_SLICE) == (False, 20)
    assert os.umask(0o022) == 0o022
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def test_what_a_shell_has_set_for_the_platform_decides_nothing(root: Path, tmp_path: Path) -> None:
    module = tmp_path / "test_settled.py"
    module.write_text(SETTLED)
    given = ["-c", str(root / "pyproject.toml"), "--rootdir", str(root), "-p", "conftest", str(module)]
    before, listening = os.umask(0o077), signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = pytest_on(root, *given, PYTHONPATH=str(root / "tests"), DEBUG="true", RUN_SLICE="3", SECURE="ture")
    finally:
        os.umask(before)
        signal.signal(signal.SIGINT, listening)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_module_that_leaves_much_open_fails(root: Path, tmp_path: Path) -> None:
    module = tmp_path / "test_leaking.py"
    module.write_text(LEAKING)
    settings = ["-c", str(root / "pyproject.toml"), "--rootdir", str(root), "-p", "conftest"]
    done = pytest_on(root, *settings, str(module), PYTHONPATH=str(root / "tests"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "these tests leave 300 descriptors open" in done.stdout


def test_what_asks_for_an_engine_is_known_to(root: Path, tracked: list[Path]) -> None:
    with_engine = runpy.run_path(str(root / "tests/conftest.py"))["_WITH_ENGINE"]
    tests = [path for path in tracked if path.parts[0] == "tests" and path.match("test_*.py")]
    asks = re.compile(r"\bdocker_engine\b|\bengine: ")
    asking = [path.as_posix() for path in tests if asks.search((root / path).read_text())]
    assert {"tests/whole/test_own_workers.py", "tests/whole/chaos/test_steps_on_docker.py"} <= set(asking)
    assert [path for path in asking if not path.startswith(with_engine)] == []
