"""From scores to a column's value: which scores it takes, and how they are combined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from gauntlet.competitions.models import Column, Leaderboard
from gauntlet_scoring.statistics import bootstrap_interval, mean, pass_hat_k, standard_deviation

_T = TypeVar("_T")
_COMBINE: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "mean": mean,
    "avg": mean,
    "sum": math.fsum,
    "min": min,
    "max": max,
}


class TrialScore(NamedTuple):
    """A score of one trial of a scenario; a trial without one is unverified."""

    scenario: str  # its opaque id
    trial: int
    value: float


@dataclass(frozen=True, kw_only=True)
class TaskScores:
    """What the evaluation in force of one task gave; ``scenarios`` by score key, ``tags`` by a scenario's opaque id."""

    aggregates: Mapping[str, float]
    task: str = ""  # its key; by it the same scenario in two tasks is two
    scenarios: Mapping[str, Sequence[TrialScore]] = field(default_factory=dict)
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Value:
    """A column's value, with its 95 % interval where the column declares one and the scores allow it."""

    value: float
    low: float | None = None
    high: float | None = None


def shown_columns(leaderboard: Leaderboard) -> list[Column]:
    """The columns of a board that are not hidden, in their order."""
    return [column for column in leaderboard.columns.all() if not column.hidden]


def primary_column(leaderboard: Leaderboard) -> Column:
    """The column that ranks a board; where none is marked so, the first that is shown."""
    shown = shown_columns(leaderboard)
    return next((column for column in shown if column.primary), shown[0])


class PassMark(NamedTuple):
    """From which value of which score on a trial counts as passed on a board."""

    source: str
    pass_at: float


def over_trials(column: Column) -> bool:
    """Whether the column says how trials compare, so that one trial alone has no value in it."""
    return column.over not in _COMBINE


def pass_marks(columns: Iterable[Column]) -> list[PassMark]:
    """What the columns over passed trials ask for, in their order."""
    return [PassMark(c.source, c.pass_at or 0.0) for c in columns if c.over.startswith("pass^")]


def column_values(columns: Sequence[Column], tasks: Sequence[TaskScores]) -> dict[str, Value]:
    """Compute every column that the scores allow, by column key; the others are absent.

    A column with ``over`` combines all scenarios and trials of all tasks; one whose scores are aggregates only (a
    Codabench program's) combines the tasks. A computed column combines other columns by their index. ``std`` is the
    sample standard deviation of the trials' means, over the scenarios of which all trials were verified. ``pass^k`` is
    the mean over scenarios of C(c, k) / C(n, k), with c of n verified trials passed; a scenario with fewer than k
    verified ones is left out, for it tells neither way. A column with ``where`` counts the scenarios that carry its
    tags, and is absent where there are none.
    """
    values = {
        column.key: value
        for column in columns
        if not column.computation and (value := _from_scores(column, tasks)) is not None
    }
    by_index = {column.index: column for column in columns}
    for column in columns:
        parts = [values.get(by_index[index].key) for index in column.computation_indexes if index in by_index]
        known = [part.value for part in parts if part is not None]
        whole = _combined(column.computation, known) if column.computation and len(known) == len(parts) else None
        if whole is not None:
            values[column.key] = whole
    return values


def _combined(how: str, numbers: Sequence[float]) -> Value | None:
    """Numbers as one; None where there are none, or too large ones for a finite one that a board can show and rank."""
    if not numbers:
        return None
    try:
        value = _COMBINE[how](numbers)
    except OverflowError:
        return None
    return Value(value=value) if math.isfinite(value) else None


def scenario_scores(column: Column, tasks: Sequence[TaskScores]) -> list[TrialScore]:
    """The scores by scenario and trial that count in a column; one scenario in two tasks is two."""
    return [
        row._replace(scenario=f"{task.task or number}:{row.scenario}")
        for number, task in enumerate(tasks)
        for row in _pick(task.scenarios, column.source) or ()
        if _counts(task.tags.get(row.scenario, {}), column.where)
    ]


def _from_scores(column: Column, tasks: Sequence[TaskScores]) -> Value | None:
    rows = scenario_scores(column, tasks)
    if rows:
        return _from_trials(column, rows)
    if over_trials(column) or column.where:
        return None
    aggregates = [value for task in tasks if (value := _pick(task.aggregates, column.source)) is not None]
    # A task without the score leaves the column empty: a part is not shown as the whole.
    if not aggregates or len(aggregates) < len(tasks):
        return None
    return _combined(column.over, aggregates)


def _counts(tags: Mapping[str, str], where: Mapping[str, Sequence[str]]) -> bool:
    return all(tags.get(tag) in wanted for tag, wanted in where.items())


def _from_trials(column: Column, rows: Sequence[TrialScore]) -> Value | None:
    if column.over == "std":
        return _spread(rows)
    how = column.over
    if column.over.startswith("pass^"):
        how, rows = "mean", _passing(rows, k=int(column.over.removeprefix("pass^")), pass_at=column.pass_at or 0.0)
    numbers = [row.value for row in rows]
    whole = _combined(how, numbers)
    if whole is None or column.interval != "bootstrap" or _COMBINE[how] is not mean:
        return whole
    interval = bootstrap_interval(numbers, scenarios=[row.scenario for row in rows])
    if not math.isfinite(interval.high - interval.low):
        return whole
    return Value(value=whole.value, low=interval.low, high=interval.high)


def _spread(rows: Sequence[TrialScore]) -> Value | None:
    """How much the trials differ; None where there are no two.

    On the scenarios of which all were verified: means over different scenarios differ because these do.
    """
    scenarios: dict[str, dict[int, float]] = {}
    for row in rows:
        scenarios.setdefault(row.scenario, {})[row.trial] = row.value
    trials = sorted({row.trial for row in rows})
    whole = [values for values in scenarios.values() if len(values) == len(trials)]
    if len(trials) < 2 or not whole:
        return None
    try:
        value = standard_deviation([mean([values[trial] for values in whole]) for trial in trials])
    except OverflowError:
        return None
    return Value(value=value) if math.isfinite(value) else None


def _passing(rows: Sequence[TrialScore], *, k: int, pass_at: float) -> list[TrialScore]:
    """One row a scenario that has k verified trials, its value the chance that k of them pass."""
    scenarios: dict[str, list[bool]] = {}
    for row in rows:
        scenarios.setdefault(row.scenario, []).append(row.value >= pass_at)
    return [
        TrialScore(scenario, trial=1, value=pass_hat_k(sum(passed), len(passed), k))
        for scenario, passed in scenarios.items()
        if len(passed) >= k
    ]


def _pick(scores: Mapping[str, _T], source: str) -> _T | None:
    """The score named ``program.key``; a bare key, as Codabench's columns have it, fits the first program's."""
    if source in scores or "." in source:
        return scores.get(source)
    return next((value for key, value in scores.items() if key.partition(".")[2] == source), None)
