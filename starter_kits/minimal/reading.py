"""Reads a question: which machines, which days, which kind of records. Words and patterns only."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta

MONTHS = {name.casefold(): number for number, name in enumerate(calendar.month_name) if name}
_MONTH = "|".join(MONTHS)
_MACHINE = re.compile(r"\b[A-Z]{3}\d{5}\b|\b(?:chiller|ahu)[ _-]?\d+\b", re.IGNORECASE)
_DAY = rf"(\d{{1,2}}) ({_MONTH}) (\d{{4}})"
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4}


@dataclass(frozen=True)
class Days:
    """From the first to the last day, both included."""

    start: date
    end: date

    @property
    def arguments(self) -> dict[str, str]:
        """The days as the tools want them."""
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}


def machines(text: str) -> list[str]:
    """The machines that the question names, as they are written there."""
    return list(dict.fromkeys(found.group() for found in _MACHINE.finditer(text)))


def needs_today(text: str) -> bool:
    """Whether the question speaks of a time that depends on the present day."""
    return bool(re.search(r"\blast month\b|\bmonth before last\b", text, re.IGNORECASE))


def days(text: str, today: date | None = None) -> Days | None:
    """The days that the question speaks of, or None where it names none."""
    words = text.casefold()
    if today is not None and needs_today(text):
        return _month_ago(today, 2 if "month before last" in words else 1)
    if found := re.search(rf"{_DAY} (?:to|until|and) {_DAY}", words):
        return Days(_day(found[1], found[2], found[3]), _day(found[4], found[5], found[6]))
    if found := re.search(_DAY, words):
        day = _day(found[1], found[2], found[3])
        return Days(day, day)
    if found := re.search(rf"\b({_MONTH})(?: of)?,? (\d{{4}})", words):
        month = _month(int(found[2]), MONTHS[found[1]])
        week = re.search(r"first week of", words)
        return Days(month.start, month.start + timedelta(days=6)) if week else month
    if found := re.search(rf"\b({'|'.join(_QUARTERS)}) quarter of (\d{{4}})", words):
        last = 3 * _QUARTERS[found[1]]
        return Days(date(int(found[2]), last - 2, 1), _month(int(found[2]), last).end)
    if found := re.search(r"\b((?:19|20)\d{2})\b", words):
        return Days(date(int(found[1]), 1, 1), date(int(found[1]), 12, 31))
    return None


def kind(text: str) -> str:
    """Preventive or corrective work, or any."""
    words = text.casefold()
    preventive = any(word in words for word in ("preventive", "planned", "upkeep"))
    corrective = any(word in words for word in ("corrective", "repair", "breakdown"))
    if preventive == corrective:
        return "any"
    return "preventive" if preventive else "corrective"


def groups(text: str) -> list[str]:
    """The groups of events that the question names; all where it names none."""
    words = text.casefold()
    named = {"WORK_ORDER": "work order", "ALERT": "alert", "ANOMALY": "anomal"}
    return [group for group, word in named.items() if word in words] or list(named)


def sensor(text: str, recorded: list[str]) -> str | None:
    """The recorded sensor that the question names; the longest where several fit."""
    words = text.casefold()
    return max((name for name in recorded if name.casefold() in words), key=len, default=None)


def _day(day: str, month: str, year: str) -> date:
    return date(int(year), MONTHS[month], int(day))


def _month(year: int, month: int) -> Days:
    return Days(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def _month_ago(today: date, months: int) -> Days:
    number = today.year * 12 + today.month - 1 - months
    return _month(number // 12, number % 12 + 1)
