"""How long the declared plans are: the plan-length statistics of AssetOpsBench (A36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gauntlet_scoring.program import Case
from gauntlet_scoring.statistics import standard_deviation

LENGTH: Final = "plan_length"
MOST: Final = 1000
"""Steps that are counted: the upper end of the declared scale."""


def plan_length(case: Case) -> float:
    """The number of steps of the last plan that was declared; 0 without one."""
    return float(min(MOST, len(case.episode.plan)))


def plan_lengths(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Standard deviation (n - 1), least, most, and how many episodes have no step at all; the mean is `plan_length`.

    Over all scenarios and trials, as every mean is: an episode that failed declared nothing that counts.
    """
    lengths = [row[LENGTH] for row in rows]
    return {
        f"{LENGTH}_std": standard_deviation(lengths),
        f"{LENGTH}_min": min(lengths),
        f"{LENGTH}_max": max(lengths),
        f"{LENGTH}_zero": float(lengths.count(0.0)),
    }
