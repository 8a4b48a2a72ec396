"""Bundles of both tracks: repeatable, secret where they must be, complete, and accepted by the platform's own check."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from assetops_data import Size
from assetops_scenarios.bundle import Scale, make_competition
from assetops_scenarios.manifest import Calendar, Rules
from assetops_tools.program import SiteProgram, storage_opener

from gauntlet_scoring.validation import Strength, check_file

MAKE = Path(__file__).resolve().parents[4] / "competitions" / "assetops" / "generator" / "make.py"
SECRET = b"a secret for tests only"
DAYS, PUBLIC, HIDDEN = 200, 20, 26
SMALL = Scale(public=PUBLIC, hidden=HIDDEN, site=Size(telemetry_days=DAYS))


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "competition.yaml").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module", params=["planning", "execution"])
def track(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def make_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def make(track: str) -> Path:
        if track not in made:
            made[track] = tmp_path_factory.mktemp(track) / "bundle"
            rules = Rules(models=("small-model",), trials=3, calendar=Calendar(test_start="2027-03-01 12:00:00"))
            make_competition(made[track], track=track, secret=SECRET, distractors=True, rules=rules, scale=SMALL)
        return made[track]

    return make


@pytest.fixture(scope="module")
def bundle(track: str, make_once: Callable[[str], Path]) -> Path:
    return make_once(track)


@pytest.fixture(scope="module")
def execution(make_once: Callable[[str], Path]) -> Path:
    return make_once("execution")


def test_the_command_gives_the_same_bytes_in_another_process(execution: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(SECRET)
    words = f"--track execution --distractors --models small-model --trials 3 --telemetry-days {DAYS}".split()
    words += f"--public-questions {PUBLIC} --hidden-questions {HIDDEN}".split()
    files = ["--secret-file", str(tmp_path / "secret"), "--out", str(tmp_path / "again")]
    # Another hash seed: nothing may depend on the order of sets.
    subprocess.run(
        [sys.executable, str(MAKE), *words, *files, "--test-start", "2027-03-01 12:00:00"],
        check=True,
        capture_output=True,
        env={"PYTHONHASHSEED": "77", "PATH": ""},
    )
    assert digests(tmp_path / "again") == digests(execution)


def test_another_secret_changes_all_that_is_hidden_and_nothing_that_is_public(tmp_path: Path, execution: Path) -> None:
    make_competition(tmp_path / "other", track="execution", secret=b"another secret of an installation", scale=SMALL)
    mine, others = digests(execution), digests(tmp_path / "other")
    hidden = [name for name in others if name.startswith(("scenarios/test", "reference/test/ground", "data/test/"))]
    hidden = [name for name in hidden if not name.endswith(("environment.json",))]
    same = {name for name in hidden if mine.get(name) == others[name]}
    # What is the same at every site: codes, kinds of failure, indicators.
    assert {Path(name).name for name in same} <= {
        *("failure_codes.csv", "primary_failure_codes.csv", "failure_modes.csv", "failure_mode_sensors.csv"),
        "anomaly_mapping.csv",
    }
    public = [name for name in others if "development" in name or name.startswith("starting_kit/")]
    public = [name for name in public if not name.endswith("competition.yaml")]
    assert public
    assert {name for name in public if mine[name] != others[name]} == set()


def test_the_public_site_tells_nothing_of_the_hidden_one(bundle: Path) -> None:
    texts = {row["text"] for row in rows(bundle / "scenarios" / "development.jsonl")}
    hidden = {row["text"] for row in rows(bundle / "scenarios" / "test.jsonl")}
    common = texts & hidden  # questions without a machine or a time in them may be the same
    assert len(common) <= 4, common
    assert len(texts) == PUBLIC
    assert len(hidden) == HIDDEN


def test_reference_data_are_valid_and_of_the_domain(bundle: Path) -> None:
    for name in ("development", "test"):
        folder = bundle / "reference" / name
        assert (folder / "vocabulary.json").is_file()
        report = check_file(folder / "ground_truth.jsonl", strength=Strength.STRICT)
        assert [str(finding) for finding in report.findings] == []


def test_the_distractors_are_switched_by_their_phase_and_nothing_else_differs(bundle: Path, track: str) -> None:
    manifest = manifest_of(bundle)
    tasks = {task["name"]: task for task in manifest["tasks"]}
    plain, noisy = tasks["Test"], tasks["Test with distractors"]
    assert plain["reference_data"] == noisy["reference_data"]
    data = [digests(bundle / task["input_data"]) for task in (plain, noisy)]
    assert {name for name in data[0] if data[0][name] != data[1][name]} == {"environment.json"}
    switches = [json.loads((bundle / one["input_data"] / "environment.json").read_text()) for one in (plain, noisy)]
    assert [one["distractors"] for one in switches] == [False, True]
    assert {one["tools"] for one in switches} == {track == "execution"}
    texts = [[row["text"] for row in rows(bundle / one["scenarios"])] for one in (plain, noisy)]
    assert texts[0] == texts[1]


def test_what_a_question_shows_is_that_of_its_track(bundle: Path, track: str) -> None:
    for name, helpers in (("test", 4), ("test_distractors", 14)):
        for row in rows(bundle / "scenarios" / f"{name}.jsonl"):
            if track == "planning":
                assert set(row["show"]) == {"agents"}
                assert len(row["show"]["agents"]) == helpers
            else:
                assert set(row["show"]) == {"answer_format", "abstain"}


def test_the_board_ranks_by_its_tracks_score_and_takes_it_apart(bundle: Path, track: str) -> None:
    (board,) = manifest_of(bundle)["leaderboards"]
    columns = {column["key"]: column for column in board["columns"]}
    primary = board["columns"][board["primary_index"]]
    assert primary["from"] == ("rubric.task_completion" if track == "execution" else "bertscore.s_combined")
    where = [column["where"] for column in columns.values() if "where" in column]
    assert {tag for one in where for tag in one} == {"type", "category", "stage"}
    assert sum("type" in one for one in where) == 5
    assert sum("stage" in one for one in where) == 4
    assert sum("category" in one for one in where) >= 7
    assert {"steps", "seconds", "tokens", "cost"} <= set(columns)
    assert ("pass_3" in columns) == (track == "execution")
    assert all(one["source"].startswith("AssetOpsBench paper") for one in board["baselines"])
    assert all(set(one["scores"]) <= set(columns) for one in board["baselines"])
    best = max(one["scores"].get(primary["key"], 0) for one in board["baselines"])
    assert best == (0.65 if track == "execution" else 0.62)


def test_without_tools_an_episode_begins_all_the_same(bundle: Path, track: str, tmp_path: Path) -> None:
    data = bundle / "data" / "test"
    program = SiteProgram(data, tmp_path / "files", open_storage=storage_opener(data, tmp_path))
    program.answer("gauntlet_reset", {"scenario": "test-001", "seed": 1})
    assert bool(program.tools) == (track == "execution")


def test_the_hidden_phases_hide_and_follow_the_public_one(bundle: Path) -> None:
    development, *hidden = manifest_of(bundle)["phases"]
    assert development["visibility"] == "full"
    assert development["end"] == "2027-03-01 11:59:59"
    assert [phase["visibility"] for phase in hidden] == ["scores", "scores"]
    assert [phase["trials"] for phase in hidden] == [3, 3]
    assert all(phase["llm"]["models"] == ["small-model"] for phase in (development, *hidden))
    assert all(not row["public"] for row in rows(bundle / "scenarios" / "test.jsonl"))


def test_every_path_of_the_manifests_is_in_its_folder(bundle: Path, track: str) -> None:
    for folder in (bundle, bundle / "starting_kit"):
        manifest = manifest_of(folder)
        paths = [manifest["terms"], *(page["file"] for page in manifest["pages"])]
        for task in manifest["tasks"]:
            paths += [task[key] for key in ("environment", "input_data", "scenarios", "reference_data")]
        paths += [phase["starting_kit"] for phase in manifest["phases"] if "starting_kit" in phase]
        assert [path for path in paths if not (folder / path).exists()] == []
        assert (folder / "environment" / "server.py").is_file()
        assert not list(folder.rglob("__pycache__"))
        other = {"planning": "execution", "execution": "planning"}[track]
        assert not list((folder / "pages").glob(f"{other}_*"))
    assert not (bundle / "starting_kit" / "reference" / "test").exists()


@pytest.mark.parametrize(
    ("track", "secret", "message"),
    [("execution", b"short", "at least 16 bytes"), ("cooking", SECRET, "no track 'cooking'")],
)
def test_what_cannot_be_made_is_refused_and_nothing_is_written(
    tmp_path: Path, track: str, secret: bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make_competition(tmp_path / "bundle", track=track, secret=secret)
    assert not (tmp_path / "bundle").exists()


def test_a_folder_with_something_in_it_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(ValueError, match="not empty"):
        make_competition(tmp_path, track="planning", secret=SECRET)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
