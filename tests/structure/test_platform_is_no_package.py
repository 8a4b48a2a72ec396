"""platform/ is a folder of sources. As a package it would shadow the standard library's, which even uuid needs."""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
IMPORT = "import platform, uuid; print(platform.__file__)"


def platform_seen_from(folder: Path) -> str:
    """What `import platform` finds for a Python that is started in `folder`, or the error."""
    done = subprocess.run([sys.executable, "-c", IMPORT], cwd=folder, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize("folder", [".", "tests", "platform", "platform/gauntlet", "scoring_programs", "starter_kits"])
def test_import_platform_is_the_standard_librarys(root: Path, folder: str) -> None:
    assert Path(platform_seen_from(root / folder)).resolve() == STANDARD_LIBRARY / "platform.py"


def test_import_platform_is_the_standard_librarys_in_the_tests_too() -> None:
    assert Path(platform.__file__).resolve() == STANDARD_LIBRARY / "platform.py"


def test_a_package_of_that_name_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "platform").mkdir()
    (tmp_path / "platform" / "__init__.py").touch()
    assert str(tmp_path) in platform_seen_from(tmp_path) or "Error" in platform_seen_from(tmp_path)


@pytest.mark.parametrize("folder", ["platform", "scoring_programs", "starter_kits", "tests"])
def test_source_roots_are_no_packages(root: Path, folder: str) -> None:
    assert (root / folder).is_dir()
    assert not (root / folder / "__init__.py").exists()


def test_no_source_edits_the_import_path(root: Path, tracked: list[Path]) -> None:
    sources = [path for path in tracked if path.suffix == ".py" and path.parts[0] != "tests"]
    assert [path for path in sources if "sys.path." in (root / path).read_text()] == []
