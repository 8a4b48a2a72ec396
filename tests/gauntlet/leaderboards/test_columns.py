"""From scores to column values."""

import pytest

from gauntlet.competitions.models import Column
from gauntlet.leaderboards.columns import Value, column_values
from gauntlet.leaderboards.scores import TaskScores, Trial, TrialScore
from gauntlet_scoring.statistics import bootstrap_interval


def column(**fields: object) -> Column:
    given = {"index": 0, "key": "c", "title": "C", "source": "rubric.score", "over": "mean", "worst": 0.0}
    return Column(**{**given, **fields})


def scenarios(*values: float) -> TaskScores:
    return trials(*((value,) for value in values))


def trials(*scenarios: tuple[float | None, ...]) -> TaskScores:
    """The values of each scenario's trials; None: that trial was not verified."""
    ran = {
        Trial(f"s{number}", trial): value
        for number, values in enumerate(scenarios)
        for trial, value in enumerate(values, start=1)
    }
    rows = [TrialScore(*trial, value) for trial, value in ran.items() if value is not None]
    return TaskScores(aggregates={}, scenarios={"rubric.score": rows}, trials=list(ran))


@pytest.mark.parametrize(
    ("over", "expected"), [("mean", 0.5), ("sum", 1.5), ("min", 0.0), ("max", 1.0)], ids=["mean", "sum", "min", "max"]
)
def test_scenarios_of_all_tasks_are_combined_as_the_column_says(over: str, expected: float) -> None:
    values = column_values([column(over=over)], [scenarios(0.0, 1.0), scenarios(0.5)])
    assert values == {"c": Value(value=expected)}


def test_an_interval_is_the_bootstrap_over_scenarios() -> None:
    values = column_values([column(interval="bootstrap")], [scenarios(0.0, 1.0, 0.5, 0.5)])
    interval = bootstrap_interval([0.0, 1.0, 0.5, 0.5])
    assert (values["c"].low, values["c"].high) == (interval.low, interval.high)
    assert interval.low < 0.5 < interval.high


def test_scenarios_of_the_same_id_in_two_tasks_are_not_one_cluster() -> None:
    apart = column_values([column(interval="bootstrap")], [scenarios(0.0), scenarios(1.0)])["c"]
    assert (apart.low, apart.high) == (0.0, 1.0)


def test_a_column_counts_the_scenarios_that_carry_its_tags() -> None:
    tags = {"s0": {"category": "Data Query", "stage": "1"}, "s1": {"category": "Prediction", "stage": "1"}, "s2": {}}
    scored = scenarios(0.0, 1.0, 0.5)
    task = TaskScores(aggregates={"rubric.score": 0.5}, scenarios=scored.scenarios, tags=tags)

    def value(**where: list[str]) -> float | None:
        found = column_values([column(where=where)], [task]).get("c")
        return found and found.value

    assert value(category=["Prediction"]) == 1.0
    assert value(stage=["1"]) == 0.5
    assert value(category=["Data Query", "Prediction"], stage=["1"]) == 0.5
    assert value(category=["Data Query"], stage=["2"]) is None  # and not the aggregate of all
    assert value() == 0.5


def test_aggregates_are_combined_over_tasks_where_a_program_gives_no_scenarios() -> None:
    tasks = [TaskScores(aggregates={"rubric.score": 0.2}), TaskScores(aggregates={"rubric.score": 0.6})]
    assert column_values([column()], tasks)["c"].value == pytest.approx(0.4)


def test_a_task_without_the_score_leaves_the_column_empty() -> None:
    assert column_values([column()], [TaskScores(aggregates={"rubric.score": 0.2}), TaskScores(aggregates={})]) == {}


def test_a_bare_key_fits_any_programs_score_of_that_name() -> None:
    assert column_values([column(source="accuracy")], [TaskScores(aggregates={"main.accuracy": 3.0})])["c"].value == 3.0


def test_a_computed_column_combines_others_and_is_empty_when_one_is() -> None:
    columns = [
        column(index=0, key="a", source="p.a"),
        column(index=1, key="b", source="p.b"),
        column(index=2, key="both", computation="avg", computation_indexes=[0, 1]),
    ]
    full = column_values(columns, [TaskScores(aggregates={"p.a": 1.0, "p.b": 2.0})])
    assert full["both"].value == 1.5
    assert "both" not in column_values(columns, [TaskScores(aggregates={"p.a": 1.0})])


