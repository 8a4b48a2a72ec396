"""What no file of the repository may hold: unfinished work, tests that do not run, traces of a machine, other hosts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

#: This file has to name what it looks for.
THIS = Path("tests/structure/test_tracked_files.py")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
NOT_RUN = re.compile(r"mark\.(?:skip|xfail)|pytest\.(?:skip|xfail)\(|importorskip\(|unittest\.(?:skip|SkipTest)")
ONE_MACHINE = re.compile(r"(?<![\w.}>])/(?:root|work|home/\w+|Users/\w+|opt/(?:wheels|pypi)[\w-]*)(?=/|\b(?!\w))")
#: An address of a package registry or an image registry, whatever its name, and the option that would name one.
REGISTRY = re.compile(
    r"index-url[ =]|(?:https?:)?//[\w.-]*(?:pypi|hosted|npm|registry|debian|ghcr|quay)[\w.-]*\.\w+", re.IGNORECASE
)
OTHER_HOST = re.compile(r"(?:[a-z]+:)?//[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
#: The name of the XML vocabularies looks like an address, and is never fetched.
VOCABULARIES = "http://www.w3.org"


def found(pattern: re.Pattern[str], text: str) -> list[str]:
    """The lines of a text that hold the pattern."""
    return [line.strip() for line in text.split("\n") if pattern.search(line)]


def offences(pattern: re.Pattern[str], root: Path, files: list[Path]) -> list[str]:
    """`path: line` for each line of the files that holds the pattern; binary files have none."""
    lines = []
    for path in files:
        content = (root / path).read_bytes()
        if b"\0" not in content:
            lines += [f"{path}: {line}" for line in found(pattern, content.decode(errors="replace"))]
    return lines


@pytest.mark.parametrize(
    "pattern", [UNFINISHED, NOT_RUN, ONE_MACHINE, REGISTRY], ids=["unfinished", "not run", "machine", "registry"]
)
def test_no_tracked_file_holds(root: Path, tracked: list[Path], pattern: re.Pattern[str]) -> None:
    assert THIS in tracked
    assert offences(pattern, root, [path for path in tracked if path != THIS]) == []


def page_files(tracked: list[Path]) -> list[Path]:
    """What a browser is sent: templates and static files."""
    return [path for path in tracked if {"templates", "static"} & set(path.parts) and path.suffix != ".py"]


def references(text: str) -> list[str]:
    """The addresses of other hosts in a page, a style sheet or a script."""
    return [match.group() for match in OTHER_HOST.finditer(text) if match.group() != VOCABULARIES]


def test_pages_refer_to_no_other_host(root: Path, tracked: list[Path]) -> None:
    files = [path for path in page_files(tracked) if b"\0" not in (root / path).read_bytes()]
    assert files
    assert [(str(path), reference) for path in files for reference in references((root / path).read_text())] == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (UNFINISHED, "x = 1  # TODO later"),
        (NOT_RUN, "@pytest.mark.skip(reason='slow')"),
        (NOT_RUN, "@pytest.mark.skipif(True)"),
        (NOT_RUN, "    pytest.skip('no docker')"),
        (ONE_MACHINE, "DATA = '/root/data'"),
        (ONE_MACHINE, "cd /work/tree"),
        (ONE_MACHINE, "open('/home/ann/x')"),
        (REGISTRY, "pip install --index-url=somewhere"),
        (REGISTRY, "https://files.hosted.example/x"),
    ],
)
def test_a_planted_line_is_found(pattern: re.Pattern[str], line: str) -> None:
    assert found(pattern, line) == [line.strip()]


@pytest.mark.parametrize(
    "text",
    [
        "<script src='https://cdn.example.com/x.js'>",
        "@import url(//fonts.example.com/css)",
        "fetch('wss://live.example.com/')",
    ],
)
def test_a_planted_reference_is_found(text: str) -> None:
    assert len(references(text)) == 1


def test_a_vocabulary_is_no_reference() -> None:
    assert references('<svg xmlns="http://www.w3.org/2000/svg">') == []
