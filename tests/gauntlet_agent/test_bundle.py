"""Checking and packing an agent's folder."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_agent.bundle import check_folder, check_manifest, check_zip, pack
from gauntlet_agent.ignore import IgnoreRules


def _folder(base: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return base


SOUND = {"agent.yaml": "name: counter\ncommand: python agent.py\n", "agent.py": "print()\n"}


def test_a_sound_folder_has_nothing_to_say_about(tmp_path: Path) -> None:
    manifest = check_folder(_folder(tmp_path, SOUND))
    assert (manifest.name, manifest.command, manifest.findings) == ("counter", ["python", "agent.py"], [])


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "agent.yaml:1: Expected lines such as `name: my agent`."),
        ("- a\n", "agent.yaml:1: Expected lines such as `name: my agent`."),
        ("name: x\n", "agent.yaml:1: `command` is missing."),
        ("command: x\n", "agent.yaml:1: `name` is missing."),
        (
            "name: x\ncommand:\n",
            "agent.yaml:2: `command` must be a line such as `python agent.py`, or a list of words.",
        ),
        ("name: x\ncommand: []\n", "agent.yaml:2: `command` must be a line"),
        ("name: x\ncommand: {a: b}\n", "agent.yaml:2: `command` must be a line"),
        ("name: x\ncommand: python 'a\n", "agent.yaml:2: `command` cannot be split into words: No closing quotation."),
        ("name: x\ncommand: a && b\n", "agent.yaml:2: `command` is started without a shell"),
        ("name:\ncommand: a\n", "agent.yaml:1: `name` must be text that is not empty."),
        ("name: [a]\ncommand: a\n", "agent.yaml:1: `name` must be text that is not empty."),
        ("name: x\ncommand: a\nimage: ''\n", "agent.yaml:3: `image` must be text that is not empty."),
        ("name: x\nname: y\ncommand: a\n", "agent.yaml:2: `name` is given twice (first in line 1)."),
        ("name: x\ncommand: [a\n", "agent.yaml:3: This is not YAML"),
        ("name: \x01\n", "agent.yaml: This is not YAML"),
        ("name: x\ncommand: " + "[" * 5_000, "agent.yaml:1: The file is nested too deeply"),
        ("name: x\ncommand: &all [*all]\n", "agent.yaml:2: `command` must be a line"),
        ("name: &all [*all]\ncommand: x\n", "agent.yaml:1: `name` must be text"),
    ],
)
def test_each_mistake_is_named_with_its_line(text: str, finding: str) -> None:
    errors = check_manifest(text.encode()).errors
    assert str(errors[0]).startswith(finding)


def test_bytes_that_are_no_text_are_named() -> None:
    assert str(check_manifest(b"name: \xff\xfe\n").errors[0]) == "agent.yaml: The file is not UTF-8 text."


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfname: x\r\ncommand: run me\r\n", b"name: x\ncommand: [run, me]\n"])
def test_a_byte_order_mark_windows_lines_and_lists_are_fine(raw: bytes) -> None:
    manifest = check_manifest(raw)
    assert (manifest.name, manifest.command, manifest.findings) == ("x", ["run", "me"], [])


def test_an_unknown_key_is_a_warning_with_a_suggestion() -> None:
    manifest = check_manifest(b"name: x\ncommand: a\ndescripton: y\ncolour: red\n")
    assert manifest.errors == []
    assert [str(finding) for finding in manifest.findings] == [
        "agent.yaml:3: `descripton` is not known and is ignored. Did you mean `description`?",
        "agent.yaml:4: `colour` is not known and is ignored. "
        "Known are name, command, image, description, model, paradigm.",
    ]


@given(st.binary(max_size=200))
def test_whatever_the_bytes_there_is_a_verdict(raw: bytes) -> None:
    manifest = check_manifest(raw)
    assert manifest.errors or (manifest.name and manifest.command)


def test_a_script_that_stays_out_of_the_bundle_is_an_error(tmp_path: Path) -> None:
    folder = _folder(tmp_path, {**SOUND, ".gauntletignore": "agent.py\n"})
    assert [str(error) for error in check_folder(folder).errors] == [
        "agent.yaml: `command` starts agent.py, which is not in the bundle."
    ]


def test_requirements_without_wheels_are_warned_about(tmp_path: Path) -> None:
    folder = _folder(tmp_path, {**SOUND, "requirements.txt": "numpy\n"})
    [finding] = check_folder(folder).findings
    assert (finding.level, finding.file) == ("warning", "requirements.txt")
    assert "pip download" in finding.message
    _folder(tmp_path, {"wheels/numpy-1-py3-none-any.whl": "x"})
    assert check_folder(folder).findings == []


def test_links_are_refused_unless_ignored(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "agent", SOUND)
    (tmp_path / "secret").write_text("s")
    (folder / "link").symlink_to(tmp_path / "secret")
    assert [error.file for error in check_folder(folder).errors] == ["link"]
    (folder / ".gauntletignore").write_text("link\n")
    assert check_folder(folder).errors == []


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name, when in (("a", 1_000_000_000), ("b", 1_700_000_000)):
        folder = _folder(tmp_path / name, {**SOUND, "lib/x.py": "1", "__pycache__/agent.pyc": name})
        (folder / "agent.py").chmod(0o700 if name == "a" else 0o755)
        for path in folder.rglob("*"):
            os.utime(path, (when, when))
        into = io.BytesIO()
        assert pack(folder, into) == 3
        made.append(into.getvalue())
    assert made[0] == made[1]
    with zipfile.ZipFile(io.BytesIO(made[0])) as archive:
        assert archive.namelist() == ["agent.py", "agent.yaml", "lib/x.py"]
        assert archive.getinfo("agent.py").external_attr >> 16 == 0o100755
        assert archive.getinfo("lib/x.py").external_attr >> 16 == 0o100644
        assert archive.read("lib/x.py") == b"1"


@pytest.mark.parametrize("top", ["", "my-agent/"])
def test_a_zip_is_checked_like_its_folder(tmp_path: Path, top: str) -> None:
    path = tmp_path / "agent.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{top}agent.yaml", SOUND["agent.yaml"])
        archive.writestr("__MACOSX/x", "")
    assert "agent.py, which is not in the bundle" in str(check_zip(path).errors[0])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(f"{top}agent.py", "")
    assert check_zip(path).errors == []


def test_a_zip_that_is_none_or_empty_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.zip"
    path.write_bytes(b"not a zip")
    assert "not a zip archive" in str(check_zip(path).errors[0])
    with zipfile.ZipFile(path, "w"):
        pass
    assert "There is no agent.yaml" in str(check_zip(path).errors[0])


@pytest.mark.parametrize(
    ("pattern", "name", "is_folder", "excluded"),
    [
        ("*.log", "a.log", False, True),
        ("*.log", "deep/down/a.log", False, True),
        ("*.log", "a.log.txt", False, False),
        ("/top.txt", "top.txt", False, True),
        ("/top.txt", "sub/top.txt", False, False),
        ("data/raw", "data/raw", True, True),
        ("data/raw", "x/data/raw", True, False),
        ("build/", "build", True, True),
        ("build/", "build", False, False),
        ("**/cache", "a/b/cache", True, True),
        ("**/cache", "cache", True, True),
        ("docs/**", "docs/a/b.md", False, True),
        ("a?c", "abc", False, True),
        ("a?c", "a/c", False, False),
        ("[ab].txt", "a.txt", False, True),
        ("[!ab].txt", "a.txt", False, False),
        ("[z-a]x", "[z-a]x", False, True),
        ("# not a pattern", "# not a pattern", False, False),
        ("a+b", "a+b", False, True),
    ],
)
def test_patterns_mean_what_they_mean_in_gitignore(pattern: str, name: str, is_folder: bool, excluded: bool) -> None:
    assert IgnoreRules([pattern]).excludes(name, is_folder=is_folder) is excluded


def test_the_last_pattern_that_matches_decides_and_can_bring_back() -> None:
    rules = IgnoreRules(["*.txt", "!keep.txt", "!.env"])
    assert rules.excludes("a.txt", is_folder=False)
    assert not rules.excludes("keep.txt", is_folder=False)
    assert not rules.excludes(".env", is_folder=False)
    assert IgnoreRules().excludes(".env", is_folder=False)


@given(st.text(max_size=30))
def test_whatever_the_pattern_it_is_understood_or_ignored(pattern: str) -> None:
    IgnoreRules([pattern]).excludes("some/file.txt", is_folder=False)
