"""Which days a question speaks of, in the many ways in which people write them. Words and patterns only."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

_NAMES: Final = {name.casefold(): number for number, name in enumerate(calendar.month_name) if name}
_SHORT: Final = {name.casefold(): number for number, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
MONTHS: Final = _NAMES | _SHORT
_MONTH: Final = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
_YEAR: Final = r"(?:(?:19|20)\d{2}|['’]\d{2})(?!\d)"
_QUARTER: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1": 1, "2": 2, "3": 3, "4": 4}
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_BRIDGE: Final = re.compile(
    r"\s*(?:T?\d{1,2}:\d{2}(?::\d{2})?)?\s*(?:,?\s*\b(?:to|until|till|through|thru|and|up to)\b|[-–—])\s*(?:the\s+)?"
    r"(?:\d{1,2}:\d{2}\s*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Period:
    """From the first to the last day, both included.

    Attributes:
        place: where in the text it stands, first and last position
    """

    start: date
    end: date
    place: tuple[int, int] = (0, 0)

    @property
    def arguments(self) -> dict[str, str]:
        """The days as the work-order tools take them."""
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}

    @property
    def words(self) -> str:
        """The days as a request to a sub-agent says them."""
        if self.start == self.end:
            return f"on {self.start.isoformat()}"
        return f"from {self.start.isoformat()} to {self.end.isoformat()}"


def periods(text: str, today: date | None = None) -> list[Period]:
    """All periods that a text names, in their order; "from A to B" is one.

    Args:
        today: what "last week" counts from; such words mean nothing without it
    """
    found = sorted(_found(text, today), key=lambda one: (one.place[0], -one.place[1]))
    apart: list[Period] = []
    for one in found:
        if not apart or one.place[0] >= apart[-1].place[1]:
            apart.append(one)
    return list(_joined(text, apart))


def one_period(text: str, today: date | None = None) -> Period | None:
    """What a text speaks of as a whole: from the first to the last day that it names; None where it names none."""
    named = periods(text, today)
    if not named:
        return None
    return Period(min(one.start for one in named), max(one.end for one in named), named[0].place)


def needs_today(text: str) -> bool:
    """Whether the text counts from the present day."""
    return bool(_RELATIVE.search(text)) and one_period(text) is None


def assumed_today(text: str) -> date | None:
    """The present day that a question tells to assume ("today is early of July 2020"); None where it tells none."""
    found = re.search(r"\b(?:today|current date|present day)\s+(?:is|was|were)\b(?P<rest>.{0,60})", text, re.IGNORECASE)
    if found is None:
        return None
    named = periods(found["rest"])
    return named[0].start if named else None


def without_assumption(text: str) -> str:
    """The text without the clause that says which day to assume, whose date is no period asked about."""
    clause = r"\b(?:assum(?:e|ing)\b[^,.]*?)?\b(?:today|current date)\s+(?:is|was|were)\b[^,.;]*[,.;]?"
    return re.sub(clause, " ", text, count=1, flags=re.IGNORECASE)


def _joined(text: str, apart: list[Period]) -> Iterator[Period]:
    """Join neighbours that a word such as "to" connects; with "and", only where "from" or "between" stands before."""
    position = 0
    while position < len(apart):
        one = apart[position]
        if position + 1 < len(apart):
            after = apart[position + 1]
            between = text[one.place[1] : after.place[0]]
            bridge = _BRIDGE.fullmatch(between)
            if bridge and after.start >= one.start and ("and" not in between.casefold() or _opens(text, one)):
                yield Period(one.start, after.end, (one.place[0], after.place[1]))
                position += 2
                continue
        yield one
        position += 1


def _opens(text: str, one: Period) -> bool:
    return bool(re.search(r"\b(?:between|from)\s+(?:the\s+)?$", text[: one.place[0]], re.IGNORECASE))


def _found(text: str, today: date | None) -> Iterator[Period]:
    for pattern, made in _PATTERNS:
        for match in pattern.finditer(text):
            try:
                period = made(match)
            except (ValueError, KeyError):
                continue
            if period is not None:
                yield replace(period, place=match.span())
    if today is not None:
        for match in _RELATIVE.finditer(text):
            yield replace(_relative(match, today), place=match.span())


def _year(text: str) -> int:
    digits = re.sub(r"\D", "", text)
    return int(digits) + 2000 if len(digits) == 2 else int(digits)


def _month_number(text: str) -> int:
    return MONTHS[text.casefold().rstrip(".")]


def month_of(year: int, month: int) -> Period:
    """A whole month."""
    return Period(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def year_of(year: int) -> Period:
    """A whole year."""
    return Period(date(year, 1, 1), date(year, 12, 31))


def _single(day: date) -> Period:
    return Period(day, day)


def _iso(match: re.Match[str]) -> Period:
    return _single(date(int(match[1]), int(match[2]), int(match[3])))


def _american(match: re.Match[str]) -> Period:
    return _single(date(_year(match[3]) if len(match[3]) == 4 else 2000 + int(match[3]), int(match[1]), int(match[2])))


def _week_of(match: re.Match[str]) -> Period | None:
    named = periods(match["rest"])
    if not named:
        return None
    return Period(named[0].start, named[0].start + timedelta(days=6))


def _edge_week(match: re.Match[str]) -> Period | None:
    named = periods(match["rest"])
    if not named:
        return None
    whole = named[0]
    if match["which"].casefold() == "last":
        return Period(whole.end - timedelta(days=6), whole.end)
    weeks = _QUARTER[match["which"].casefold()] - 1
    return Period(whole.start + timedelta(days=7 * weeks), whole.start + timedelta(days=7 * weeks + 6))


def _quarter(match: re.Match[str]) -> Period:
    last = 3 * _QUARTER[match[1].casefold()]
    year = _year(match[2])
    return Period(date(year, last - 2, 1), month_of(year, last).end)


def _half(match: re.Match[str]) -> Period:
    year = _year(match[2])
    return Period(date(year, 1, 1), date(year, 6, 30)) if match[1].casefold() == "first" else Period(
        date(year, 7, 1), date(year, 12, 31)
    )  # fmt: skip


def _two_months(match: re.Match[str]) -> Period:
    year = _year(match[3])
    return Period(month_of(year, _month_number(match[1])).start, month_of(year, _month_number(match[2])).end)


_INNER: Final = (
    rf"(?:{_DAY}\s+{_MONTH}\s+{_YEAR}|{_MONTH}\s+{_DAY},?\s+{_YEAR}|(?:the\s+)?{_MONTH},?\s+(?:of\s+)?{_YEAR}"
)
_REST: Final = _INNER.replace(r"(\d{1,2})", r"\d{1,2}") + rf"|\d{{4}}-\d{{2}}-\d{{2}}|(?:the\s+year\s+)?{_YEAR})"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_PATTERNS: Final[list[tuple[re.Pattern[str], Callable[[re.Match[str]], Period | None]]]] = [
    (_compiled(rf"\bweek (?:of|starting|beginning|from)(?: on)? (?P<rest>{_REST})"), _week_of),
    (_compiled(rf"\b(?P<which>first|second|third|fourth|last) week (?:of|in) (?:the )?(?P<rest>{_REST})"), _edge_week),
    (_compiled(r"\b(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2})?)?"), _iso),
    (_compiled(r"\b(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\b"), _american),
    (
        _compiled(rf"\b{_DAY}(?: of)? ({_MONTH}),? ({_YEAR})"),
        lambda match: _single(date(_year(match[3]), _month_number(match[2]), int(match[1]))),
    ),
    (
        _compiled(rf"\b({_MONTH}) {_DAY},? ({_YEAR})"),
        lambda match: _single(date(_year(match[3]), _month_number(match[1]), int(match[2]))),
    ),
    (_compiled(rf"\b({_MONTH}) and ({_MONTH})(?: of)?,? ({_YEAR})"), _two_months),
    (
        _compiled(rf"\b({_MONTH})(?: of)?,? ({_YEAR})"),
        lambda match: month_of(_year(match[2]), _month_number(match[1])),
    ),
    (_compiled(r"\b(\d{4})-(\d{2})(?![-\d])"), lambda match: month_of(int(match[1]), int(match[2]))),
    (_compiled(rf"\b(first|second|third|fourth) quarter (?:of )?(?:the year )?({_YEAR})"), _quarter),
    (_compiled(rf"\bQ([1-4])(?: of)? ({_YEAR})"), _quarter),
    (_compiled(rf"\b(first|second) half (?:of )?(?:the year )?({_YEAR})"), _half),
    (_compiled(r"(?<![\d.#/-])\b((?:19|20)\d{2})\b(?![-/:.]\d)"), lambda match: year_of(int(match[1]))),
]
_RELATIVE: Final = _compiled(
    r"\b(?:(?P<ago>last|previous|past) (?P<unit>week|month|year)|month before last|yesterday|today)\b(?! of\b)"
)


def _relative(match: re.Match[str], today: date) -> Period:
    words = match[0].casefold()
    if words == "today":
        return _single(today)
    if words == "yesterday":
        return _single(today - timedelta(days=1))
    if words == "month before last":
        return _months_ago(today, 2)
    if match["unit"].casefold() == "month":
        return _months_ago(today, 1)
    if match["unit"].casefold() == "year":
        return year_of(today.year - 1)
    monday = today - timedelta(days=today.weekday())
    return Period(monday - timedelta(days=7), monday - timedelta(days=1))


def _months_ago(today: date, months: int) -> Period:
    number = today.year * 12 + today.month - 1 - months
    return month_of(number // 12, number % 12 + 1)
