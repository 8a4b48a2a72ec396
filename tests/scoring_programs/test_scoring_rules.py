"""What holds for every program: the denominator, the worst value, and numbers only."""

from __future__ import annotations

import json
import math

import pytest

from gauntlet_scoring.errors import NonFiniteScoreError
from gauntlet_scoring.failures import FailureCode, Owner
from gauntlet_scoring.program import Folders, Measure, Measured, score
from gauntlet_scoring.program_metadata import ProgramMetadata, ScoreKey

METADATA = ProgramMetadata(
    command="python score.py",
    name="test",
    version="3",
    scores={"gain": ScoreKey(low=-1, high=1, sorting="desc"), "loss": ScoreKey(low=0, high=10, sorting="asc")},
)


def measure(**scores):
    return Measure(read=lambda case: Measured(scores=scores, detail={}), finish=list, facts=lambda: {"model": "m"})


def test_a_failed_episode_takes_the_worst_value_in_both_directions(evaluation):
    evaluation.truth()
    evaluation.answered()
    evaluation.failed(trial=2, failure="memory_limit")
    folders = Folders(evaluation.write())
    score(folders, METADATA, measure=measure(gain=0.5, loss=2.0))
    assert json.loads((folders.output / "scores.json").read_text()) == {"gain": -0.25, "loss": 6.0}
    last = json.loads((folders.output / "scenarios.jsonl").read_text().splitlines()[-1])
    assert last["scores"] == {"gain": -1.0, "loss": 10.0}
    assert last["detail"]["failure"] == "memory_limit"


@pytest.mark.parametrize("failure", list(FailureCode))
def test_rows_and_counts_follow_the_owner_of_the_failure(evaluation, failure):
    evaluation.truth()
    evaluation.answered()
    evaluation.failed(trial=2, failure=failure.value)
    folders = Folders(evaluation.write())
    score(folders, METADATA, measure=measure(gain=1.0, loss=0.0))
    rows = (folders.output / "scenarios.jsonl").read_text().splitlines()
    provenance = json.loads((folders.output / "provenance.json").read_text())
    theirs = failure.owner is Owner.PARTICIPANT
    assert len(rows) == (2 if theirs else 1)
    assert provenance["unscored"] == ("0" if theirs else "1")
    assert provenance.get(f"unscored_{failure}") == (None if theirs else "1")
    assert json.loads((folders.output / "scores.json").read_text()) == {"gain": 0.0, "loss": 5.0}
    assert (provenance["program"], provenance["program_version"], provenance["model"]) == ("test", "3", "m")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_never_written(evaluation, value):
    evaluation.truth()
    evaluation.answered()
    folders = Folders(evaluation.write())
    with pytest.raises(NonFiniteScoreError, match="score loss of scenario 1, trial 1"):
        score(folders, METADATA, measure=measure(gain=1.0, loss=value))
    assert list(folders.output.iterdir()) == []
