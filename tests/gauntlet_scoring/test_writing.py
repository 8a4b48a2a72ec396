"""Only finite numbers leave a program."""

from __future__ import annotations

import json
import math

import pytest

from gauntlet_scoring.episode_files import ScenarioRow
from gauntlet_scoring.errors import NonFiniteScoreError
from gauntlet_scoring.writing import write_provenance, write_scenarios, write_scores


def test_scores_are_flat_numbers(tmp_path):
    write_scores(tmp_path, {"a": 1, "b": 1 / 3})
    assert json.loads((tmp_path / "scores.json").read_text()) == {"a": 1.0, "b": 1 / 3}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "1", True])
def test_what_is_no_finite_number_is_refused_and_nothing_is_written(tmp_path, value):
    with pytest.raises(NonFiniteScoreError, match="score b of the evaluation"):
        write_scores(tmp_path, {"a": 1.0, "b": value})
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_with_nan_is_refused_and_nothing_is_written(tmp_path):
    rows = [
        ScenarioRow(scenario="1", trial=1, scores={"a": 1.0}),
        ScenarioRow(scenario="2", trial=3, scores={"a": math.nan}),
    ]
    with pytest.raises(NonFiniteScoreError, match="scenario 2, trial 3"):
        write_scenarios(tmp_path, rows)
    assert list(tmp_path.iterdir()) == []


def test_scenarios_and_provenance_can_be_read_back(tmp_path):
    row = ScenarioRow(scenario="1", trial=1, scores={"a": 0.25}, detail={"reason": "né\n"})
    write_scenarios(tmp_path, [row, row])
    write_provenance(tmp_path, {"model": "m", "sha": "é"})
    lines = (tmp_path / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    assert [ScenarioRow.model_validate_json(line) for line in lines] == [row, row]
    assert json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8")) == {"model": "m", "sha": "é"}
