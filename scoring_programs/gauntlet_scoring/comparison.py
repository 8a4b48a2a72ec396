"""Whether one submission is better than another, over the scenarios that both were run on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from gauntlet_scoring.statistics import DEFAULT_RESAMPLES, Interval, bootstrap_interval, mean, standard_deviation

if TYPE_CHECKING:
    import numpy as np

DEFAULT_PERMUTATIONS: Final = 10_000
_EXACT_UP_TO: Final = 14  # scenarios that differ: 16,384 sign patterns are all of them, and fewer than are drawn else
_ROUNDING: Final = 1e-12  # two sums of the same differences in another order are equal
_CHUNK: Final = 2_000_000  # signs held at once: 16 MB


class Verdict(StrEnum):
    """What a comparison says."""

    A = "a"
    B = "b"
    UNDECIDED = "undecided"  # the difference may be chance, or there is none


@dataclass(frozen=True)
class Comparison:
    """A beside B, over their common scenarios. What cannot be computed is None, and `note` says why."""

    scenarios: int  # that both have; each counts once, with the mean of its trials
    only_a: int  # scenarios that were left out because B lacks them
    only_b: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None  # mean of A minus B, on the scores' scale
    interval: Interval | None  # of the difference: percentile bootstrap over scenarios; of one there is none
    p: float | None  # two-sided: how often as large a difference comes from chance, if A and B are equally good
    p_a_better: float | None  # one-sided: as large a difference in favour of A
    exact: bool  # every permutation was counted; else they were drawn with a seed
    cohen_d: float | None  # mean difference in standard deviations of the differences (d_z)
    cliff_delta: float | None  # chance that a score of A exceeds one of B, minus the chance of the reverse
    wins: int  # scenarios where A is better
    ties: int
    losses: int
    note: str = ""

    def verdict(self, *, alpha: float = 0.05) -> Verdict:
        """Which of the two is better, by the two-sided p at level `alpha`."""
        if self.p is None or self.difference is None or self.p > alpha or self.difference == 0:
            return Verdict.UNDECIDED
        return Verdict.A if self.difference > 0 else Verdict.B


def compare_paired(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    *,
    level: float = 0.95,
    permutations: int = DEFAULT_PERMUTATIONS,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare the scores of two submissions: scenario to the scores of its trials, more is better.

    A scenario is the unit: its trials resemble each other and count as their mean. With d_s the difference of the
    means of scenario s:

    - p: paired permutation test (Fisher 1935; Good 2005, section 3.2). If A and B are equally good, each d_s might as
      well have the other sign. p is the share of sign patterns whose mean is at least as far from 0 (p_a_better: at
      least as large). Up to 14 scenarios that differ all patterns are counted; beyond, `permutations` are drawn and
      p = (hits + 1) / (drawn + 1), which is never 0 (Phipson and Smyth 2010).
    - cohen_d: mean(d) / sd(d), for pairs (d_z; Cohen 1988, section 2.3.5), sd with n - 1.
    - cliff_delta: (pairs of scenarios s, t with a_s > b_t, minus those with a_s < b_t) / n^2 (Cliff 1993).
    - interval: percentile bootstrap of the mean of d, scenarios drawn with return.

    Raises:
        ValueError: a score is not finite, or a level or count out of range.
    """
    if permutations < 1:
        raise ValueError("there must be at least one permutation")
    names = sorted(name for name in a.keys() & b.keys() if a[name] and b[name])
    only_a, only_b = (sum(bool(each) for each in side.values()) - len(names) for side in (a, b))
    if not names:
        return _nothing_in_common(only_a, only_b)
    left, right = ([mean(side[name]) for name in names] for side in (a, b))
    differences = [x - y for x, y in zip(left, right, strict=True)]
    p, p_a_better, exact = _permutation_test(differences, permutations=permutations, seed=seed)
    d, note = _cohen_d(differences)
    return Comparison(
        scenarios=len(names),
        only_a=only_a,
        only_b=only_b,
        mean_a=mean(left),
        mean_b=mean(right),
        difference=mean(differences),
        interval=_interval(differences, level=level, resamples=resamples, seed=seed),
        p=p,
        p_a_better=p_a_better,
        exact=exact,
        cohen_d=d,
        cliff_delta=_cliff_delta(left, right),
        wins=sum(each > 0 for each in differences),
        ties=sum(each == 0 for each in differences),
        losses=sum(each < 0 for each in differences),
        note=note,
    )


