"""The generator: repeatable, secret where it must be, complete, and right by the platform's own validation."""

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
from quickstart_generator.bundle import make_competition
from quickstart_generator.manifest import Calendar

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation import check_file, read_vocabulary, validate_ground_truth_file
from gauntlet_scoring.validation.leaks import check_scenarios_text

ROOT = Path(__file__).resolve().parents[3]
MAKE = ROOT / "competitions" / "quickstart" / "generator" / "make.py"
ReadTruths = Callable[[Path, str], list[GroundTruth]]


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def scenarios(folder: Path, task: str) -> list[dict[str, Any]]:
    lines = (folder / "scenarios" / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def other_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("other") / "bundle"
    make_competition(out, secret=b"another secret of an installation")
    return out


def test_the_command_gives_the_same_bytes_as_the_function_in_another_process(bundle: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"a secret for tests only")
    out = tmp_path / "again"
    # Another hash seed: nothing may depend on the order of sets.
    subprocess.run(
        [sys.executable, str(MAKE), "--secret-file", str(secret), "--out", str(out)],
        check=True,
        capture_output=True,
        env={"PYTHONHASHSEED": "77", "PATH": ""},
    )
    assert digests(out) == digests(bundle)


def test_another_secret_changes_all_that_is_hidden_and_nothing_that_is_public(bundle: Path, other_bundle: Path) -> None:
    ours, others = digests(bundle), digests(other_bundle)
    changed = {path for path in ours if ours[path] != others.get(path)}
    hidden = ("data/test/", "scenarios/test.jsonl", "reference/test/")
    assert changed
    assert all(path.startswith(hidden) for path in changed)
    for path in ("data/test/event.csv", "scenarios/test.jsonl", "reference/test/ground_truth.jsonl"):
        assert path in changed
    assert not {row["text"] for row in scenarios(bundle, "test")} & {
        row["text"] for row in scenarios(other_bundle, "test")
    }


def test_another_secret_asks_about_other_machines(bundle: Path, other_bundle: Path, read_truths: ReadTruths) -> None:
    def machines(folder: Path) -> set[str]:
        steps = [step for truth in read_truths(folder, "test") for step in truth.execution_steps]
        named = [step.arguments.get("equipment") for step in steps if isinstance(step.arguments, dict)]
        return {str(name) for name in named if name}

    assert not machines(bundle) & machines(other_bundle)


def test_another_seed_changes_the_public_plant_too(bundle: Path, tmp_path: Path) -> None:
    make_competition(tmp_path / "bundle", secret=b"a secret for tests only", seed=2)
    assert {row["text"] for row in scenarios(bundle, "development")} != {
        row["text"] for row in scenarios(tmp_path / "bundle", "development")
    }


def test_twenty_public_and_sixty_hidden_questions_none_of_them_twice(bundle: Path) -> None:
    public, hidden = scenarios(bundle, "development"), scenarios(bundle, "test")
    assert (len(public), len(hidden)) == (20, 60)
    assert all(row["public"] for row in public)
    assert not any(row["public"] for row in hidden)
    texts = [row["text"].casefold() for row in [*public, *hidden]]
    assert len(set(texts)) == len(texts)
    assert len({row["id"] for row in [*public, *hidden]}) == 80


@pytest.mark.parametrize("task", ["development", "test"])
def test_scenarios_hold_the_question_and_the_form_of_the_answer_only(bundle: Path, task: str) -> None:
    for row in scenarios(bundle, task):
        assert set(row) == {"id", "text", "category", "public", "show"}
        assert set(row["show"]) == {"answer_format", "abstain"}
        assert all(isinstance(kind, str) for kind in row["show"]["answer_format"].values())


def test_what_is_shown_does_not_tell_a_question_to_decline_from_its_twin(bundle: Path, read_truths: ReadTruths) -> None:
    rows = {row["id"]: row for row in scenarios(bundle, "test")}
    pairs = [
        (truth, truth.data["twin"]) for truth in read_truths(bundle, "test") if truth.data and "twin" in truth.data
    ]
    assert len(pairs) >= 20
    for truth, twin in pairs:
        assert rows[truth.key]["show"] == rows[twin]["show"]


def test_no_hidden_answer_or_question_lies_in_what_participants_get(bundle: Path) -> None:
    hidden = scenarios(bundle, "test")
    equipment = (bundle / "data" / "test" / "event.csv").read_text(encoding="utf-8").splitlines()[1].split(",")[5]
    kit = "\n".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in (bundle / "starting_kit").rglob("*")
        if path.is_file()
    )
    assert equipment not in kit
    assert not [row["text"] for row in hidden if row["text"] in kit]
    assert not [row["id"] for row in hidden if row["id"] in kit]


@pytest.mark.parametrize("task", ["development", "test"])
def test_ground_truth_passes_the_validation_of_bundles(bundle: Path, task: str) -> None:
    path = bundle / "reference" / task / "ground_truth.jsonl"
    assert validate_ground_truth_file(path) == []
    assert validate_ground_truth_file(path, vocabulary=read_vocabulary(path.with_name("vocabulary.json"))) == []


