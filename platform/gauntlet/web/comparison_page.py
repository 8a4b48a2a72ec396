"""The page of two submissions side by side: rows with their words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.comparing import ColumnComparison, ScenarioChange, SubmissionComparison, readable_episodes
from gauntlet.evaluation.models import Episode
from gauntlet.submissions.models import Submission


@dataclass(frozen=True, kw_only=True)
class ComparedRow:
    """One column of the board."""

    title: str
    primary: bool
    lower: bool  # is better
    a: str
    b: str
    difference: str
    interval: str
    p: str
    effect: str
    counts: str
    better: str  # a, b or undecided
    scenarios: int  # that both have


@dataclass(frozen=True, kw_only=True)
class ChangedRow:
    """A scenario on which the two differ, with the records of what each did where the reader may open them."""

    scenario: str
    text: str
    a: str
    b: str
    difference: str
    better: str  # a or b
    episode_a: UUID | None
    episode_b: UUID | None


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What changed in one column, scenario by scenario, and how much did not."""

    title: str
    same: int
    rows: list[ChangedRow]


def changes(found: SubmissionComparison, *, audience: Audience, now: datetime) -> Changes | None:
    """The scenarios on which the two differ in the column that decides the rank, else in the first that is compared."""
    columns = sorted(found.columns, key=lambda one: not one.primary)
    if not columns:
        return None
    column = columns[0]
    ours, theirs = (readable_episodes(one, audience=audience, now=now) for one in (found.a, found.b))
    return Changes(
        title=column.column.title,
        same=column.found.scenarios - len(column.changed),
        rows=[_change(one, column, ours.get(one.scenario), theirs.get(one.scenario)) for one in column.changed],
    )


def _change(one: ScenarioChange, column: ColumnComparison, ours: Episode | None, theirs: Episode | None) -> ChangedRow:
    digits, read = column.column.precision, ours or theirs
    return ChangedRow(
        scenario=one.scenario,
        text=read.scenario.text if read else "",
        a=_number(one.a, digits, times=column.sign),
        b=_number(one.b, digits, times=column.sign),
        difference=_number(one.a - one.b, digits, times=column.sign, sign="+"),
        better="a" if one.a > one.b else "b",
        episode_a=ours.pk if ours else None,
        episode_b=theirs.pk if theirs else None,
    )


def rows(found: SubmissionComparison) -> list[ComparedRow]:
    """The columns in the board's order, the primary one first."""
    return [_row(one) for one in sorted(found.columns, key=lambda one: not one.primary)]


def _row(one: ColumnComparison) -> ComparedRow:
    found, digits = one.found, one.column.precision
    ends = sorted(one.sign * end for end in (found.interval.low, found.interval.high)) if found.interval else None
    return ComparedRow(
        title=one.column.title,
        primary=one.primary,
        lower=one.sign < 0,
        a=_number(found.mean_a, digits, times=one.sign),
        b=_number(found.mean_b, digits, times=one.sign),
        difference=_number(found.difference, digits, times=one.sign, sign="+"),
        interval=_minus(f"{ends[0]:+.{digits}f} to {ends[1]:+.{digits}f}") if ends else "–",
        p=_p(found.p),
        effect=_number(found.cohen_d, 2, sign="+"),
        counts=f"{found.wins} / {found.ties} / {found.losses}",
        better=one.better,
        scenarios=found.scenarios,
    )


def _number(value: float | None, digits: int, *, times: int = 1, sign: str = "") -> str:
    return "–" if value is None else _minus(f"{times * value:{sign}.{digits}f}")


def _minus(number: str) -> str:
    """With the sign that the page's heads have."""
    return number.replace("-", "−")


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def said(found: SubmissionComparison, compared: list[ComparedRow]) -> str:
    """What the comparison says of the column that decides the rank, in a sentence."""
    if not compared:
        return "The two have no score of the same scenario in common, so nothing can be said."
    first = compared[0]
    if not first.primary:
        return "The column that decides the rank is no mean over scenarios; see the others, each for itself."
    on = f"on {first.scenarios} scenario{'' if first.scenarios == 1 else 's'}"
    if first.better == "undecided":
        return f"In {first.title} the two are not surely apart {on} (p = {first.p})."
    better, worse = (found.a, found.b) if first.better == "a" else (found.b, found.a)
    equals = "" if first.p.startswith("<") else "= "
    return f"In {first.title} {named(better)} is better than {named(worse)} {on} (p {equals}{first.p})."


def named(submission: Submission) -> str:
    """A submission by its name and its participant's."""
    return f"“{submission.name}” by {submission.entrant}"
