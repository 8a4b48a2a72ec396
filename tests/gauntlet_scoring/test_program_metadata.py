"""Metadata of programs: ours, Codabench's, and broken ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from gauntlet_scoring.program_metadata import ProgramMetadataError, ScoreKey, read_program_metadata

PROGRAMS = Path(__file__).resolve().parents[2] / "scoring_programs"


@pytest.mark.parametrize(
    ("name", "keys"), [("rubric", 11), ("rouge", 8), ("bertscore", 5), ("execution", 14), ("hybrid", 4)]
)
def test_our_programs_declare_their_keys_on_one_scale(name, keys):
    """All but the lengths of plans, which are counts, and the few of which less is better."""
    metadata = read_program_metadata(PROGRAMS / name)
    assert (metadata.name, metadata.command) == (name, "python score.py")
    assert metadata.version
    on_one_scale = {key: scale for key, scale in metadata.scores.items() if scale == ScoreKey(optional=scale.optional)}
    assert len(on_one_scale) == keys
    others = metadata.scores.keys() - on_one_scale.keys() - {"order_violations", "uncertainty"}
    assert all(key.startswith("plan_length") for key in others)


def test_a_codabench_program_has_a_command_and_nothing_else(tmp_path):
    (tmp_path / "metadata").write_bytes(
        b"\xef\xbb\xbfcommand: python3 $program/s.py $input $output\r\ndescription: x\r\n"
    )
    metadata = read_program_metadata(tmp_path)
    assert metadata.command == "python3 $program/s.py $input $output"
    assert (metadata.name, metadata.version, metadata.scores) == (tmp_path.name, "", {})


def test_metadata_yaml_comes_before_metadata(tmp_path):
    (tmp_path / "metadata").write_text("command: old")
    (tmp_path / "metadata.yaml").write_text("command: new\nversion: 1.5\n")
    metadata = read_program_metadata(tmp_path)
    assert (metadata.command, metadata.version) == ("new", "1.5")


def test_words_that_codabench_does_not_read_cannot_make_its_programs_unusable(tmp_path):
    (tmp_path / "metadata.yaml").write_text("command: x\nname: 7\nversion: 2\nsettings: fast\nauthor: [a]\n")
    metadata = read_program_metadata(tmp_path)
    assert (metadata.name, metadata.version, metadata.settings) == ("7", "2", {})


def test_settings_become_text(tmp_path):
    (tmp_path / "metadata.yaml").write_text("command: x\nsettings: {layers: 6, model: m}\n")
    assert read_program_metadata(tmp_path).settings == {"layers": "6", "model": "m"}


def test_the_worst_value_follows_the_direction():
    assert ScoreKey(low=1, high=9, sorting="desc").worst == 1
    assert ScoreKey(low=1, high=9, sorting="asc").worst == 9


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name: x", "command"),
        ("command: ''", "command"),
        ("- a", "must be a mapping"),
        ("", "must be a mapping"),
        ("command: [", "is not YAML"),
        ("command: " + "[" * 5_000, "nested too deeply"),
        ("command: x\nversion: 2020-99-99", "is not YAML"),
        ("command: x\nscores: {a: {low: 1, high: 0}}", "scores.a"),
        ("command: x\nscores: {a: {low: 0, high: .nan}}", "scores.a.high"),
        ("command: x\nscores: {a: {sorting: down}}", "scores.a.sorting"),
        ("command: x\nscores: {a: {hihg: 1}}", "scores.a.hihg"),
    ],
)
def test_broken_metadata_is_named(tmp_path, content, words):
    (tmp_path / "metadata.yaml").write_text(content)
    with pytest.raises(ProgramMetadataError, match=r"metadata\.yaml") as caught:
        read_program_metadata(tmp_path)
    assert words in str(caught.value)


def test_a_folder_without_metadata_is_named(tmp_path):
    with pytest.raises(ProgramMetadataError, match=tmp_path.name):
        read_program_metadata(tmp_path)
