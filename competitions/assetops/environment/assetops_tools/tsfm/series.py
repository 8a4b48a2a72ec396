"""From a file of readings to an even series: on and off, the 15-minute grid, limited imputation (requirement A11).

Nothing is cleaned beyond that: what is stuck stays stuck, what is missing for longer than an hour stays missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assetops_tools.errors import BadArgument
from assetops_tools.scratch import Table
from assetops_tools.site import matching

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Times = NDArray[np.datetime64]
STEP_SECONDS: Final = 15 * 60
LONGEST_IMPUTED: Final = 4  # steps: an hour
_MOST_STEPS: Final = 400_000
_ON_SHARE: Final = 0.05  # of the usual reading while running: below it a machine is off


@dataclass(frozen=True)
class Series:
    """One column on the grid: ``times`` every 15 minutes, ``values`` with nan where nothing is known.

    ``operating`` is whether the equipment was on; ``imputed`` how many steps were filled in, ``missing`` how many were
    not, ``observations`` how many rows of the file went in.
    """

    name: str
    times: Times
    values: Numbers
    operating: Flags
    observations: int
    imputed: int

    @property
    def missing(self) -> int:
        """How many steps have no value."""
        return int(np.isnan(self.values).sum())

    @property
    def operating_share(self) -> float:
        """The share of the steps at which the equipment was on."""
        return float(self.operating.mean()) if len(self.operating) else 0.0

    def filled(self) -> Numbers:
        """The values with every hole filled from the same time of another day, the median where there is none."""
        values = self.values.copy()
        for shift in (96, -96, 192, -192, 672, -672):
            holes = np.flatnonzero(np.isnan(values))
            source = holes - shift
            inside = (source >= 0) & (source < len(values))
            values[holes[inside]] = values[source[inside]]
        if np.isnan(values).any():
            values[np.isnan(values)] = np.nanmedian(values)
        return values


def series_of(table: Table, timestamp_column: str, target: str) -> Series:
    """One column of a file on the grid.

    Raises:
        BadArgument: a column is not there, or holds nothing that can be used.
    """
    times = _times(table, _column(table, timestamp_column))
    raw = _numbers(table, _column(table, target))
    usable = ~np.isnat(times)
    if not (usable & ~np.isnan(raw)).any():
        raise BadArgument(f"The column {target!r:.80} holds no number at a readable time.")
    steps, start = _steps(times[usable])
    on_raw = operating(table)[usable]
    values = _mean_by_step(steps, raw[usable])
    on = _filled_forward(_mean_by_step(steps, on_raw.astype(np.float64))) >= 0.5
    filled, imputed = impute(values)
    grid = start + np.arange(len(values)) * np.timedelta64(STEP_SECONDS, "s")
    return Series(_column(table, target), grid, filled, on, int((~np.isnan(raw[usable])).sum()), imputed)


def operating(table: Table) -> Flags:
    """Whether the equipment was on at each row: from its run status, else from its power, else always.

    A power counts as on above 5 % of what it usually is while there is any (its 95th percentile).
    """
    status = _first_with(table, "run status")
    if status is not None and (~np.isnan(status)).mean() > 0.5:
        return _filled_forward(status) > 0.5
    for words in ("power", "tonnage", "% loaded"):
        load = _first_with(table, words)
        if load is not None and (~np.isnan(load)).any():
            usual = float(np.nanquantile(load, 0.95))
            flags: Flags = _filled_forward(load) > max(_ON_SHARE * usual, 0.0)
            return flags
    return np.ones(len(table.rows), dtype=bool)


def impute(values: Numbers) -> tuple[Numbers, int]:
    """Fill holes of up to an hour on the straight line between their neighbours; how many steps were filled."""
    filled = values.copy()
    holes = np.isnan(values)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holes, [False]]).astype(np.int8)))
    count = 0
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        if first > 0 and last < len(values) and last - first <= LONGEST_IMPUTED:
            line = np.linspace(values[first - 1], values[last], last - first + 2)
            filled[first:last] = line[1:-1]
            count += int(last - first)
    return filled, count


def _column(table: Table, name: str) -> str:
    found = matching(name, table.columns)
    if found is None:  # `Chiller 6 Tonnage` for `Tonnage`
        endings = [one for one in table.columns if name.casefold().endswith(f" {one.casefold()}")]
        found = endings[0] if len(endings) == 1 else None
    if found is None:
        raise BadArgument(f"The file has no column {name!r:.80}; it has {', '.join(table.columns)}.")
    return found


def _cells(table: Table, column: str) -> list[Any]:
    place = table.columns.index(column)
    return [row[place] for row in table.rows]


def _times(table: Table, column: str) -> Times:
    return np.array([_time(cell) for cell in _cells(table, column)], dtype="datetime64[s]")


def _time(cell: object) -> np.datetime64:
    try:
        at = datetime.fromisoformat(str(cell).strip())
    except ValueError:
        return np.datetime64("NaT", "s")
    return np.datetime64(at.replace(tzinfo=None), "s")


def _numbers(table: Table, column: str) -> Numbers:
    cells = _cells(table, column)
    numbers = [float(cell) if isinstance(cell, int | float) else np.nan for cell in cells]
    return np.array(numbers, dtype=np.float64)


def _first_with(table: Table, words: str) -> Numbers | None:
    found = next((name for name in table.columns if words in name.casefold()), None)
    return None if found is None else _numbers(table, found)


def _steps(times: Times) -> tuple[NDArray[np.int64], np.datetime64]:
    """Each time's step on the grid, which is the nearest quarter of an hour, and the time of step zero."""
    seconds = times.astype("datetime64[s]").astype(np.int64)
    quarters = (seconds + STEP_SECONDS // 2) // STEP_SECONDS
    first = int(quarters.min())
    if int(quarters.max()) - first >= _MOST_STEPS:
        raise BadArgument("The file covers too long a time to be put on a grid of 15 minutes.")
    return quarters - first, np.datetime64(first * STEP_SECONDS, "s")


def _mean_by_step(steps: NDArray[np.int64], values: Numbers) -> Numbers:
    known = ~np.isnan(values)
    length = int(steps.max()) + 1
    sums = np.bincount(steps[known], weights=values[known], minlength=length)
    counts = np.bincount(steps[known], minlength=length)
    with np.errstate(invalid="ignore"):
        means: Numbers = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


def _filled_forward(values: Numbers) -> Numbers:
    """Each missing value as the last known one before it; those before the first known one as that."""
    known = ~np.isnan(values)
    if not known.any():
        return np.zeros_like(values)
    places = np.where(known, np.arange(len(values)), -1)
    places = np.maximum.accumulate(places)
    places[places < 0] = int(np.flatnonzero(known)[0])
    carried: Numbers = values[places]
    return carried
