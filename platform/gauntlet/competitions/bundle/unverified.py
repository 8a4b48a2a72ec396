"""What a column makes of a trial that ran and that no program could score: `unverified` and `min_verified`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gauntlet.competitions.bundle.document import Section
from gauntlet.competitions.models import Sorting, Unverified

LEAST_VERIFIED: Final = 0.9
"""The share of trials of which a column that leaves the others out shows a value, where it does not say which."""


@dataclass(frozen=True, kw_only=True)
class UnverifiedRule:
    """As a column has it; an empty ``rule`` where a trial may be without the score."""

    rule: str
    worst: float | None
    min_verified: float


def worst_of(scale: tuple[float | None, float | None], sorting: str) -> float | None:
    """The worse end of a scale."""
    return scale[0] if sorting == Sorting.DESC else scale[1]


def read_unverified(
    section: Section, *, over: str, worst: float | None, of_trials: bool, may_lack: bool
) -> UnverifiedRule:
    """The rule of a column: a trial that nobody verified counts as failed, unless the column leaves it out.

    Args:
        worst: the worse end of the score's scale, where it is known.
        of_trials: whether the score is one that a program gives of each trial.
        may_lack: whether a trial may be without it, so that nothing is to be verified.
    """
    given, bound = section.get("unverified"), section.get("min_verified")
    rule = section.choice("unverified", Unverified.values, default="" if may_lack else Unverified.FAIL)
    if not of_trials:
        for value in (given, bound):
            if value is not None:
                section.findings.error(value.place, "belongs to a column whose score a program gives for each trial.")
        return UnverifiedRule(rule="", worst=None, min_verified=0.0)
    if given is not None and over == "std":
        message = "does not belong to a spread, which compares the scenarios of which every trial was verified."
        section.findings.error(given.place, message)
    if given is not None and rule == Unverified.FAIL and worst is None and not over.startswith("pass^"):
        message = "needs a `scale`, whose worse end a trial then counts that could not be verified."
        section.findings.error(given.place, message, allowed=["scale: [0, 1]", Unverified.EXCLUDE.value])
    least = LEAST_VERIFIED if given is not None and rule == Unverified.EXCLUDE else 0.0
    if bound is not None and rule != Unverified.EXCLUDE:
        section.findings.error(bound.place, "belongs to a column with `unverified: exclude`.")
    elif bound is not None and (share := bound.number()) is not None:
        if not 0 <= share <= 1:
            section.findings.error(bound.place, f"is {share:g}.", allowed=["a share of the trials, 0 to 1"])
        least = share
    return UnverifiedRule(rule=rule, worst=worst, min_verified=least)
