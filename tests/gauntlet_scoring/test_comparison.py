"""The paired comparison against SciPy and by hand, and what it says where there is little to compare."""

from __future__ import annotations

import math
import random
from itertools import product

import pytest

from gauntlet_scoring.comparison import Verdict, compare_paired
from gauntlet_scoring.statistics import bootstrap_interval


def scores(values):
    return {f"s{at:03}": [float(value)] for at, value in enumerate(values)}


def drawn(count, *, chance, seed):
    source = random.Random(seed)  # noqa: S311 - data, not a secret
    return {f"s{at:03}": [float(source.random() < chance) for _ in range(3)] for at in range(count)}


def means(side):
    return [sum(side[name]) / len(side[name]) for name in sorted(side)]


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(4))
def test_exact_p_equals_scipys(seed):
    import numpy as np
    from scipy.stats import permutation_test

    a, b = drawn(10, chance=0.7, seed=seed), drawn(10, chance=0.4, seed=seed + 100)
    found = compare_paired(a, b)
    for alternative, ours in (("two-sided", found.p), ("greater", found.p_a_better)):
        theirs = permutation_test(
            (np.array(means(a)), np.array(means(b))),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            vectorized=True,
            permutation_type="samples",
            alternative=alternative,
            n_resamples=np.inf,
        )
        assert ours == pytest.approx(theirs.pvalue, abs=1e-12)
    assert found.exact


@pytest.mark.oracle
def test_effects_equal_scipys():
    """d_z is t / sqrt(n) of the paired t test; Cliff's delta is 2 U / n^2 - 1 of Mann and Whitney's U."""
    from scipy.stats import mannwhitneyu, ttest_rel

    a, b = drawn(40, chance=0.7, seed=1), drawn(40, chance=0.4, seed=2)
    found = compare_paired(a, b)
    assert found.cohen_d == pytest.approx(ttest_rel(means(a), means(b)).statistic / math.sqrt(40), abs=1e-9)
    u = mannwhitneyu(means(a), means(b)).statistic
    assert found.cliff_delta == pytest.approx(2 * u / 40**2 - 1, abs=1e-12)


@pytest.mark.oracle
def test_drawn_p_is_near_the_exact_one():
    """20 scenarios that differ: all 2^20 sign patterns beside 10,000 drawn (standard error below 0.002)."""
    source = random.Random(3)  # noqa: S311
    differences = [round(source.uniform(-0.4, 0.7), 3) for _ in range(20)]
    sums = [0.0]
    for each in differences:
        sums = [total + sign * each for total in sums for sign in (1, -1)]
    exact = sum(abs(total) >= abs(sum(differences)) - 1e-9 for total in sums) / len(sums)
    found = compare_paired(scores(differences), scores([0] * 20))
    assert not found.exact
    assert found.p == pytest.approx(exact, abs=0.008)
    assert found == compare_paired(scores(differences), scores([0] * 20))  # seeded


def test_by_hand():
    """Differences 0.5, 0.25, 0: of four sign patterns of the two that differ, two are as far from 0 as +0.75."""
    found = compare_paired(scores([1.0, 0.5, 0.5]), scores([0.5, 0.25, 0.5]))
    assert (found.p, found.p_a_better, found.exact) == (0.5, 0.25, True)
    assert found.difference == pytest.approx(0.25)
    assert found.cohen_d == pytest.approx(1.0)  # 0.25 / 0.25
    assert found.cliff_delta == pytest.approx((3 + 1 + 1 - 0) / 9)  # of nine pairs five above, none below, four equal
    assert (found.wins, found.ties, found.losses) == (2, 1, 0)


def test_every_sign_pattern_counts_once():
    differences = [0.5, -0.125, 0.25, 0.75]
    expected = sum(
        sum(sign * each for sign, each in zip(signs, differences, strict=True)) >= sum(differences)
        for signs in product((1, -1), repeat=4)
    )
    assert compare_paired(scores(differences), scores([0] * 4)).p_a_better == expected / 16


def test_trials_of_a_scenario_count_as_their_mean():
    many = {"a": [1.0] * 50, "b": [0.0] * 50}
    other = {"a": [0.0], "b": [0.0]}
    found = compare_paired(many, other)
    assert found.p == 1.0  # one scenario of two differs: both signs are as likely, fifty trials or one
    assert found.interval == bootstrap_interval([1.0, 0.0])


def test_the_other_way_round_it_says_the_opposite():
    a, b = drawn(12, chance=0.8, seed=5), drawn(12, chance=0.3, seed=6)
    there, back = compare_paired(a, b), compare_paired(b, a)
    assert there.p == back.p
    assert there.difference == -back.difference
    assert there.cliff_delta == -back.cliff_delta
    assert there.interval.low == pytest.approx(-back.interval.high, abs=0.05)


def test_a_clear_difference_has_a_winner_and_a_small_one_has_none():
    good, poor = scores([0.9, 0.8, 1.0, 0.7, 0.9, 0.8]), scores([0.1, 0.2, 0.3, 0.1, 0.0, 0.2])
    assert compare_paired(good, poor).verdict() is Verdict.A
    assert compare_paired(poor, good).verdict() is Verdict.B
    assert compare_paired(good, poor).verdict(alpha=0.01) is Verdict.UNDECIDED  # 2 of 64 patterns
    assert compare_paired(scores([1, 0, 1]), scores([0, 1, 1])).verdict() is Verdict.UNDECIDED


def test_scenarios_that_one_lacks_are_counted_and_left_out():
    found = compare_paired({"a": [1.0], "b": [1.0], "c": []}, {"b": [0.0], "c": [1.0], "d": [1.0], "e": [1.0]})
    assert (found.scenarios, found.only_a, found.only_b, found.difference) == (1, 1, 3, 1.0)
    assert found.note == "One scenario has no spread, so there is no effect in standard deviations."


def test_nothing_in_common_says_so():
    found = compare_paired({"a": [1.0]}, {"b": [1.0]})
    assert (found.p, found.difference, found.interval, found.verdict()) == (None, None, None, Verdict.UNDECIDED)
    assert found.note == "The two have no scenario in common, so they cannot be compared."


def test_equal_submissions_are_undecided():
    found = compare_paired(scores([0.1, 0.2, 0.9]), scores([0.1, 0.2, 0.9]))
    assert (found.p, found.p_a_better, found.cohen_d, found.cliff_delta) == (1.0, 1.0, 0.0, 0.0)
    assert found.note == "The two have the same score on every scenario."


def test_the_same_difference_everywhere_has_no_effect_in_standard_deviations():
    found = compare_paired(scores([0.3, 0.7, 0.8]), scores([0.2, 0.6, 0.7]))  # floats say 0.1 in three ways
    assert found.cohen_d is None
    assert "same on every scenario" in found.note
    assert found.p == 0.25


@pytest.mark.parametrize(
    "call",
    [
        lambda: compare_paired({"a": [math.nan]}, {"a": [1.0]}),
        lambda: compare_paired({"a": [1.0]}, {"a": [1.0]}, permutations=0),
        lambda: compare_paired({"a": [1.0]}, {"a": [1.0]}, level=1.0),
    ],
)
def test_malformed_input_is_refused(call):
    with pytest.raises(ValueError, match=r"finite|permutation|level"):
        call()


def test_one_common_scenario_has_no_interval() -> None:
    found = compare_paired({"a": [1.0, 0.5]}, {"a": [0.0]})
    assert (found.difference, found.interval, found.p, found.cohen_d) == (0.75, None, 1.0, None)
    assert found.verdict() == "undecided"
