"""What is installed: every line says what it is for, is pinned, and is declared by the room that uses it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

PROJECTS = (
    "pyproject.toml",
    "platform/pyproject.toml",
    "scoring_programs/pyproject.toml",
    "starter_kits/pyproject.toml",
)


def requirement_lists(project: dict[str, object]) -> list[str]:
    table = project["project"]
    assert isinstance(table, dict)
    return [*table["dependencies"], *(r for extra in table.get("optional-dependencies", {}).values() for r in extra)]


def line_of(requirement: str, lines: list[str]) -> str:
    return next(line for line in lines if f'"{requirement}"' in line)


@pytest.mark.parametrize("name", PROJECTS)
def test_each_requirement_says_what_it_is_for(root: Path, name: str) -> None:
    text = (root / name).read_text()
    project = tomllib.loads(text)
    requirements = [*requirement_lists(project), *project["build-system"]["requires"]]
    assert requirements
    lines = text.split("\n")
    assert [r for r in requirements if not re.search(r"#\s*\S", line_of(r, lines))] == []


@pytest.mark.parametrize("name", PROJECTS)
def test_each_requirement_has_a_tested_version(root: Path, name: str) -> None:
    pinned = {
        normal(line.split("==")[0]) for line in (root / "constraints.txt").read_text().split("\n") if "==" in line
    }
    requirements = requirement_lists(tomllib.loads((root / name).read_text()))
    names = {normal(re.split(r"[\[<>=~!; ]", requirement)[0]) for requirement in requirements}
    assert {name for name in names if not name.startswith("gauntlet-")} - pinned == set()


def test_torch_is_the_scorers_alone_at_one_version(root: Path) -> None:
    for name in PROJECTS:
        table = tomllib.loads((root / name).read_text())["project"]
        assert [r for r in table["dependencies"] if "torch" in r] == []
    assert re.findall(r"^torch.*$", (root / "constraints.txt").read_text(), re.MULTILINE) == ["torch==2.13.0"]


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
