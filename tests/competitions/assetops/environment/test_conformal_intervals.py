"""Conformal intervals hold as many values as they promise, whatever the errors look like."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from assetops_tools.tsfm.conformal import cross_widths, fewest, folds_of, half_width
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

Draw = Callable[[np.random.Generator, int], np.ndarray]
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "skewed": lambda rng, n: rng.exponential(1, n) - 0.3,
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "two humps": lambda rng, n: rng.choice([-5.0, 5.0], n) + rng.normal(0, 0.1, n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("count", "alpha"), [(19, 0.1), (50, 0.1), (199, 0.01)])
def test_the_marginal_coverage_is_the_promised_one(shape: str, count: int, alpha: float) -> None:
    """Between 1 - alpha and 1 - alpha + 1/(n + 1), for errors without ties (Lei et al. 2018, theorem 2.2)."""
    rng = np.random.default_rng(7)
    rounds, fresh = 400, 200
    inside = [
        (np.abs(SHAPES[shape](rng, fresh)) <= half_width(SHAPES[shape](rng, count), alpha)).mean()
        for _ in range(rounds)
    ]
    exact = math.ceil((count + 1) * (1 - alpha)) / (count + 1)
    assert 1 - alpha <= exact <= 1 - alpha + 1 / (count + 1)
    noise = 4 * np.std(inside) / math.sqrt(rounds)
    assert abs(np.mean(inside) - exact) < noise


@given(hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(-100, 100)), st.floats(0.02, 0.5))
def test_the_half_width_is_the_smallest_that_holds_enough(errors: np.ndarray, alpha: float) -> None:
    width = half_width(errors, alpha)
    needed = math.ceil((len(errors) + 1) * (1 - alpha))
    if needed > len(errors):
        assert width == math.inf
        return
    assert (np.abs(errors) <= width).sum() >= needed
    assert (np.abs(errors) < width).sum() < needed


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.25])
def test_fewest_is_where_widths_become_finite(alpha: float) -> None:
    assert math.isfinite(half_width(np.ones(fewest(alpha)), alpha))
    assert math.isinf(half_width(np.ones(fewest(alpha) - 1), alpha))


def test_each_part_is_measured_by_the_other() -> None:
    judged = np.ones(4 * 96, dtype=bool)
    second = folds_of(judged)
    assert second.tolist() == ([False] * 96 + [True] * 96) * 2
    widths = cross_widths(np.where(second, 3.0, 1.0), judged, 0.1)
    assert set(widths[~second]) == {3.0}
    assert set(widths[second]) == {1.0}


@given(hnp.arrays(np.bool_, st.integers(0, 2000)))
def test_both_parts_are_about_as_large(judged: np.ndarray) -> None:
    second = folds_of(judged)
    parts = (judged & second).sum(), (judged & ~second).sum()
    assert abs(int(parts[0]) - int(parts[1])) <= 2 * max(1, int(judged.sum()) // 192)


def test_what_is_not_judged_has_no_part_in_the_widths() -> None:
    judged = np.arange(400) % 2 == 0
    errors = np.where(judged, 1.0, 1e6)
    assert set(cross_widths(errors, judged, 0.05)) == {1.0}


def test_both_parts_together_keep_the_promise() -> None:
    rng = np.random.default_rng(11)
    inside = []
    for _ in range(400):
        errors = rng.standard_t(3, 300)
        inside.append((np.abs(errors) <= cross_widths(errors, np.ones(300, dtype=bool), 0.05)).mean())
    assert 0.95 - 0.002 <= np.mean(inside) <= 0.96


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1])
def test_a_share_that_is_none_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="share"):
        half_width(np.ones(10), alpha)
