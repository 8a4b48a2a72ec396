"""Columns against exact fractions: equal results have equal values, in whatever order and number they come."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gauntlet.competitions.models import Column, Phase
from gauntlet.leaderboards.columns import Value, column_values
from gauntlet.leaderboards.models import Entry
from gauntlet.leaderboards.scores import TaskScores, Trial, TrialScore
from gauntlet.leaderboards.services import record_result
from gauntlet.submissions.models import Submission

TENTHS = [Fraction(n, 10) for n in range(11)]
THIRDS = [Fraction(n, 3) for n in range(4)]
CENTS = [Fraction(n, 10**9) for n in (1, 123_456_789, 250_000_001)]
MEANT = st.sampled_from(TENTHS + THIRDS + CENTS)  # what a program means by the float that it writes
#: Scenarios, each with the results of its three trials.
RESULTS = st.lists(st.lists(MEANT, min_size=3, max_size=3), min_size=1, max_size=12)


def column(**fields: object) -> Column:
    given = {"index": 0, "key": "c", "title": "C", "source": "rubric.score", "over": "mean", "worst": 0.0}
    return Column(**{**given, **fields})


def task(scenarios: Sequence[Sequence[Fraction | float | None]], *, name: str = "") -> TaskScores:
    ran = {Trial(f"s{n}", at): one for n, trials in enumerate(scenarios) for at, one in enumerate(trials, start=1)}
    rows = [TrialScore(*trial, float(one)) for trial, one in ran.items() if one is not None]
    return TaskScores(aggregates={}, task=name, scenarios={"rubric.score": rows}, trials=list(ran))


def value(of: Column, *tasks: TaskScores) -> Value:
    return column_values([of], tasks)["c"]


@given(RESULTS)
def test_a_mean_and_a_sum_are_the_exact_ones_rounded_once(results: list[list[Fraction]]) -> None:
    every = [one for trials in results for one in trials]
    assert value(column(), task(results)).value == float(sum(every) / len(every))
    assert value(column(over="sum"), task(results)).value == float(sum(every))
    parts = [task([trials], name=str(n)) for n, trials in enumerate(results)]
    assert value(column(), *parts).value == float(sum(every) / len(every))


@given(RESULTS)
def test_a_spread_is_the_exact_one_rounded_once(results: list[list[Fraction]]) -> None:
    means = [sum(trials) / len(results) for trials in zip(*results, strict=True)]
    variance = statistics.variance(means)
    found = value(column(over="std"), task(results)).value
    assert found is not None
    assert found == pytest.approx(float(Decimal(variance.numerator) / variance.denominator) ** 0.5, rel=1e-15)
    assert (found == 0.0) == (len(set(means)) == 1)


@given(RESULTS, st.integers(1, 3))
def test_pass_hat_k_is_the_share_of_all_choices_of_k_trials_that_all_passed(
    results: list[list[Fraction]], k: int
) -> None:
    shares = [
        Fraction(sum(all(one >= Fraction(1, 2) for one in chosen) for chosen in choices), len(choices))
        for trials in results
        for choices in [list(combinations(trials, k))]
    ]
    found = value(column(over=f"pass^{k}", pass_at=0.5), task(results))
    assert found.value == float(sum(shares) / len(shares))


@given(RESULTS)
@example([[Fraction(1, 10)] * 3] * 3)  # 0.9 / 9 as floats is more than 0.1
def test_an_interval_holds_its_value(results: list[list[Fraction]]) -> None:
    for over in ("mean", "pass^2"):
        found = value(column(over=over, pass_at=0.5, interval="bootstrap"), task(results))
        assert found.value is not None
        assert (found.low is None) == (found.high is None) == (len(results) == 1)
        assert found.low is None or found.low <= found.value <= (found.high or 0.0)


@pytest.mark.parametrize("over", ["mean", "sum"])
def test_equal_results_share_a_rank_in_whatever_parts_they_come(
    make_phase: Callable[..., Phase], make_submission: Callable[..., Submission], over: str
) -> None:
    phase = make_phase()
    phase.competition.leaderboards.get().columns.filter(primary=True).update(over=over)
    for results in ([0.1, 0.2], [0.3, 0.0], [0.15, 0.15]):
        record_result(make_submission(phase), tasks=[task([[one] for one in results])], scenarios=2)
    assert set(Entry.objects.values_list("primary_value", flat=True)) == {0.15 if over == "mean" else 0.3}


def test_costs_are_added_as_decimals_are() -> None:
    costs = [Decimal("0.000001"), Decimal("0.1"), Decimal("0.2"), Decimal("1234.56789012")]
    found = value(column(over="sum"), task([[float(one)] for one in costs]))
    assert found.value == float(sum(costs))


def test_a_column_over_equal_results_has_no_spread() -> None:
    assert value(column(over="std"), task([[0.1, 0.1, 0.1], [0.7, 0.7, 0.7]])) == Value(value=0.0)


def test_a_spread_is_over_all_trials_or_not_at_all() -> None:
    """Of the last trial nothing was verified: two of three are no spread of three."""
    assert value(column(over="std"), task([[1.0, 0.0, None], [0.0, 0.0, None]])) == Value(value=None, unverified=2)
    assert value(column(over="std"), task([[1.0, 1.0, 0.0], [0.0, 1.0, None]])).value == pytest.approx(3**-0.5)


@pytest.mark.parametrize(("share", "verified", "trials"), [(0.55, 55, 100), (0.07, 7, 100), (0.9, 9, 10)])
def test_the_least_share_that_must_be_verified_is_enough(share: float, verified: int, trials: int) -> None:
    of = column(unverified="exclude", min_verified=share)
    assert value(of, task([[1.0]] * verified + [[None]] * (trials - verified))).value == 1.0
    assert value(of, task([[1.0]] * (verified - 1) + [[None]] * (trials - verified + 1))).value is None


def test_numbers_that_cannot_be_added_have_a_mean_and_no_interval() -> None:
    huge = 1.7e308
    of = column(interval="bootstrap")
    assert value(of, task([[huge], [huge]])) == Value(value=huge)
    assert value(of, task([[-huge, 0.0], [huge, huge]])) == Value(value=huge / 4)
    assert "c" not in column_values([column(over="std")], [task([[huge, -huge]])])


def test_no_value_is_a_negative_zero() -> None:
    for over in ("mean", "sum", "min", "max"):
        assert str(value(column(over=over), task([[-0.0]])).value) == "0.0"
