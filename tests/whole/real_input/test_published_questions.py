"""The published questions on the real records, through the whole path: upload, sandbox, gateway, scoring, board."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# The BERTScore program loads torch, which on two busy cores can take minutes.
pytestmark = [pytest.mark.real_input, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[3]
# What was published; see the README of the data.
ANSWERS = {
    "400": {"work_orders": 33},
    "402": {"work_orders": 31},
    "403": {"work_orders": 2},
    "404": {"work_orders": 14, "alerts": 0, "anomalies": 0},
    "405": {"work_orders": 3, "alerts": 30, "anomalies": 30},
    "406": {"work_orders": 3, "alerts": 30, "anomalies": 30},
    "407": {"days_with_events": 82},
    "408": {"days_with_events": 26},
    "410": {"work_orders": 0, "alerts": 6, "anomalies": 0},
}


@pytest.fixture(scope="module")
def finished(module_platform: Any, module_workshop: Any) -> Any:
    """The starter agent's finished evaluation, and who submitted it."""
    organizer = module_platform.person("organizer")
    competition = module_workshop.imported(module_workshop.generated("published.py"), organizer.user)
    ada = module_platform.person("ada")
    bundle = module_workshop.zip_folder(ROOT / "starter_kits" / "minimal")
    submission = ada.submit(competition, 0, bundle)
    evaluation = module_platform.wait_for_end(submission, patience=840)
    return ada, competition, evaluation


def test_the_starter_agent_finds_every_published_answer(finished, read_record):
    _, _, evaluation = finished
    assert (evaluation.state, evaluation.failure_message) == ("finished", "")
    answers = {}
    for episode in evaluation.episodes.select_related("scenario", "trajectory"):
        assert episode.outcome == "answered"
        (answer,) = [event for event in read_record(episode) if event.kind == "answer"]
        answers[episode.scenario.key] = answer.data
    assert answers == ANSWERS


def test_its_calls_reached_the_real_tables(finished, read_record):
    _, _, evaluation = finished
    for episode in evaluation.episodes.select_related("trajectory"):
        results = [event for event in read_record(episode) if event.kind == "tool_result"]
        assert results
        assert not any(result.is_error for result in results)


def test_the_rubric_is_full_and_every_program_scored(finished):
    _, _, evaluation = finished
    scores = dict(evaluation.scores.values_list("key", "value"))
    assert scores["rubric.score"] == 1.0
    assert {key.split(".")[0] for key in scores} == {"rubric", "rouge", "bertscore"}


def test_the_board_shows_it_as_json_and_csv(finished):
    ada, competition, _ = finished
    address = f"/api/v1/competitions/{competition.slug}/phases/0/leaderboard"
    (row,) = ada.api.get(address).raise_for_status().json()["rows"]
    assert (row["rank"], row["participant"], row["scenarios"]) == (1, "ada", len(ANSWERS))
    assert row["scores"]["rubric"]["value"] == 1.0
    (line,) = csv.DictReader(io.StringIO(ada.api.get(f"{address}.csv").raise_for_status().text))
    assert (line["rank"], line["participant"], float(line["rubric"])) == ("1", "ada", 1.0)


@pytest.mark.parametrize("program", ["rubric", "rouge"])
def test_its_organizer_scores_it_again_with_the_same_scores(finished, module_platform, program):
    """Over HTTP with a token, from what is stored, without the agent: `gauntlet-score rescore`."""
    _, _, evaluation = finished
    organizer = next(person for person in module_platform.people if person.name == "organizer")
    token = organizer.api.headers["Authorization"].removeprefix("Bearer ")
    command = Path(sys.executable).with_name("gauntlet-score")
    address = f"{module_platform.base}/evaluations/{evaluation.pk}"
    arguments = ["rescore", address, "--program", program, "--format", "json"]
    environment = {**os.environ, "GAUNTLET_TOKEN": token}
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["same"]
    stored = dict(evaluation.scores.filter(key__startswith=f"{program}.").values_list("key", "value"))
    assert {f"{program}.{row['key']}": row["new"] for row in found["scores"]} == pytest.approx(stored, abs=1e-9)


def test_a_participant_does_not_get_what_it_was_scored_from(finished):
    ada, _, evaluation = finished
    assert ada.api.get(f"/api/v1/evaluations/{evaluation.pk}/scoring-input").status_code == 404
