"""From scores to a column's value: how what it takes of them is combined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from gauntlet.competitions.models import Column, Leaderboard
from gauntlet.leaderboards.errors import BoardNotFound
from gauntlet.leaderboards.exact import deviation_of_means, mean, total
from gauntlet.leaderboards.scores import TaskScores, TrialScore, pick, taken, takes_part
from gauntlet_scoring.statistics import bootstrap_interval, pass_hat_k

_COMBINE: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "mean": mean,
    "avg": mean,
    "sum": total,
    "min": min,
    "max": max,
}


@dataclass(frozen=True, kw_only=True)
class Value:
    """A column's value, with its 95 % interval where the column declares one and the scores allow it.

    It is None where too much of it could not be verified.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    unverified: int = 0  # trials that count in the column and that nobody could verify


def shown_columns(leaderboard: Leaderboard) -> list[Column]:
    """The columns of a board that are not hidden, in their order."""
    return [column for column in leaderboard.columns.all() if not column.hidden]


def primary_column(leaderboard: Leaderboard) -> Column:
    """The column that ranks a board; where none is marked so, the first that is shown.

    Raises:
        BoardNotFound: it has none, since it is being deleted
    """
    shown = shown_columns(leaderboard)
    if not shown:
        raise BoardNotFound("This board shows no column.")
    return next((column for column in shown if column.primary), shown[0])


class PassMark(NamedTuple):
    """From which value of which score on a trial counts as passed on a board."""

    source: str
    pass_at: float


def over_trials(column: Column) -> bool:
    """Whether the column says how trials compare, so that one trial alone has no value in it."""
    return column.over not in _COMBINE


def trials_needed(column: Column) -> int:
    """Of how many trials a scenario must have a result for the column to have a value."""
    return 2 if column.over == "std" else int(column.over.removeprefix("pass^")) if over_trials(column) else 1


def pass_marks(columns: Iterable[Column]) -> list[PassMark]:
    """What the columns over passed trials ask for, in their order."""
    return [PassMark(c.source, c.pass_at or 0.0) for c in columns if c.over.startswith("pass^")]


def column_values(columns: Sequence[Column], tasks: Sequence[TaskScores]) -> dict[str, Value]:
    """Compute every column that the scores allow, by column key; the others are absent.

    A column with ``over`` combines all scenarios and trials of all tasks that have its program; one whose scores are
    aggregates only (a Codabench program's) combines the tasks. A computed column combines other columns by their index.
    ``std`` is the sample standard deviation of the trials' means, over the scenarios of which all trials were verified.
    ``pass^k`` is the mean over scenarios of C(c, k) / C(n, k), with c of n trials passed; a scenario with fewer than k
    trials that count is left out, for it tells neither way. A column with ``where`` counts the scenarios that carry its
    tags, and is absent where there are none. What was not verified counts as the column says (:mod:`.scores`).
    """
    values = {
        column.key: value
        for column in columns
        if not column.computation and (value := _from_scores(column, tasks)) is not None
    }
    by_index = {column.index: column for column in columns}
    for column in columns:
        if not column.computation:
            continue
        parts = [values.get(by_index[index].key) for index in column.computation_indexes if index in by_index]
        if (whole := _composite(column.computation, parts)) is not None:
            values[column.key] = whole
    return values


def _composite(how: str, parts: Sequence[Value | None]) -> Value | None:
    """A computed column; without a value where one that it combines has none."""
    known = [part.value for part in parts if part is not None and part.value is not None]
    whole = _combined(how, known) if len(known) == len(parts) else None
    return _told(whole, unverified=max((part.unverified for part in parts if part is not None), default=0))


def _told(value: Value | None, *, unverified: int) -> Value | None:
    """A value with how many trials were not verified; None only where there is nothing to say."""
    if value is None:
        return Value(value=None, unverified=unverified) if unverified else None
    return replace(value, unverified=unverified)


def _combined(how: str, numbers: Sequence[float]) -> Value | None:
    """Numbers as one; None where there are none, or too large ones for a finite one that a board can show and rank."""
    if not numbers:
        return None
    try:
        value = _COMBINE[how](numbers)
    except OverflowError:
        return None
    return Value(value=value + 0.0) if math.isfinite(value) else None  # -0.0 would be shown with its sign


def scenario_scores(column: Column, tasks: Sequence[TaskScores]) -> list[TrialScore]:
    """The scores by scenario and trial that count in a column; none where it has no value from such."""
    return taken(column, tasks).rows or []


def _from_scores(column: Column, tasks: Sequence[TaskScores]) -> Value | None:
    found = taken(column, tasks)
    if found.rows is not None:
        return _told(_from_trials(column, found.rows) if found.rows else None, unverified=found.unverified)
    if over_trials(column) or column.where:
        return None
    asked = [task for task in tasks if takes_part(task, column.source)]
    aggregates = [value for task in asked if (value := pick(task.aggregates, column.source)) is not None]
    # A task without the score leaves the column empty: a part is not shown as the whole.
    if not aggregates or len(aggregates) < len(asked):
        return None
    return _combined(column.over, aggregates)


def _from_trials(column: Column, rows: Sequence[TrialScore]) -> Value | None:
    if column.over == "std":
        return _spread(rows)
    how = column.over
    if column.over.startswith("pass^"):
        how, rows = "mean", _passing(rows, k=trials_needed(column), pass_at=column.pass_at or 0.0)
    numbers = [row.value for row in rows]
    whole = _combined(how, numbers)
    if whole is None or column.interval != "bootstrap" or _COMBINE[how] is not mean:
        return whole
    scenarios = [row.scenario for row in rows]
    if len(set(scenarios)) < 2:  # one scenario says nothing of others: an interval of no width would say it is sure
        return whole
    return _with_interval(whole, numbers, scenarios=scenarios)


def _with_interval(whole: Value, numbers: Sequence[float], *, scenarios: Sequence[str]) -> Value:
    """A mean with its interval, which holds it; without one where the numbers are too large to be drawn."""
    assert whole.value is not None  # noqa: S101  for the type checker: it was combined from these numbers
    try:
        interval = bootstrap_interval(numbers, scenarios=scenarios)
    except OverflowError:
        return whole
    if not math.isfinite(interval.high - interval.low):
        return whole
    # Drawn means are rounded as they are added, so that those of equal numbers may lie beside the mean.
    return replace(whole, low=min(interval.low, whole.value), high=max(interval.high, whole.value))


def _spread(rows: Sequence[TrialScore]) -> Value | None:
    """How much the trials differ; None where there are no two. The rows are those of whole scenarios."""
    trials: dict[int, list[float]] = {}
    for row in rows:
        trials.setdefault(row.trial, []).append(row.value)
    if len(trials) < 2:
        return None
    try:
        return Value(value=deviation_of_means(trials.values()))
    except OverflowError:
        return None


def _passing(rows: Sequence[TrialScore], *, k: int, pass_at: float) -> list[TrialScore]:
    """One row a scenario that has k trials that count, its value the chance that k of them pass."""
    scenarios: dict[str, list[bool]] = {}
    for row in rows:
        scenarios.setdefault(row.scenario, []).append(row.value >= pass_at)
    return [
        TrialScore(scenario, trial=1, value=pass_hat_k(sum(passed), len(passed), k))
        for scenario, passed in scenarios.items()
        if len(passed) >= k
    ]
