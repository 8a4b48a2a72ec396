"""Statistics of scores: mean, spread, and how sure a mean is."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

DEFAULT_RESAMPLES: Final = 2000
_CHUNK: Final = 2_000_000  # drawn positions held at once: 16 MB, whatever the number of scenarios


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a mean."""

    low: float
    high: float
    level: float


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, added without rounding loss, so that the order of scenarios does not count.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("the mean of no values is undefined")
    return math.fsum(values) / len(values)


def standard_deviation(values: Sequence[float]) -> float:
    """Sample standard deviation (n - 1 in the denominator); 0 for a single value."""
    if len(values) == 1:
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def pass_hat_k(passed: int, trials: int, k: int) -> float:
    """The chance that k of a scenario's trials, drawn without return, all passed: C(c, k) / C(n, k).

    Its mean over scenarios is pass^k, unbiased for the chance that k new trials all pass (Yao et al. 2024, tau-bench,
    section 4).

    Args:
        passed: c, how many trials passed.
        trials: n, how many were verified.
        k: at least 1, at most `trials`.

    Raises:
        ValueError: a count is out of range.
    """
    if not 0 <= passed <= trials or not 1 <= k <= trials:
        raise ValueError(f"pass^{k} of {passed} passed in {trials} trials is undefined")
    return math.comb(passed, k) / math.comb(trials, k)


def bootstrap_interval(
    values: Sequence[float],
    *,
    scenarios: Sequence[Hashable] | None = None,
    level: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of the mean (Efron and Tibshirani 1993, section 13.3), over scenarios.

    Args:
        values: one score a scenario and trial.
        scenarios: the scenario of each value. Scenarios are drawn, each with all of its trials: trials of one scenario
            resemble each other, and drawing them one by one would make the interval too narrow. None: one trial each.
        level: in (0, 1).
        resamples: how many samples are drawn.
        seed: same seed, same interval, whatever the order of scenarios.

    Raises:
        ValueError: no value, a value that is not finite, lengths that differ, or a level or count out of range.
    """
    import numpy as np  # here, so that reading scores does not cost the import

    if not values or not all(map(math.isfinite, values)):
        raise ValueError("a bootstrap needs at least one value, and finite ones only")
    if not 0.0 < level < 1.0 or resamples < 1:
        raise ValueError("level must lie in (0, 1), and there must be at least one resample")
    clusters: dict[Hashable, list[float]] = {}
    for key, value in zip(range(len(values)) if scenarios is None else scenarios, values, strict=True):
        clusters.setdefault(key, []).append(value)
    totals = sorted((math.fsum(members), len(members)) for members in clusters.values())  # order must not count
    sums = np.array([total for total, _ in totals])
    counts = np.array([count for _, count in totals])
    generator = np.random.default_rng(seed)
    means: list[float] = []
    while len(means) < resamples:
        rows = min(max(1, _CHUNK // len(totals)), resamples - len(means))
        drawn = generator.integers(0, len(totals), size=(rows, len(totals)))
        means.extend(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(low=float(low), high=float(high), level=level)
