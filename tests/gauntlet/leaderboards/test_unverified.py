"""What a trial counts that ran and that no program could score, and when a part is not shown as the whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.competitions.models import Column
from gauntlet.leaderboards.columns import Value, column_values, scenario_scores
from gauntlet.leaderboards.scores import TaskScores, Trial, TrialScore, unverified_told

RESULTS = st.lists(st.tuples(st.sampled_from([0.0, 1 / 3, 1.0]), st.booleans()), min_size=2, max_size=8)


def column(**fields: object) -> Column:
    given = {"index": 0, "key": "c", "title": "C", "source": "rubric.score", "over": "mean", "worst": 0.0}
    return Column(**{**given, **fields})


def task(scores: dict[str, list[float | None]], *, name: str = "", program: str = "rubric", **tags: str) -> TaskScores:
    """The scores of each scenario's trials; None: no program could give one. ``tags``: a scenario's category."""
    ran = {Trial(key, at): value for key, values in scores.items() for at, value in enumerate(values, start=1)}
    rows = [TrialScore(*trial, value) for trial, value in ran.items() if value is not None]
    return TaskScores(
        aggregates={},
        task=name,
        programs=frozenset({program}),
        scenarios={f"{program}.score": rows} if rows else {},
        trials=list(ran),
        tags={key: {"category": tags[key]} if key in tags else {} for key in scores},
    )


def value(of: Column, *tasks: TaskScores) -> Value | None:
    return column_values([of], tasks).get("c")


@pytest.mark.parametrize(
    ("over", "expected"), [("mean", 0.5), ("sum", 2.0), ("min", 0.0), ("max", 1.0), ("pass^1", 0.5), ("pass^2", 0.0)]
)
def test_it_counts_as_failed_where_nothing_else_is_said(over: str, expected: float) -> None:
    scores = task({"a": [1.0, None], "b": [None, 1.0]})
    assert value(column(over=over, pass_at=1.0), scores) == Value(value=expected, unverified=2)


def test_its_worst_value_is_the_end_that_is_worse_on_the_board() -> None:
    assert value(column(sorting="asc", worst=10.0), task({"a": [2.0], "b": [None]})) == Value(value=6.0, unverified=1)


@given(RESULTS, st.integers(0, 7), st.sampled_from(["mean", "sum", "pass^1"]))
def test_a_doubtful_result_is_never_worth_more_than_a_wrong_one(
    results: list[tuple[float, bool]], at: int, over: str
) -> None:
    """Whatever else came out: who makes a verdict unreadable does not stand better than with the worst one."""

    def of(doubtful: float | None) -> float:
        values = [None if hidden else score for score, hidden in results]
        values[at % len(values)] = doubtful
        found = value(column(over=over, pass_at=1.0), task({f"s{n}": [each] for n, each in enumerate([*values, 0.5])}))
        assert found is not None
        assert found.value is not None
        return found.value

    assert of(None) <= of(0.0)


@pytest.mark.parametrize("unverified", ["fail", "exclude"])
@pytest.mark.parametrize("over", ["mean", "min", "pass^1", "std"])
def test_what_its_agent_failed_counts_whatever_a_program_says_of_it(over: str, unverified: str) -> None:
    """A crash is worth what a wrong answer is, also of a program that says something of answers alone."""
    of = column(over=over, pass_at=0.5, unverified=unverified, min_verified=0.5)
    answered = task({"a": [0.5], "b": [0.5], "c": [0.0]})
    crashed = task({"a": [0.5], "b": [0.5], "c": [None]})
    assert value(of, replace(crashed, failed=frozenset({Trial("c", 1)}))) == value(of, answered)
    assert value(of, crashed) != value(of, answered)


def test_what_its_agent_failed_is_left_out_of_a_score_that_a_trial_may_lack() -> None:
    crashed = replace(task({"a": [0.5], "b": [None]}), failed=frozenset({Trial("b", 1)}))
    assert value(column(unverified=""), crashed) == Value(value=0.5)


def test_without_a_known_worst_value_there_is_none() -> None:
    scores = task({"a": [1.0], "b": [None]})
    assert value(column(worst=None), scores) == Value(value=None, unverified=1)
    assert value(column(worst=None), task({"a": [1.0]})) == Value(value=1.0)
    assert value(column(worst=None, over="pass^1", pass_at=1.0), scores) == Value(value=0.5, unverified=1)


@pytest.mark.parametrize(("least", "expected"), [(0.0, 1.0), (0.75, 1.0), (0.76, None)])
def test_a_column_may_leave_it_out_down_to_a_share_that_was_verified(least: float, expected: float | None) -> None:
    scores = task({"a": [1.0, 1.0], "b": [1.0, None]})
    found = value(column(unverified="exclude", min_verified=least), scores)
    assert found == Value(value=expected, unverified=1)


def test_a_score_that_a_trial_may_lack_leaves_nothing_to_verify() -> None:
    assert value(column(unverified=""), task({"a": [1.0], "b": [None]})) == Value(value=1.0)


@pytest.mark.parametrize(("rule", "expected"), [("fail", 0.5), ("exclude", None)])
def test_a_task_whose_scenarios_all_went_unverified_is_not_passed_over(rule: str, expected: float | None) -> None:
    """Its others were verified: the column counts only those with a tag."""
    first = task({"a": [1.0]}, name="1", a="Prediction")
    second = task({"b": [None], "c": [1.0]}, name="2", b="Prediction", c="Data Query")
    found = value(column(unverified=rule, where={"category": ["Prediction"]}), first, second)
    assert found == Value(value=expected, unverified=1)


def test_a_task_that_has_no_such_scenario_is_not_missed() -> None:
    first = task({"a": [1.0]}, name="1", a="Prediction")
    second = task({"c": [0.0]}, name="2", c="Data Query")
    third = task({"d": [0.0]}, name="3", program="hybrid", d="Data Query")
    for rule in ("fail", "exclude"):
        of = column(unverified=rule, where={"category": ["Prediction"]})
        assert value(of, first, second, third) == Value(value=1.0)


def test_a_task_that_its_program_gave_no_score_of_leaves_the_column_empty() -> None:
    first, second = task({"a": [1.0]}, name="1"), task({"b": [None]}, name="2")
    for rule in ("fail", "exclude"):
        assert value(column(unverified=rule), first, second) == Value(value=None, unverified=1)


def test_a_task_without_the_columns_program_takes_no_part() -> None:
    first, second = task({"a": [1.0]}, name="1"), task({"b": [0.0]}, name="2", program="hybrid")
    assert value(column(), first, second) == Value(value=1.0)
    assert value(column(source="hybrid.score"), first, second) == Value(value=0.0)
    results = [
        TaskScores(aggregates={"one.score": 0.25}, programs=frozenset({"one"})),
        TaskScores(aggregates={"two.score": 0.75}, programs=frozenset({"two"})),
    ]
    assert value(column(source="one.score"), *results) == Value(value=0.25)
    assert value(column(source="three.score"), *results) is None


def test_a_composite_says_what_its_parts_lack() -> None:
    parts = [column(index=0, key="a"), column(index=1, key="b", worst=None)]
    whole = column(index=2, key="c", source="", computation="avg", computation_indexes=[0, 0])
    scores = task({"a": [1.0], "b": [None]})
    assert column_values([*parts, whole], [scores])["c"] == Value(value=0.5, unverified=1)
    whole.computation_indexes = [0, 1]
    assert column_values([*parts, whole], [scores])["c"] == Value(value=None, unverified=1)


def test_a_comparison_counts_it_as_the_board_does() -> None:
    scores = task({"a": [1.0], "b": [None]}, name="t")
    assert scenario_scores(column(), [scores]) == [TrialScore("t:a", 1, 1.0), TrialScore("t:b", 1, 0.0)]
    assert scenario_scores(column(unverified="exclude"), [scores]) == [TrialScore("t:a", 1, 1.0)]


def test_the_rule_is_said_in_words() -> None:
    assert unverified_told(column()) == "it counts as failed, with the worst value."
    told = unverified_told(column(unverified="exclude", min_verified=0.9))
    assert told == "it is left out; below 90% verified there is no value."
    assert unverified_told(column(unverified="exclude")) == "it is left out."
    assert unverified_told(column(worst=None)).startswith("there is no value with such a trial")
    assert unverified_told(column(over="std")).startswith("the spread is over")
    assert unverified_told(column(computation="avg")) == "it counts as in the columns that are combined."
