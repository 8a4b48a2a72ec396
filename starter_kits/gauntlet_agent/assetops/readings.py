"""The readings in a file that `history` named, read page by page with `jsonreader`, and what can be said of them."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from gauntlet_agent.assetops.reading import Reading

if TYPE_CHECKING:
    from gauntlet_agent.assetops.skills import Work

_TIME_KEYS: Final = ("timestamp", "time", "Timestamp", "date")
_DECIMALS: Final = 4
_MOST_PAGES: Final = 20


@dataclass(frozen=True)
class Readings:
    """Rows of a file: a time and a value a sensor; an empty cell is None.

    Attributes:
        whole: False where the file has more rows than could be read within the episode's tool calls
    """

    rows: list[dict[str, Any]]
    whole: bool = True

    @property
    def time_column(self) -> str:
        """What the time is called."""
        return next((key for key in _TIME_KEYS if self.rows and key in self.rows[0]), _TIME_KEYS[0])

    @property
    def sensors(self) -> list[str]:
        """The columns that are no time."""
        names = dict.fromkeys(name for row in self.rows[:50] for name in row)
        return [name for name in names if name not in _TIME_KEYS and name not in ("asset_id", "assetnum", "site_name")]

    def values(self, sensor: str) -> list[tuple[datetime, float]]:
        """A sensor's readings in the order of time, the empty ones left out."""
        found = [(_moment(row.get(self.time_column)), _number(row.get(sensor))) for row in self.rows]
        return sorted((at, value) for at, value in found if at is not None and value is not None)


def read_file(work: Work, path: str) -> Readings:
    """Read a file of rows through `jsonreader`, in pages as large as the tool gives them."""
    from gauntlet_agent.assetops.skills import page_size, total_of

    size = page_size(work.desk, "jsonreader")
    rows: list[dict[str, Any]] = []
    for _ in range(_MOST_PAGES):
        page = work.call("jsonreader", file_name=path, limit=size, offset=len(rows) or None)
        found = _page_rows(page)
        rows += found
        if not found or len(rows) >= total_of(page, default=len(rows) if len(found) < size else len(rows) + 1):
            return Readings(rows)
    return Readings(rows, whole=False)


def statistic(reading: Reading, readings: Readings, sensor: str) -> dict[str, Any]:
    """Everything simple that can be said of a sensor's readings; where a time of day is named, the reading then."""
    found = readings.values(sensor)
    values = [value for _, value in found]
    said: dict[str, Any] = {
        "readings": len(values),
        "empty": len(readings.rows) - len(values),
        "rows": len(readings.rows),
    }
    if not values:
        return {**said, "mean": None}
    running = sum(value > 0 for value in values) / len(values)
    said |= {
        "mean": _rounded(math.fsum(values) / len(values)),
        "highest": max(values),
        "lowest": min(values),
        "median": _rounded(statistics.median(values)),
        "sum": _rounded(math.fsum(values)),
        "latest": values[-1],
        "latest_at": found[-1][0].isoformat(),
        "highest_at": next(at for at, value in found if value == max(values)).isoformat(),
        "share": _rounded(1 - running),
        "share_running": _rounded(running),
        "hours": _rounded(_longest_gap(readings) / 60),
    }
    moment = _time_of_day(reading)
    if moment is not None:
        said["value"] = next((value for at, value in found if (at.hour, at.minute) == moment), None)
    return said


def _rounded(value: float) -> float:
    return round(value, _DECIMALS)


def _time_of_day(reading: Reading) -> tuple[int, int] | None:
    """The time of day that is named: 23:45, 7pm, quarter to midnight."""
    if found := re.search(r"\b([01]?\d|2[0-3]):([0-5]\d)\b", reading.words):
        return int(found[1]), int(found[2])
    if found := re.search(r"\b(1[0-2]|[1-9])\s?(am|pm)\b", reading.words):
        return int(found[1]) % 12 + (12 if found[2] == "pm" else 0), 0
    return (23, 45) if reading.has(r"quarter to midnight") else (12, 0) if reading.has(r"\bat noon\b") else None


def _longest_gap(readings: Readings) -> float:
    times = sorted(at for row in readings.rows if (at := _moment(row.get(readings.time_column))) is not None)
    gaps = [(later - earlier).total_seconds() / 60 for earlier, later in pairwise(times)]
    return max(gaps, default=0.0)


def _page_rows(page: Any) -> list[dict[str, Any]]:
    """The rows of a page, whichever way it is wrapped; a table given as columns is turned."""
    if isinstance(page, list):
        return [row for row in page if isinstance(row, dict)]
    if not isinstance(page, Mapping):
        return []
    lists = {name: value for name, value in page.items() if isinstance(value, list)}
    for value in lists.values():
        if value and all(isinstance(row, dict) for row in value):
            return list(value)
    columns, rows = (
        lists.get("columns"),
        next((lists[name] for name in ("data", "rows", "values") if name in lists), None),
    )
    if columns and rows:
        return [dict(zip(columns, row, strict=False)) for row in rows if isinstance(row, list)]
    inner = next((value for value in page.values() if isinstance(value, Mapping)), None)
    return _page_rows(inner) if inner is not None else []


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).replace(tzinfo=None)
    except ValueError:
        return None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
