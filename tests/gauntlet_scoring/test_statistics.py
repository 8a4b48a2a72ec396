"""Mean, spread and bootstrap interval."""

from __future__ import annotations

import math
import random
import statistics as standard
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_scoring.statistics import bootstrap_interval, mean, pass_hat_k, standard_deviation

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@pytest.mark.oracle
@given(SCORES)
def test_mean_and_deviation_equal_the_standard_librarys(values):
    assert mean(values) == pytest.approx(standard.fmean(values), abs=1e-12)
    expected = standard.stdev(values) if len(values) > 1 else 0.0
    assert standard_deviation(values) == pytest.approx(expected, abs=1e-9)


def test_the_mean_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no values"):
        mean([])


@given(st.floats(0, 1), st.integers(1, 40))
def test_equal_scores_have_an_interval_without_width(value, count):
    interval = bootstrap_interval([value] * count, resamples=50)
    assert interval.low == pytest.approx(value, abs=1e-12)
    assert interval.high == pytest.approx(value, abs=1e-12)


@given(SCORES)
def test_the_interval_lies_within_the_scores_and_its_ends_are_in_order(values):
    interval = bootstrap_interval(values, resamples=100)
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_the_same_seed_gives_the_same_interval_in_any_order():
    values = [number * number % 31 / 31 for number in range(1, 16)]
    assert bootstrap_interval(values, seed=4) == bootstrap_interval(sorted(values), seed=4)
    assert bootstrap_interval(values, seed=4) != bootstrap_interval(values, seed=5)


@pytest.mark.oracle
def test_the_width_of_shares_is_that_of_the_closed_form():
    """400 of 1000: the normal interval of a share is p ± 1.96 sqrt(p (1 - p) / n) = 0.4 ± 0.0304."""
    interval = bootstrap_interval([1.0] * 400 + [0.0] * 600, resamples=4000)
    half = 1.959964 * math.sqrt(0.4 * 0.6 / 1000)
    assert interval.low == pytest.approx(0.4 - half, abs=0.003)
    assert interval.high == pytest.approx(0.4 + half, abs=0.003)


@pytest.mark.oracle
def test_it_covers_the_true_mean_as_often_as_it_says():
    """300 samples of 60 shares: 95 % ± 4 (three standard errors of a share are 3.8 %)."""
    source = random.Random(7)  # noqa: S311 - data, not a secret
    hits = 0
    for seed in range(300):
        values = [float(source.random() < 0.3) for _ in range(60)]
        interval = bootstrap_interval(values, resamples=400, seed=seed)
        hits += interval.low <= 0.3 <= interval.high
    assert 0.91 <= hits / 300 <= 0.99


def test_trials_of_a_scenario_are_drawn_together():
    """Ten trials that repeat one score say no more than one: the interval is that of the scenarios alone."""
    scores = [0.0, 1.0] * 10
    repeated = [score for score in scores for _ in range(10)]
    scenarios = [number for number in range(20) for _ in range(10)]
    clustered = bootstrap_interval(repeated, scenarios=scenarios)
    assert clustered == bootstrap_interval(scores)
    alone = bootstrap_interval(repeated)
    assert clustered.high - clustered.low > 2.5 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([], {}),
        ([math.nan], {}),
        ([math.inf, 1.0], {}),
        ([1.0], {"level": 1.0}),
        ([1.0], {"resamples": 0}),
        ([1.0, 0.0], {"scenarios": ["a"]}),
    ],
)
def test_what_has_no_interval_is_refused(values, options):
    with pytest.raises(ValueError, match=r"bootstrap|level|shorter|longer"):
        bootstrap_interval(values, **options)


@pytest.mark.oracle
@pytest.mark.parametrize(("passed", "trials", "k"), [(2, 3, 1), (2, 3, 2), (2, 3, 3), (4, 5, 3), (0, 4, 2), (5, 5, 5)])
def test_pass_hat_k_is_the_share_of_draws_that_all_passed(passed, trials, k):
    """By counting every draw of k of the trials."""
    outcomes = [True] * passed + [False] * (trials - passed)
    draws = list(combinations(outcomes, k))
    assert pass_hat_k(passed, trials, k) == pytest.approx(sum(map(all, draws)) / len(draws), abs=1e-12)
