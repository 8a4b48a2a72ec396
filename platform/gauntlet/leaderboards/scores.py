"""Which scores a column takes, and what a trial counts whose result nobody could verify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from gauntlet.competitions.models import Column, Unverified

_T = TypeVar("_T")
_MEASURED: Final = "episodes"  # the key of the platform's own measures, where a program's would stand


class Trial(NamedTuple):
    """One trial of a scenario."""

    scenario: str  # its opaque id
    trial: int


class TrialScore(NamedTuple):
    """A score of one trial of a scenario."""

    scenario: str
    trial: int
    value: float


@dataclass(frozen=True, kw_only=True)
class TaskScores:
    """What the evaluation in force of one task gave; ``scenarios`` by score key, ``tags`` by a scenario's opaque id."""

    aggregates: Mapping[str, float]
    task: str = ""  # its key; by it the same scenario in two tasks is two
    programs: frozenset[str] | None = None  # keys of its scoring programs; None: it may have any
    scenarios: Mapping[str, Sequence[TrialScore]] = field(default_factory=dict)
    trials: Sequence[Trial] = ()  # all that ran to their end: blocked ones are none of them
    failed: frozenset[Trial] = frozenset()  # of these, the ones that their own agent ended without an answer
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Taken(NamedTuple):
    """What a column takes of the scores by scenario.

    ``rows`` is None where no program gave the score by scenario, and empty where what there is would be a part shown as
    the whole. One scenario in two tasks is two.
    """

    rows: list[TrialScore] | None
    unverified: int = 0  # trials without the score


def takes_part(task: TaskScores, source: str) -> bool:
    """Whether a task has the program whose score this is; a bare key fits any."""
    program, _, score = source.partition(".")
    return not score or program == _MEASURED or task.programs is None or program in task.programs


def taken(column: Column, tasks: Sequence[TaskScores]) -> Taken:
    """The scores by scenario and trial that count in a column, and of how many trials there was none.

    A trial that its agent failed counts with the worst value, also where a program says nothing of it. Any other that
    ran and has no score was not verified: nobody could say how good it is, and its agent may be why. With
    ``unverified: fail`` it counts with the worst value, so that a doubtful result is never worth more than a wrong one;
    where the worst value is not known the column has none. With ``exclude`` it is left out, as long as the share of
    ``min_verified`` and, of each task, one trial was verified. A spread is over the scenarios of which every trial was
    verified: means over different scenarios differ because these do.
    """
    parts = [_Part.of(task, column, name=task.task or str(number)) for number, task in enumerate(tasks)]
    parts = [part for part in parts if part.takes_part]
    if not any(part.given for part in parts):
        return Taken(None)
    rows = [row for part in parts for row in part.rows]
    lacking = [row for part in parts for row in part.lacking]
    if column.unverified == Unverified.FAIL and column.over != "std":
        whole = all(part.given or part.has_nothing for part in parts)
        whole = whole and (not lacking or worst_value(column) is not None)
        rows += lacking
    else:
        whole = all(part.rows or part.has_nothing for part in parts)
        # As a quotient: 0.55 times 100 is a little more than 55.
        whole = whole and (not lacking or len(rows) / (len(rows) + len(lacking)) >= column.min_verified)
        if column.over == "std":
            parted = {row.scenario for row in lacking}
            rows = [row for row in rows if row.scenario not in parted]
    return Taken(rows if whole else [], unverified=len(lacking) if column.unverified else 0)


def _named(trial: Trial, value: float, task: str) -> TrialScore:
    return TrialScore(f"{task}:{trial.scenario}", trial.trial, value)


class _Part(NamedTuple):
    """What one task has for a column."""

    takes_part: bool
    given: bool  # its program gave the score by scenario, be it for scenarios that the column does not count
    rows: list[TrialScore]
    lacking: list[TrialScore]  # the trials without it, each with what it counts where it counts
    has_nothing: bool  # it has no scenario that the column counts: nothing is missing without it

    @classmethod
    def of(cls, task: TaskScores, column: Column, *, name: str) -> _Part:
        scores = pick(task.scenarios, column.source) or ()
        rows = [row for row in scores if _counts(task, row.scenario, column.where)]
        have = {(row.scenario, row.trial) for row in rows}
        worst = worst_value(column)
        missing = [one for one in task.trials if one not in have and _counts(task, one.scenario, column.where)]
        failed = task.failed if column.unverified and worst is not None else frozenset()
        lacking = [_named(one, worst or 0.0, name) for one in missing if one not in failed]
        named = [row._replace(scenario=f"{name}:{row.scenario}") for row in rows]
        named += [_named(one, worst or 0.0, name) for one in missing if one in failed]
        has_nothing = not named and not lacking and bool(scores or column.where)
        return cls(takes_part(task, column.source), bool(scores), named, lacking, has_nothing)


def worst_value(column: Column) -> float | None:
    """What a trial counts that nobody verified; None where the score's scale is not known."""
    return float("-inf") if column.over.startswith("pass^") else column.worst  # below every mark: not passed


def unverified_told(column: Column) -> str:
    """What a trial that was not verified counts in a column, as a sentence for a reader."""
    if column.computation:
        return "it counts as in the columns that are combined."
    if column.over == "std":
        return "the spread is over the scenarios of which every trial was verified."
    if column.unverified == Unverified.EXCLUDE:
        bound = f"; below {column.min_verified:.0%} verified there is no value" if column.min_verified else ""
        return f"it is left out{bound}."
    if worst_value(column) is None:
        return "there is no value with such a trial, because the score has no declared scale."
    return "it counts as failed, with the worst value."


def _counts(task: TaskScores, scenario: str, where: Mapping[str, Sequence[str]]) -> bool:
    tags = task.tags.get(scenario, {})
    return all(tags.get(tag) in wanted for tag, wanted in where.items())


def pick(scores: Mapping[str, _T], source: str) -> _T | None:
    """The score named ``program.key``; a bare key, as Codabench's columns have it, fits the first program's."""
    if source in scores or "." in source:
        return scores.get(source)
    return next((value for key, value in scores.items() if key.partition(".")[2] == source), None)
