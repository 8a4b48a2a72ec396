"""Metadata, substitutions and outputs of Codabench programs, without a sandbox."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_runtime.program_contract import ProgramFault, arguments_of, command_of, read_outputs


@pytest.mark.parametrize("name", ["metadata.yaml", "metadata"])
def test_the_command_is_read_from_either_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbfdescription: x\r\ncommand: python score.py $input $output\r\n")
    assert command_of(tmp_path) == "python score.py $input $output"


@pytest.mark.parametrize("content", [None, "command:\n", "just text", "command: [a", "other: 1"])
def test_a_program_without_a_command_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "metadata").write_text(content)
    with pytest.raises(ProgramFault):
        command_of(tmp_path)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python $program/score.py $input $output", ["python", "/app/program/score.py", "/app/input", "/app/output"]),
        ("run $hidden $predictions $tmp", ["run", "/app/input/ref", "/app/input/res", "/app/output"]),
        ("run $ingestion_program/a $submission_program", ["run", "/app/program/a", "/app/ingested_program"]),
        ("run '$shared/a b' $inputs $other \"x\"", ["run", "/app/shared/a b", "$inputs", "$other", "x"]),
        ("echo a | cat && ls", ["echo", "a", "|", "cat", "&&", "ls"]),  # no shell
    ],
)
def test_substitutions(command, words):
    assert arguments_of(command) == words


@pytest.mark.parametrize("command", ["python 'x", "", "   ", "a\0b", "run \ud800", f"run {'x' * 70_000}"])
def test_a_command_without_sense_is_refused(command):
    with pytest.raises(ProgramFault):
        arguments_of(command)


@pytest.mark.parametrize(
    ("name", "content", "scores"),
    [
        ("scores.json", '{"a": 1, "b": 0.5}', {"a": 1.0, "b": 0.5}),
        ("scores.txt", "a: 1\nb: 1e-3\n", {"a": 1.0, "b": 0.001}),
    ],
)
def test_scores_are_read(tmp_path, name, content, scores):
    (tmp_path / name).write_text(content)
    assert read_outputs(tmp_path).scores == scores


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("scores.json", '{"a": NaN}', "scores.json: a is not a finite number."),
        ("scores.json", '{"a": -Infinity}', "scores.json: a is not a finite number."),
        ("scores.json", '{"a": 1e999}', "scores.json: a is not a finite number."),
        ("scores.json", '{"a": "0.5"}', "scores.json: a is text, not a number."),
        ("scores.json", '{"a": null}', "scores.json: a is null, not a number."),
        ("scores.json", '{"a": true}', "scores.json: a is true or false, not a number."),
        ("scores.json", '{"a": {"b": 1}}', "scores.json: a is an object, not a number."),
        ("scores.json", "{}", "scores.json must be a flat object of at least one key with its number."),
        ("scores.json", "[1]", "scores.json must be a flat object of at least one key with its number."),
        ("scores.json", "{", "scores.json is not valid JSON."),
        ("scores.json", "[" * 100_000, "scores.json is not valid JSON."),
        ("scores.txt", "a:1", "scores.txt is not made of `key: value` lines (mind the space after the colon)."),
        ("scores.txt", "a: nan", "scores.txt: a is not a finite number."),
        ("scores.json", '{"the answer is (42)": null}', "scores.json: one of the scores is null, not a number."),
        ("scores.json", '{"\\ud800": 1}', "scores.json is not valid JSON."),
        ("scores.txt", '"a\\0": 1', "scores.txt: every key must be text."),
        ("scores.txt", '"\\ud800": 1', "scores.txt: every key must be text."),
        ("scores.json", json.dumps({str(n): 1 for n in range(1001)}), "scores.json holds more than 1000 scores."),
        ("scores.txt", "a: high", "scores.txt: a is text, not a number."),
        ("other.txt", "a: 1", "The program wrote neither scores.json nor scores.txt into /app/output."),
    ],
)
def test_a_missing_or_unusable_score_is_a_fault(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(ProgramFault) as caught:
        read_outputs(tmp_path)
    assert str(caught.value) == said


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_whatever_json_a_program_writes_gives_finite_scores_or_a_sentence(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("out")
    (folder / "scores.json").write_text(json.dumps(value))
    said, scores = "", {"none": 0.0}
    try:
        scores = read_outputs(folder).scores
    except ProgramFault as fault:
        said = str(fault)
    assert said == "" or said.endswith(".")
    assert scores
    assert all(math.isfinite(score) for score in scores.values())


def test_the_other_outputs_are_read(tmp_path):
    (tmp_path / "scores.json").write_text('{"a": 1}')
    (tmp_path / "scenarios.jsonl").write_text(
        '{"scenario": "1", "trial": 1, "scores": {"a": 1}, "detail": {"x": 1}}\n\n'
    )
    (tmp_path / "b.html").write_bytes(b"<p>\xff</p>")
    (tmp_path / "provenance.json").write_text('{"model": "m"}')
    outputs = read_outputs(tmp_path)
    assert outputs.scenarios == [{"scenario": "1", "trial": 1, "scores": {"a": 1.0}, "detail": {"x": 1}}]
    assert outputs.detailed_results == "<p>�</p>"
    assert outputs.provenance == {"model": "m"}
    (tmp_path / "detailed_results.html").write_text("the named one")
    assert read_outputs(tmp_path).detailed_results == "the named one"


def row_with(value):
    """A row of scenarios.jsonl whose detail holds this JSON."""
    return f'{{"scenario": "1", "trial": 1, "scores": {{}}, "detail": {{"x": {value}}}}}'


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("scenarios.jsonl", '{"scenario": "1", "trial": 1, "scores": {"a": NaN}}', "scenarios.jsonl, line 1: a"),
        ("scenarios.jsonl", '{"scenario": "1"}', "scenarios.jsonl, line 1: trial"),
        ("scenarios.jsonl", "\nnonsense", "scenarios.jsonl, line 2"),
        ("scenarios.jsonl", '{"scenario": "1", "trial": 1, "scores": {"x (42)": NaN}}', "line 1: one of the scores"),
        ("scenarios.jsonl", '{"scenario": "1", "trial": 1, "scores": {"42": "x"}}', "line 1: scores is"),
        ("scenarios.jsonl", '{"scenario": "1", "trial": 1, "scores": {}, "42": 0}', "line 1: the line is"),
        ("scenarios.jsonl", '{"scenario": "1", "trial": 1, "scores": {}}\n' * 2, "line 2: this scenario and trial"),
        ("scenarios.jsonl", " " * (1 << 20) + "{}", "line 1 is longer"),
        ("scenarios.jsonl", row_with("[" * 150 + "]" * 150), "line 1: its detail is nested deeper than 100"),
        ("scenarios.jsonl", row_with("9" * 400), "line 1: its detail holds a number of more than 300 digits"),
        ("provenance.json", json.dumps({"versions": "x" * 40_000}), "provenance.json is larger than 32 KiB"),
        ("provenance.json", '{"a": "\\ud800"}', "provenance.json is not valid JSON"),
        ("provenance.json", '{"a": 1}', "provenance.json must be a flat object"),
    ],
)
def test_a_broken_side_file_is_a_fault(tmp_path, name, content, said):
    (tmp_path / "scores.json").write_text('{"a": 1}')
    (tmp_path / name).write_text(content)
    with pytest.raises(ProgramFault, match=said):
        read_outputs(tmp_path)


def test_nul_in_what_a_program_quotes_becomes_a_replacement_character(tmp_path):
    (tmp_path / "scores.json").write_text('{"a": 1}')
    detail = {"quoted": "a\0b", "escaped": "\\u0000"}
    row = {"scenario": "1", "trial": 1, "scores": {"a": 1}, "detail": detail}
    (tmp_path / "scenarios.jsonl").write_text(json.dumps(row))
    (tmp_path / "provenance.json").write_text(json.dumps({"model": "a\0b"}))
    (tmp_path / "detailed_results.html").write_text("<p>a\0b</p>")
    outputs = read_outputs(tmp_path)
    assert outputs.detailed_results == "<p>a\ufffdb</p>"
    assert outputs.scenarios[0]["detail"] == {"quoted": "a\ufffdb", "escaped": "\\u0000"}
    assert outputs.provenance == {"model": "a\ufffdb"}
