"""Composites: one scale, one direction, weights that add up."""

from __future__ import annotations

import pytest

from gauntlet_scoring.composites import check_parts, mean_of_parts, weighted
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.program_metadata import ProgramMetadata, ScoreKey

METADATA = ProgramMetadata(
    command="python score.py",
    name="test",
    scores={
        "whole": ScoreKey(),
        "a": ScoreKey(),
        "b": ScoreKey(),
        "percent": ScoreKey(low=0, high=100),
        "faults": ScoreKey(sorting="asc"),
    },
)


def test_parts_on_one_scale_are_taken():
    check_parts("whole", ["a", "b"], METADATA)
    assert mean_of_parts(["a", "b"], {"a": 0.25, "b": 0.75, "percent": 90.0}) == 0.5


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (["a", "percent"], "`percent` is in [0, 100] with more being better, and the composite `whole` in [0, 1]"),
        (["faults"], "`faults` is in [0, 1] with less being better"),
        (["a", "a"], "names `a` twice"),
        (["whole"], "a part of itself"),
        (["c"], "declares no score `c`"),
        ([], "at least one part"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(parts, said):
    with pytest.raises(ScoringInputError) as refused:
        check_parts("whole", parts, METADATA)
    assert said in str(refused.value)


def test_weights_are_applied():
    assert weighted({"a": 1.0, "b": 0.5}, {"a": 0.25, "b": 0.75}) == 0.625


@pytest.mark.parametrize("weights", [{"a": 0.5, "b": 0.6}, {"a": 1.0}, {"a": 0.5, "c": 0.5}])
def test_weights_that_do_not_fit_are_refused(weights):
    with pytest.raises(ValueError, match="add up to 1"):
        weighted({"a": 1.0, "b": 0.5}, weights)
