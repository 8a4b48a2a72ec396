"""`./run`: what it says to somebody who lacks something, or asks for what is not there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def run(root: Path) -> ModuleType:
    """The script as a module; it has no suffix, so it is loaded by its file."""
    loader = SourceFileLoader("gauntlet_run", str(root / "run"))
    spec = importlib.util.spec_from_loader("gauntlet_run", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_plain_user_gets_the_one_line_to_run(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "is_there", lambda sign: sign == "ip")
    monkeypatch.setattr(run.os, "geteuid", lambda: 1000)

    with pytest.raises(SystemExit) as stopped:
        run.install_system_packages("demo", sys.executable)
    assert "sudo apt-get install -y --no-install-recommends bubblewrap uidmap mmdebstrap\n" in str(stopped.value)


def test_what_a_command_does_not_need_is_not_asked_for(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "is_there", lambda sign: False)
    monkeypatch.setattr(run.os, "geteuid", lambda: 1000)

    run.install_system_packages("lint", sys.executable)
    with pytest.raises(SystemExit) as stopped:
        run.install_system_packages("test", sys.executable)
    assert all(package in str(stopped.value) for package in ("bubblewrap", "docker.io", "chromium"))


def test_tools_outside_a_plain_users_path_are_found(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert run.is_there("chroot")
    assert not run.is_there("no-such-program")


@pytest.mark.parametrize(("arguments", "status"), [([], 0), (["--help"], 0), (["nonsense"], 2)])
def test_the_commands_are_listed(root: Path, arguments: list[str], status: int) -> None:
    done = subprocess.run([sys.executable, str(root / "run"), *arguments], capture_output=True, text=True)
    assert done.returncode == status
    assert all(f"./run {command}" in done.stdout for command in ("demo", "test", "lint", "bench", "dev", "setup"))
