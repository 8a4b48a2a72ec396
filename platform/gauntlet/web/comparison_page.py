"""The page of two submissions side by side: rows with their words."""

from __future__ import annotations

from dataclasses import dataclass

from gauntlet.evaluation.comparing import ColumnComparison, SubmissionComparison
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
        interval=f"{ends[0]:+.{digits}f} to {ends[1]:+.{digits}f}" if ends else "–",
        p=_p(found.p),
        effect=_number(found.cohen_d, 2, sign="+"),
        counts=f"{found.wins} / {found.ties} / {found.losses}",
        better=one.better,
        scenarios=found.scenarios,
    )


def _number(value: float | None, digits: int, *, times: int = 1, sign: str = "") -> str:
    return "–" if value is None else f"{times * value:{sign}.{digits}f}"


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
