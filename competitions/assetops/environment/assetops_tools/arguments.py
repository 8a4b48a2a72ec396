"""Reads the arguments of a tool call, and says in one sentence what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from assetops_tools.errors import BadArgument

Arguments = Mapping[str, Any]
_MOMENT: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?Z?)?")
_LONGEST_TEXT: Final = 2000


@dataclass(frozen=True)
class Period:
    """From ``start`` to before ``after``, as ISO texts; None where it is open."""

    start: str | None
    after: str | None


def required_text(arguments: Arguments, key: str) -> str:
    """A text that must be there."""
    value = optional_text(arguments, key)
    if not value:
        raise BadArgument(f"{key} is required and must be text.")
    return value


def optional_text(arguments: Arguments, key: str) -> str:
    """A text; empty where it is left out."""
    value = arguments.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadArgument(f"{key} must be text; it was {value!r:.80}.")
    if len(value) > _LONGEST_TEXT:
        raise BadArgument(f"{key} must not be longer than {_LONGEST_TEXT} characters; it had {len(value)}.")
    return value.strip()


def names_list(arguments: Arguments, key: str) -> list[str]:
    """A list of names, or names in one text with commas between them; empty where it is left out."""
    value = arguments.get(key)
    if value is None:
        return []
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadArgument(f"{key} must be a list of names.")
    return [name.strip() for name in names if name.strip()]


def choice(arguments: Arguments, key: str, choices: Sequence[str]) -> str | None:
    """One of ``choices``, whatever its case; None where it is left out."""
    value = arguments.get(key)
    if value is None or value == "":
        return None
    for one in choices:
        if isinstance(value, str) and value.strip().casefold() == one.casefold():
            return one
    raise BadArgument(f"{key} must be one of {', '.join(choices)}; it was {value!r:.80}.")


def whole(arguments: Arguments, key: str, *, default: int, lowest: int, highest: int) -> int:
    """A whole number between two bounds, both allowed."""
    value = arguments.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadArgument(f"{key} must be a whole number; it was {value!r:.80}.")
    if not lowest <= value <= highest:
        raise BadArgument(f"{key} must be from {lowest} to {highest}; it was {value}.")
    return value


def page(arguments: Arguments, *, default: int = 50, most: int = 500) -> tuple[int, int]:
    """``limit`` and ``offset``."""
    limit = whole(arguments, "limit", default=default, lowest=1, highest=most)
    return limit, whole(arguments, "offset", default=0, lowest=0, highest=10_000_000)


def days(arguments: Arguments, *, required: bool = False) -> Period:
    """The days from ``start`` to ``end``, both included; either may be left out unless ``required``."""
    start, end = _day(arguments, "start", required=required), _day(arguments, "end", required=required)
    if start is not None and end is not None and end < start:
        raise BadArgument(f"end ({end}) is before start ({start}).")
    after = None if end is None else end + timedelta(days=1)
    return Period(None if start is None else f"{start}T00:00:00", None if after is None else f"{after}T00:00:00")


def moments(arguments: Arguments) -> Period:
    """From ``start`` to ``final``, which may be days or moments, both included; ``final`` may be left out."""
    start, _ = _moment(required_text(arguments, "start"), "start")
    text = optional_text(arguments, "final")
    if not text:
        return Period(_iso(start), None)
    final, is_day = _moment(text, "final")
    if final < start:
        raise BadArgument(f"final ({text}) is before start ({arguments['start']}).")
    return Period(_iso(start), _iso(final + (timedelta(days=1) if is_day else timedelta(seconds=1))))


def _day(arguments: Arguments, key: str, *, required: bool) -> date | None:
    text = required_text(arguments, key) if required else optional_text(arguments, key)
    if not text:
        return None
    at, _ = _moment(text, key, example="2020-06-30")
    if at.time() != time.min:  # anything finer than a day would be cut without a word
        raise BadArgument(f"{key} must be a day written as YYYY-MM-DD, for example 2020-06-30; it was {text!r:.80}.")
    return at.date()


def _moment(text: str, key: str, *, example: str = "2020-06-30 or 2020-06-30T14:15:00") -> tuple[datetime, bool]:
    """A moment, and whether only its day was given."""
    found = _MOMENT.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        at = datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}")
        at + timedelta(days=1)  # the last day that there is has no day after it
    except (ValueError, OverflowError):
        raise BadArgument(f"{key} must be a date, for example {example}; it was {text!r:.80}.") from None
    return at, found[2] is None


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="seconds")
