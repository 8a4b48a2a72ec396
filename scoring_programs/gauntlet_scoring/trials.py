"""What came of a trial of a scenario."""

from __future__ import annotations

from enum import StrEnum

from gauntlet_scoring.failures import FailureCode, Owner


class TrialOutcome(StrEnum):
    """What came of one trial."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    UNVERIFIED = "unverified"  # it ran, and no scorer could say
    BLOCKED = "blocked"  # it could not run to its end, by no fault of the agent: never a failure


def trial_outcome(value: float | None, *, pass_at: float, failure: FailureCode | None) -> TrialOutcome:
    """The outcome of a trial with this score (None: it has none), from ``pass_at`` on a pass.

    Args:
        failure: why its episode ended without an answer, if it did.
    """
    if failure is not None and failure.owner is not Owner.PARTICIPANT:
        return TrialOutcome.BLOCKED
    if value is None:
        return TrialOutcome.UNVERIFIED if failure is None else TrialOutcome.FAIL
    return TrialOutcome.PASS if value >= pass_at else TrialOutcome.FAIL