def test_what_adds_up_to_no_finite_number_leaves_the_column_empty() -> None:
    huge = [1.7e308, 1.7e308]
    assert column_values([column(over="sum", interval="bootstrap")], [scenarios(*huge)]) == {}
    tasks = [TaskScores(aggregates={"rubric.score": value}) for value in huge]
    assert column_values([column(over="sum")], tasks) == {}
    assert column_values([column()], tasks) == {"c": Value(value=1.7e308)}  # their mean is one
    parts = [column(index=number, key=f"k{number}") for number in range(2)]
    whole = column(index=2, key="whole", source="", computation="sum", computation_indexes=[0, 1])
    values = column_values([*parts, whole], [TaskScores(aggregates={"rubric.score": 1.7e308})])
    assert set(values) == {"k0", "k1"}
    apart = column_values([column(interval="bootstrap")], [scenarios(1.7e308, -1.7e308)])
    assert apart == {"c": Value(value=0.0)}


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, (3 / 3 + 2 / 3 + 0 / 3) / 3),
        (2, (1 + 1 / 3 + 0) / 3),  # of three trials with two passed, one of the three pairs passes
        (3, (1 + 0 + 0) / 3),
    ],
)
def test_pass_hat_k_is_the_chance_that_k_trials_of_a_scenario_all_pass(k: int, expected: float) -> None:
    scores = trials((1.0, 1.0, 1.0), (1.0, 0.9, 1.0), (0.0, 0.5, 0.2))
    values = column_values([column(over=f"pass^{k}", pass_at=1.0)], [scores])
    assert values["c"].value == pytest.approx(expected)


def test_where_it_is_left_out_a_trial_that_was_not_verified_is_no_failure() -> None:
    scores = trials((1.0, None, 1.0), (0.0, 0.0, None))
    told = {"unverified": "exclude", "pass_at": 1.0}
    assert column_values([column(over="pass^2", **told)], [scores])["c"] == Value(value=0.5, unverified=2)
    # Of neither scenario three trials were verified: nothing can be said about three.
    assert column_values([column(over="pass^3", **told)], [scores])["c"] == Value(value=None, unverified=2)


def test_the_interval_of_pass_hat_k_is_drawn_over_scenarios() -> None:
    scores = trials((1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0))
    value = column_values([column(over="pass^2", pass_at=0.5, interval="bootstrap")], [scores])["c"]
    expected = bootstrap_interval([1.0, 0.0, 0.0, 1.0])
    assert (value.value, value.low, value.high) == (0.5, expected.low, expected.high)


def test_the_spread_is_that_of_the_trials_means() -> None:
    scores = trials((1.0, 0.0, 1.0), (1.0, 1.0, 0.0))  # means 1, 0.5, 0.5
    assert column_values([column(over="std")], [scores])["c"].value == pytest.approx(0.288675, abs=1e-6)
    assert column_values([column(over="std")], [scenarios(1.0, 0.0)]) == {}


def test_the_spread_compares_trials_on_the_same_scenarios() -> None:
    """Each scenario came out the same in every trial that was verified: then the trials do not differ."""
    scores = trials((1.0, 1.0, 1.0), (0.0, None, 0.0), (0.5, 0.5, 0.5))
    assert column_values([column(over="std")], [scores]) == {"c": Value(value=0.0, unverified=1)}
    apart = column_values([column(over="std")], [trials((1.0, None), (None, 0.0))])
    assert apart == {"c": Value(value=None, unverified=2)}


@pytest.mark.parametrize("over", ["std", "pass^1"])
def test_what_needs_trials_is_empty_where_there_are_aggregates_only(over: str) -> None:
    assert column_values([column(over=over, pass_at=1.0)], [TaskScores(aggregates={"rubric.score": 0.5})]) == {}


def test_one_scenario_has_no_interval_however_often_it_was_tried() -> None:
    """Else a board would show a sure value where there is least to be sure of."""
    for over in ("mean", "pass^2"):
        value = column_values([column(interval="bootstrap", over=over, pass_at=1.0)], [trials((1.0, 0.0, 1.0))])["c"]
        assert (value.low, value.high) == (None, None)
        assert value.value is not None
    two = column_values([column(interval="bootstrap")], [trials((1.0,), (0.0,))])["c"]
    assert (two.low, two.high) == (0.0, 1.0)
