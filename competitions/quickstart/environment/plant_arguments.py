"""Reads the arguments of a tool call, and says in one sentence what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from plant_records import Equipment, PlantRecords, name_key


class BadArgument(Exception):
    """The call cannot be answered as it was made; the message is for the caller."""


@dataclass(frozen=True)
class Period:
    """Whole days, the first and the last of them included."""

    start: date
    end: date

    def holds(self, at: datetime | None) -> bool:
        """Whether the time lies in the period; a missing time lies in none."""
        return at is not None and self._begin <= at < self._after

    @property
    def _begin(self) -> datetime:
        return datetime.combine(self.start, time.min)

    @property
    def _after(self) -> datetime:
        return datetime.combine(self.end, time.min) + timedelta(days=1)


def read_equipment(arguments: Mapping[str, Any], records: PlantRecords) -> Equipment:
    """The equipment that ``equipment`` names."""
    name = _text(arguments, "equipment")
    found = records.find(name)
    if found is None:
        raise BadArgument(f"This plant has no equipment {name!r}. list_equipment shows what it has.")
    return found


def read_filter(arguments: Mapping[str, Any], key: str) -> str:
    """A text to look for; empty where it is left out."""
    value = arguments.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadArgument(f"{key} must be text; it was {value!r}.")
    return value.strip()


def read_period(arguments: Mapping[str, Any]) -> Period:
    """The days from ``start`` to ``end``, both included."""
    period = Period(_day(arguments, "start"), _day(arguments, "end"))
    if period.end < period.start:
        raise BadArgument(f"end ({period.end}) is before start ({period.start}).")
    return period


def read_choice(arguments: Mapping[str, Any], key: str, *, choices: Sequence[str], default: str) -> str:
    """One of ``choices``; case does not matter."""
    value = arguments.get(key)
    if value is None or value == "":
        return default
    for choice in choices:
        if isinstance(value, str) and value.strip().casefold() == choice.casefold():
            return choice
    raise BadArgument(f"{key} must be one of {', '.join(choices)}; it was {value!r}.")


def read_groups(arguments: Mapping[str, Any], *, choices: Sequence[str]) -> list[str]:
    """The event groups asked for; all where none is named."""
    value = arguments.get("groups")
    if value is None or value == []:
        return list(choices)
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list):
        raise BadArgument(f"groups must be a list of {', '.join(choices)}.")
    return [read_choice({"groups": name}, "groups", choices=choices, default="") for name in names]


def read_page(arguments: Mapping[str, Any], *, default: int = 50, most: int = 200) -> tuple[int, int]:
    """``limit`` and ``offset`` of a page."""
    limit = _whole(arguments, "limit", default)
    offset = _whole(arguments, "offset", 0)
    if not 1 <= limit <= most:
        raise BadArgument(f"limit must be from 1 to {most}; it was {limit}.")
    if offset < 0:
        raise BadArgument(f"offset must not be negative; it was {offset}.")
    return limit, offset


def read_sensor(arguments: Mapping[str, Any], sensors: Sequence[str], equipment: Equipment) -> str:
    """The sensor that ``sensor`` names, however it is written."""
    name = _text(arguments, "sensor")
    key = name_key(name)
    for sensor in sensors:
        if key in {name_key(sensor), name_key(equipment.name + sensor)}:
            return sensor
    recorded = ", ".join(sensors) if sensors else "nothing"
    raise BadArgument(f"No sensor {name!r} is recorded for {equipment.name}. Recorded: {recorded}.")


def _text(arguments: Mapping[str, Any], key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadArgument(f"{key} is required and must be text.")
    return value.strip()


def _whole(arguments: Mapping[str, Any], key: str, default: int) -> int:
    value = arguments.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadArgument(f"{key} must be a whole number; it was {value!r}.")
    return value


def _day(arguments: Mapping[str, Any], key: str) -> date:
    text = _text(arguments, key)
    # A date, or that date at midnight: anything finer would be cut without a word.
    found = re.fullmatch(r"(\d{4}-\d{2}-\d{2})(?:[T ]00:00(?::00)?Z?)?", text)
    try:
        day = date.fromisoformat(found[1]) if found else None
    except ValueError:
        day = None
    if day is None or day == date.max:
        raise BadArgument(f"{key} must be a day written as YYYY-MM-DD, for example 2020-06-30; it was {text!r}.")
    return day
