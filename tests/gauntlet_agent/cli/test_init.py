"""`gauntlet init`: the kits are listed and copied, and come with the wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gauntlet_agent.bundle import check_folder
from gauntlet_agent.cli.starters import starters

ROOT = Path(__file__).resolve().parents[3]
KITS = ("agent_as_tool", "minimal", "plan_execute")


def test_kits_are_listed(process: Any) -> None:
    done = process("init")
    assert done.returncode == 0, done.stderr
    assert [name for name in KITS if name in done.stdout] == list(KITS)
    assert set(KITS) <= {starter.name for starter in starters()}


@pytest.mark.parametrize("name", KITS)
def test_a_kit_is_copied_and_could_be_submitted(process: Any, tmp_path: Path, name: str) -> None:
    done = process("init", str(tmp_path / "mine"), "--kit", name.replace("_", "-"))
    assert done.returncode == 0, done.stderr
    manifest = check_folder(tmp_path / "mine")
    assert manifest.findings == []
    assert (tmp_path / "mine" / "README.md").is_file()
    assert list((tmp_path / "mine").rglob("__pycache__")) == []


@pytest.mark.parametrize("name", ["agent_as_tool", "plan_execute"])
def test_a_copied_kits_own_tests_pass(process: Any, tmp_path: Path, name: str) -> None:
    process("init", str(tmp_path / "mine"), "--kit", name)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:django", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path / "mine", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_what_is_there_is_not_written_over(process: Any, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("mine")
    done = process("init", str(tmp_path), "--kit", "minimal")
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["agent.py"]
    assert (tmp_path / "agent.py").read_text() == "mine"


def test_an_unknown_kit_is_named_with_those_that_there_are(process: Any, tmp_path: Path) -> None:
    done = process("init", str(tmp_path / "x"), "--kit", "nonsense")
    assert done.returncode == 2
    assert "agent_as_tool" in done.stderr
    assert not (tmp_path / "x").exists()


def test_the_wheel_carries_kits_and_recipes(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    shutil.copytree(ROOT / "starter_kits", source, ignore=ignored)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "-q",
        "-w",
        str(tmp_path),
        ".",
    ]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    assert {f"gauntlet_agent/starters/{name}/agent.yaml" for name in KITS} <= names
    assert "gauntlet_agent/assetops/recipes.yaml" in names
