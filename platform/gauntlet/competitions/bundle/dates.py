"""Dates of a bundle: read from the text as written, so that an unquoted YAML time keeps its time and its offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

_WRITTEN: Final = re.compile(
    r"""(?P<year>\d{4}) (?P<mark>[-/.]) (?P<month>\d{1,2}) (?P=mark) (?P<day>\d{1,2})
    (?: (?:[Tt]|[ \t]+) (?P<hour>\d{1,2}) : (?P<minute>\d{2})
        (?: : (?P<second>\d{2}) (?: [.,] (?P<fraction>\d{1,9}) )? )?
        [ \t]* (?P<offset> Z | z | UTC | GMT | [-+]\d{1,2} (?: :? \d{2} )? )? )?""",
    re.VERBOSE | re.ASCII,
)


class BadDate(ValueError):
    """A text that is no date; the message is a sentence for its writer."""


def parse_moment(text: str, zone: ZoneInfo) -> datetime:
    """A moment, in UTC. A date alone is its first instant; what names no offset is in ``zone``.

    A time that the zone's clocks skip is moved by the gap; of a time that comes twice, the first is meant.

    Raises:
        BadDate: it is no date, or one that can be read in two ways (03-04-2026).
    """
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise BadDate(f"{text[:40]!r} is not a date; write year-month-day, and hours:minutes:seconds if it matters.")
    part = match.groupdict()
    micro = int((part["fraction"] or "0").ljust(6, "0")[:6])
    try:
        moment = datetime(
            int(part["year"]),
            int(part["month"]),
            int(part["day"]),
            int(part["hour"] or 0),
            int(part["minute"] or 0),
            int(part["second"] or 0),
            micro,
            tzinfo=_offset(part["offset"]) or zone,
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadDate(f"{text[:40]!r} is no day or time of the calendar.") from error


def _offset(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    if minutes > 59:
        raise ValueError(text)
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if text[0] == "-" else delta)
