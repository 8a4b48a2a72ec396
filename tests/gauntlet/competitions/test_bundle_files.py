"""Broken files of a bundle beside its manifest: scenarios, ground truth, programs, archives; each is named."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Check = Callable[[Any], list[Any]]


@pytest.mark.parametrize(
    ("line", "words", "field"),
    [
        ("{broken", "not a JSON object", ""),
        ("[1]", "must be a JSON object", ""),
        ('{"id": "s-1", "text": "again?"}', "already on line 1", "id"),
        ('{"text": "no id?"}', "wrong or missing", "id"),
        ('{"id": true, "text": "?"}', "wrong or missing", "id"),
        ('{"id": "s-3", "text": " "}', "wrong or missing", "text"),
        ('{"id": "s-3", "text": "a\\u0000b"}', "wrong or missing", "text"),
        ('{"id": "s-3", "text": "a\\ud800b"}', "wrong or missing", "text"),
        ('{"id": "s-3", "text": "?", "show": {"a": "\\u0000"}}', "wrong or missing", "show"),
        ('{"id": "s-3", "text": "?", "public": "yes"}', "wrong or missing", "public"),
        ('{"id": "s-3", "text": "?", "show": {"a": NaN}}', "NaN", ""),
        ('{"id": "s-3", "text": "?", "final_out": {"answer": 42}}', "must not say what is expected", "final_out"),
    ],
)
def test_a_broken_scenario_is_told_with_its_line(
    line: str, words: str, field: str, bundle: Any, findings_of: Check
) -> None:
    path = bundle.root / "scenarios.jsonl"
    path.write_text(path.read_text() + "\n" + line + "\n")
    (found,) = [f for f in findings_of(bundle) if f.level == "error"]
    assert (found.file, found.line, found.field) == ("scenarios.jsonl", 4, field)
    assert words in found.message


def test_an_unknown_key_of_a_scenario_is_a_warning(bundle: Any, findings_of: Check) -> None:
    bundle.write("scenarios.jsonl", '{"id": "s-1", "text": "?", "catgory": "x"}\n{"id": "s-2", "text": "?"}\n')
    (found,) = findings_of(bundle)
    assert (found.level, found.file, found.line, found.field) == ("warning", "scenarios.jsonl", 1, "catgory")


def test_a_scenario_without_ground_truth_is_named(bundle: Any, findings_of: Check) -> None:
    bundle.truths(["s-1", "s-9"])
    found = {(f.level, f.file): f.message for f in findings_of(bundle)}
    assert "'s-2'" in found["error", "reference/ground_truth.jsonl"]
    assert "'s-9'" in found["warning", "reference/ground_truth.jsonl"]


def test_broken_ground_truth_is_told_with_its_line(bundle: Any, findings_of: Check) -> None:
    path = bundle.root / "reference" / "ground_truth.jsonl"
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second.replace('execution_links', 'execution_linx')}\n")
    found = [f for f in findings_of(bundle) if f.file == "reference/ground_truth.jsonl"]
    assert {f.line for f in found} == {2}
    assert any("execution_links" in f.field for f in found)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ("scores: {}\n", "command"),
        ("- a\n", "mapping"),
        ("command: [unclosed\n", "YAML"),
        ("command: x\nscores: {own: {low: 1, high: 0}}\n", "below"),
    ],
)
def test_a_scoring_program_without_usable_metadata_is_named(
    metadata: str, words: str, bundle: Any, findings_of: Check
) -> None:
    bundle.write("scoring/metadata.yaml", metadata)
    assert any(f.file == "scoring/metadata.yaml" and words in f.message for f in findings_of(bundle))


def test_an_environment_that_does_not_say_how_it_starts(bundle: Any, findings_of: Check) -> None:
    (bundle.root / "environment" / "metadata.yaml").unlink()
    assert findings_of(bundle) == []  # server.py is the default
    (bundle.root / "environment" / "server.py").rename(bundle.root / "environment" / "main.py")
    (found,) = findings_of(bundle)
    assert (found.line, found.field) == (bundle.line_of("environment: environment"), "tasks[0].environment")


def test_what_other_systems_write_is_tolerated(bundle: Any, findings_of: Check, tmp_path: Path) -> None:
    text = (bundle.root / "competition.yaml").read_text().replace("pages/overview.md", "pages\\overview.md")
    bundle.write("competition.yaml", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    scenarios = (bundle.root / "scenarios.jsonl").read_bytes()
    bundle.write("scenarios.jsonl", b"\xef\xbb\xbf" + scenarios.replace(b"\n", b"\r\n"))
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in bundle.root.rglob("*"):
            if file.is_file():
                archive.write(file, f"nested/{file.relative_to(bundle.root).as_posix()}")
        archive.writestr("__MACOSX/nested/._competition.yaml", b"\0")
        archive.writestr("nested/.DS_Store", b"\0")
    bundle.root = path
    assert findings_of(bundle) == []


@pytest.mark.security
def test_a_link_out_of_the_bundle_is_refused(bundle: Any, findings_of: Check, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (bundle.root / "terms.md").unlink()
    (bundle.root / "terms.md").symlink_to(tmp_path / "secret")
    (bundle.root / "data" / "link").symlink_to(tmp_path / "secret")
    fields = {f.field for f in findings_of(bundle) if f.level == "error"}
    assert fields == {"terms", "tasks[0].input_data"}


@pytest.mark.security
def test_a_hostile_archive_inside_the_bundle_is_named(bundle: Any, findings_of: Check) -> None:
    with zipfile.ZipFile(bundle.root / "evil.zip", "w") as archive:
        archive.writestr("../evil", "x")
    bundle.replace("input_data: data", "input_data: evil.zip")
    (found,) = [f for f in findings_of(bundle) if f.level == "error"]
    assert (found.field, found.line) == ("tasks[0].input_data", bundle.line_of("evil.zip"))
    assert "../evil" in found.message


def test_a_bundle_that_is_not_there_or_no_zip(tmp_path: Path, findings_of: Check, bundle: Any) -> None:
    bundle.root = tmp_path / "nothing.zip"
    assert "does not exist" in findings_of(bundle)[0].message
    bundle.root.write_text("text")
    assert "not a zip" in findings_of(bundle)[0].message


def test_what_a_scenario_shows_must_not_give_the_answer_away(bundle: Any, findings_of: Check) -> None:
    truths = bundle.root / "reference" / "ground_truth.jsonl"
    first, second = (json.loads(line) for line in truths.read_text().splitlines())
    first["final_out"] = {"count": 33, "code": "MT010"}
    truths.write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n")
    path = bundle.root / "scenarios.jsonl"
    one, two = (json.loads(line) for line in path.read_text().splitlines() if line.strip())
    one["show"] = {"defaults": {"count": 33}, "hint": "MT010", "deep": [{"expected_answer": None}]}
    path.write_text(json.dumps(two) + "\n" + json.dumps(one) + "\n")
    found = {(f.level, f.file, f.line, f.field) for f in findings_of(bundle)}
    assert found == {("error", "scenarios.jsonl", 2, "show.deep[0].expected_answer")}
    del one["show"]["deep"]
    path.write_text(json.dumps(two) + "\n" + json.dumps(one) + "\n")
    found = {(f.level, f.file, f.line, f.field) for f in findings_of(bundle)}
    assert found == {
        ("error", "scenarios.jsonl", 2, "show.defaults.count"),
        ("warning", "scenarios.jsonl", 2, "show.hint"),
    }


def test_the_validators_warnings_are_shown_and_keep_nothing_out(bundle: Any, findings_of: Check) -> None:
    path = bundle.root / "reference" / "ground_truth.jsonl"
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second.replace('The number 23.', 'The right answer.')}\n")
    found = findings_of(bundle)
    assert {(f.level, f.file, f.line, f.field) for f in found} == {
        ("warning", "reference/ground_truth.jsonl", 2, "characteristic_form")
    }
    assert any("vague" in f.message for f in found)


def test_a_vocabulary_beside_the_ground_truth_says_which_agents_there_are(bundle: Any, findings_of: Check) -> None:
    agent = {"type": "IoT", "server": "iot", "tools": {"look_up": {}}}
    bundle.write("reference/vocabulary.json", json.dumps({"agents": {"IoTAgent": agent}}))
    assert findings_of(bundle) == []
    bundle.write("reference/vocabulary.json", json.dumps({"agents": {"PumpAgent": agent}}))
    found = {(f.level, f.file, f.field) for f in findings_of(bundle)}
    assert ("error", "reference/ground_truth.jsonl", "execution_steps[0].agent") in found
    bundle.write("reference/vocabulary.json", '{"agent": 1}')
    (only,) = findings_of(bundle)
    assert (only.level, only.file, only.line) == ("error", "reference/vocabulary.json", 1)
    assert str(bundle.root) not in only.message


def test_a_ground_truth_that_scoring_programs_cannot_read_line_by_line_is_refused(
    bundle: Any, findings_of: Check
) -> None:
    path = bundle.root / "reference" / "ground_truth.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text(json.dumps(rows, indent=1))
    (found,) = findings_of(bundle)
    assert (found.level, found.file) == ("error", "reference/ground_truth.jsonl")
    assert "one JSON object a line" in found.message
