"""Outcomes of trials: what could not be verified, or could not run, is no failure."""

from __future__ import annotations

import pytest

from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trials import TrialOutcome, trial_outcome

P, F, U, B = TrialOutcome


@pytest.mark.parametrize(
    ("value", "failure", "expected"),
    [
        (1.0, None, P),
        (0.8, None, P),
        (0.79, None, F),
        (0.0, FailureCode.TIME_LIMIT, F),
        (None, None, U),
        (None, FailureCode.AGENT_ERROR, F),
        (None, FailureCode.ENVIRONMENT_ERROR, B),
        (0.0, FailureCode.INFRASTRUCTURE, B),
    ],
)
def test_a_trial_has_one_of_four_outcomes(value, failure, expected):
    assert trial_outcome(value, pass_at=0.8, failure=failure) is expected
