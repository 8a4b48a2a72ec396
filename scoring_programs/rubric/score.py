"""Rubric: task completion, data retrieval accuracy, result verification, judged by the ground truth's checks."""

from __future__ import annotations

import sys
from dataclasses import asdict

from gauntlet_scoring.checks import judge
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.program import Case, Measure, Measured, run
from gauntlet_scoring.statistics import mean


def measure(case: Case) -> Measured:
    """The three criteria of an answered episode, their mean, and every check's verdict."""
    reference = case.reference
    if reference.truth.checks is None:
        message = f"scenario {reference.truth.key} has no `checks`, which the rubric is judged by"
        raise ScoringInputError(message, path=reference.path, line=reference.line)
    criteria = judge(reference.truth.checks, case.episode)
    values = {name: criterion.value for name, criterion in criteria.items()}
    detail = {name: [asdict(verdict) for verdict in criterion.verdicts] for name, criterion in criteria.items()}
    return Measured(scores={"score": mean(list(values.values())), **values, "answered": 1.0}, detail=detail)


if __name__ == "__main__":
    sys.exit(run(__file__, lambda metadata: Measure(read=measure, finish=list)))
