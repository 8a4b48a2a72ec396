"""Scoring a stored evaluation again on the organizer's machine: equal, different, missing, not to be run."""

from __future__ import annotations

import json
import shlex
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gauntlet_scoring.rescoring import RescoringError, rescore, unpack_evaluation

COUNT = """\
import json, os, pathlib, sys
root = pathlib.Path(os.environ["GAUNTLET_SCORING_ROOT"])
assert (root / "input" / "ref" / "truth.txt").read_text() == "1"
(root / "input" / "res" / "written").write_text("a program may write into its copy")
count = len((root / "input" / "res" / "episodes.jsonl").read_text().splitlines())
(root / "output" / "scores.json").write_text(json.dumps({"count": count}))
"""


def write(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    return write(
        tmp_path / "evaluation",
        input__res__episodes_dot_jsonl="{}\n{}\n",
        input__ref__truth_dot_txt="1",
        programs__own__metadata_dot_yaml="command: python score.py\n",
        programs__own__score_dot_py=COUNT,
    )


def stored(folder: Path, scores: dict[str, Any], programs: tuple[str, ...] = ("own",)) -> Path:
    content = {"evaluation": "e-1", "programs": list(programs), "scores": scores, "more": 1}
    (folder / "evaluation.json").write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("scores", "same", "equal"),
    [
        ({"count": 2.0}, True, {"count": True}),
        ({"count": 2.0 + 1e-12}, True, {"count": True}),
        ({"count": 2.001}, False, {"count": False}),
        ({}, False, {"count": False}),
        ({"count": 2, "gone": 0.0}, False, {"count": True, "gone": False}),
    ],
)
def test_every_key_is_compared(
    evaluation: Path, tmp_path: Path, scores: dict[str, float], same: bool, equal: Any
) -> None:
    found = rescore(stored(evaluation, {"own": scores}), work=tmp_path / "work")
    assert (found.evaluation, found.same, found.failures) == ("e-1", same, {})
    assert {one.key: one.equal for one in found.comparisons} == equal
    assert not (evaluation / "input" / "res" / "written").exists()


UNREADABLE = "scores.txt is no object of numbers"


def test_a_programs_own_folders_will_do(evaluation: Path, tmp_path: Path) -> None:
    (evaluation / "programs" / "own").rename(evaluation / "program")
    write(evaluation, output__scores_dot_json='{"count": 2}')
    assert rescore(evaluation, work=tmp_path / "work").same


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python -c 'import sys; sys.exit(\"it is broken\")'", "it is broken"),
        ("python -c 'pass'", "wrote neither scores.json nor scores.txt"),
        ("/nowhere/at/all", "cannot be started"),
        ("python 'open", "metadata"),
    ],
)
def test_a_program_that_does_not_score_is_told_with_its_reason(
    evaluation: Path, tmp_path: Path, command: str, words: str
) -> None:
    write(evaluation, programs__own__metadata_dot_yaml=f"command: {json.dumps(command)}\n")
    found = rescore(stored(evaluation, {"own": {"count": 2}}), work=tmp_path / "work")
    assert not found.same
    assert words in found.failures["own"]


def test_codabenchs_variables_and_folders_are_led_to_the_folders_here(evaluation: Path, tmp_path: Path) -> None:
    script = """\
import pathlib, sys
count = len(list(pathlib.Path(sys.argv[1]).iterdir()))
pathlib.Path(sys.argv[2], "scores.json").write_text('{"count": %d}' % count)
"""
    write(evaluation, programs__own__score_dot_py=script)
    write(evaluation, programs__own__metadata_dot_yaml="command: python3 $program/score.py /app/input $output\n")
    assert rescore(stored(evaluation, {"own": {"count": 2}}), work=tmp_path / "work").same


@pytest.mark.parametrize(("said", "same"), [("count: 2", True), ("count: 3", False), ("- 2", None), ("count: [", None)])
def test_scores_may_be_written_as_codabenchs_text(
    evaluation: Path, tmp_path: Path, said: str, same: bool | None
) -> None:
    script = f"import pathlib, sys; pathlib.Path(sys.argv[1], 'scores.txt').write_text({said!r})"
    command = json.dumps(f"python -c {shlex.quote(script)} $output")
    write(evaluation, programs__own__metadata_dot_yaml=f"command: {command}\n")
    found = rescore(stored(evaluation, {"own": {"count": 2}}), work=tmp_path / "work")
    assert (found.same, found.failures) == (bool(same), {} if same is not None else {"own": UNREADABLE})


def test_one_program_of_several_may_be_chosen(evaluation: Path, tmp_path: Path) -> None:
    write(evaluation, programs__other__metadata_dot_yaml="command: python -c 1/0\n")
    stored(evaluation, {"own": {"count": 2}}, programs=("own", "other"))
    assert rescore(evaluation, work=tmp_path / "one", only="own").same
    assert set(rescore(evaluation, work=tmp_path / "all").failures) == {"other"}
    with pytest.raises(RescoringError, match="no program 'third'"):
        rescore(evaluation, work=tmp_path / "none", only="third")


@pytest.mark.parametrize("programs", [(), ("gone",), ("../own",), ("own", "gone")])
def test_a_folder_that_is_no_evaluation_is_refused(evaluation: Path, tmp_path: Path, programs: tuple[str, ...]) -> None:
    with pytest.raises(RescoringError):
        rescore(stored(evaluation, {}, programs=programs), work=tmp_path / "work")
    with pytest.raises(RescoringError, match="input/res"):
        rescore(tmp_path, work=tmp_path / "work")


def test_an_archive_whose_names_lead_out_of_it_is_refused(tmp_path: Path) -> None:
    for name in ("../out.txt", "/out.txt", "a/../../out.txt", "..\\out.txt"):
        archive = tmp_path / "evaluation.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            opened.writestr(name, "x")
        with pytest.raises(RescoringError, match="leads out"):
            unpack_evaluation(archive, tmp_path / "into")
    archive.write_bytes(b"no zip")
    with pytest.raises(RescoringError, match="no archive"):
        unpack_evaluation(archive, tmp_path / "into")
    assert not (tmp_path / "into").exists()