def _interval(differences: Sequence[float], *, level: float, resamples: int, seed: int) -> Interval | None:
    """None for a single scenario, which says nothing of others: an interval of no width would say that it is sure."""
    found = bootstrap_interval(differences, level=level, resamples=resamples, seed=seed)  # refuses what is malformed
    return found if len(differences) > 1 else None


def _nothing_in_common(only_a: int, only_b: int) -> Comparison:
    return Comparison(
        scenarios=0,
        only_a=only_a,
        only_b=only_b,
        mean_a=None,
        mean_b=None,
        difference=None,
        interval=None,
        p=None,
        p_a_better=None,
        exact=False,
        cohen_d=None,
        cliff_delta=None,
        wins=0,
        ties=0,
        losses=0,
        note="The two have no scenario in common, so they cannot be compared.",
    )


def _permutation_test(differences: Sequence[float], *, permutations: int, seed: int) -> tuple[float, float, bool]:
    """Two-sided p, one-sided p for A, and whether all sign patterns were counted."""
    import numpy as np  # here, so that reading scores does not cost the import

    moved = sorted((each for each in differences if each != 0), key=lambda each: (abs(each), each))
    if not moved:
        return 1.0, 1.0, True  # no pattern changes anything
    values = np.array(moved)
    slack = _ROUNDING * math.fsum(map(abs, moved))
    observed = math.fsum(moved)
    exact = len(moved) <= _EXACT_UP_TO
    drawn = 2 ** len(moved) if exact else permutations
    generator = np.random.default_rng(seed)
    far = large = done = 0
    while done < drawn:
        rows = min(max(1, _CHUNK // len(moved)), drawn - done)
        signs = _all_signs(done, rows, len(moved)) if exact else generator.integers(0, 2, (rows, len(moved))) * 2 - 1
        sums = (signs * values).sum(axis=1)
        far += int((np.abs(sums) >= abs(observed) - slack).sum())
        large += int((sums >= observed - slack).sum())
        done += rows
    if exact:
        return far / drawn, large / drawn, True
    return (far + 1) / (drawn + 1), (large + 1) / (drawn + 1), False


def _all_signs(first: int, rows: int, width: int) -> np.ndarray:
    """Rows of +1 and -1: the binary digits of `first`, `first` + 1 and so on."""
    import numpy as np

    return (np.arange(first, first + rows)[:, None] >> np.arange(width) & 1) * 2 - 1


def _cohen_d(differences: Sequence[float]) -> tuple[float | None, str]:
    if len(differences) < 2:
        return None, "One scenario has no spread, so there is no effect in standard deviations."
    if not any(differences):
        return 0.0, "The two have the same score on every scenario."
    spread = standard_deviation(differences)
    if spread > _ROUNDING * max(map(abs, differences)):
        return mean(differences) / spread, ""
    return None, "The difference is the same on every scenario, so it cannot be told in standard deviations."


def _cliff_delta(left: Sequence[float], right: Sequence[float]) -> float:
    """In n log n: for each score of A, how many of B lie below and above."""
    from bisect import bisect_left, bisect_right

    ordered = sorted(right)
    above = sum(bisect_left(ordered, each) for each in left)
    below = sum(len(ordered) - bisect_right(ordered, each) for each in left)
    return (above - below) / (len(left) * len(right))