@pytest.mark.parametrize("task", ["development", "test"])
def test_scenarios_give_nothing_away(bundle: Path, task: str) -> None:
    truths = check_file(bundle / "reference" / task / "ground_truth.jsonl").truths
    text = (bundle / "scenarios" / f"{task}.jsonl").read_text()
    assert check_scenarios_text(text, truths=truths).findings == ()


@pytest.mark.parametrize("task", ["development", "test"])
def test_ground_truth_belongs_to_the_scenarios_and_ends_with_finish(
    bundle: Path, task: str, read_truths: ReadTruths
) -> None:
    truths = read_truths(bundle, task)
    assert [(truth.key, truth.text) for truth in truths] == [
        (row["id"], row["text"]) for row in scenarios(bundle, task)
    ]
    for truth in truths:
        targets = {link.target for link in truth.execution_links}
        sources = {link.source for link in truth.execution_links}
        names = [step.name for step in truth.execution_steps]
        assert truth.execution_steps[-1].action == "Finish"
        assert names[0] not in targets
        assert set(names[1:]) <= targets
        assert set(names[:-1]) <= sources
        assert truth.checks is not None


def test_about_a_fifth_must_be_declined_each_with_a_twin_to_answer(bundle: Path, read_truths: ReadTruths) -> None:
    truths = {truth.key: truth for truth in read_truths(bundle, "test")}
    declined = [truth for truth in truths.values() if truth.final_out == {"abstain": True}]
    assert 9 <= len(declined) <= 15
    kinds = {truth.data["template"] for truth in declined if truth.data}
    assert kinds == {"unknown_equipment", "outside_record", "future", "sensor_not_recorded", "sensor_gap"}
    for truth in declined:
        assert truth.data is not None
        twin = truths[truth.data["twin"]]
        assert twin.final_out != {"abstain": True}
        assert twin.data is not None
        assert twin.data["twin"] == truth.key


def test_questions_speak_the_language_of_operators(bundle: Path) -> None:
    schema_words = ("_id", "wo_", "event_", "equipment_", "RUL0", "WORK_ORDER", "ANOMALY", ".csv", "asset_name", "KPI")
    for task in ("development", "test"):
        for row in scenarios(bundle, task):
            assert not [word for word in schema_words if word in row["text"]], row["text"]


def test_categories_are_those_of_the_guide(bundle: Path) -> None:
    known = {
        "Knowledge Query",
        "Data Query",
        "Inference Query",
        "Tuning Query",
        "Anomaly Detection Query",
        "Decision Support",
        "Prediction",
        "Complex Query",
    }
    found = {row["category"] for row in scenarios(bundle, "test")}
    assert found <= known
    assert len(found) >= 5


def test_every_path_of_the_manifests_is_in_its_folder(bundle: Path) -> None:
    for folder in (bundle, bundle / "starting_kit"):
        manifest = yaml.safe_load((folder / "competition.yaml").read_text(encoding="utf-8"))
        paths = [manifest["terms"], *(page["file"] for page in manifest["pages"])]
        for task in manifest["tasks"]:
            paths += [task[key] for key in ("environment", "input_data", "scenarios", "reference_data")]
        paths += [phase["starting_kit"] for phase in manifest["phases"] if "starting_kit" in phase]
        assert [path for path in paths if not (folder / path).exists()] == []
        assert (folder / "environment" / "server.py").is_file()
        assert not list(folder.rglob("__pycache__"))


def test_the_hidden_task_is_in_the_phase_that_hides_and_the_public_one_in_the_other(bundle: Path) -> None:
    manifest = yaml.safe_load((bundle / "competition.yaml").read_text(encoding="utf-8"))
    phases = {phase["name"]: phase for phase in manifest["phases"]}
    tasks = {task["index"]: task for task in manifest["tasks"]}
    assert phases["Development"]["visibility"] == "full"
    assert phases["Test"]["visibility"] == "scores"
    assert tasks[phases["Development"]["tasks"][0]]["scenarios"] == "scenarios/development.jsonl"
    assert tasks[phases["Test"]["tasks"][0]]["scenarios"] == "scenarios/test.jsonl"


def test_the_development_phase_ends_before_the_test_phase_begins(tmp_path: Path) -> None:
    calendar = Calendar(test_start="2027-03-01 12:00:00", test_end="2027-04-01 00:00:00")
    make_competition(tmp_path / "bundle", secret=b"a secret for tests only", calendar=calendar)
    manifest = yaml.safe_load((tmp_path / "bundle" / "competition.yaml").read_text(encoding="utf-8"))
    development, test = manifest["phases"]
    assert development["end"] == "2027-03-01 11:59:59"
    assert (test["start"], test["end"]) == ("2027-03-01 12:00:00", "2027-04-01 00:00:00")


def test_a_short_secret_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        make_competition(tmp_path / "bundle", secret=b"short")
    assert not (tmp_path / "bundle").exists()


def test_a_folder_with_something_in_it_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(ValueError, match="not empty"):
        make_competition(tmp_path, secret=b"a secret for tests only")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
