"""The whole of a board as CSV: values unrounded, intervals and how many trials were not verified beside them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import F, Window
from django.db.models.functions import Rank

from gauntlet.competitions.models import Column, Leaderboard, Phase, Sorting
from gauntlet.csv_cells import safe_cell
from gauntlet.leaderboards.columns import primary_column, shown_columns
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.leaderboards.one_moment import one_moment
from gauntlet.leaderboards.selectors import ENTRANT, Published, best_first, in_order, published

_ROWS_AT_ONCE: Final = 500  # each piece of a streamed answer costs a trip through the server
_BEFORE: Final = ("rank", "participant", "baseline")
_AFTER: Final = ("scenarios", "submitted_at", "source")
_ENDS: Final = ("", "_low", "_high", "_unverified")  # the columns that each one of the board is
_MISSING: Final = (None, None, None, None)  # the csv module leaves the cells empty

_Cell = tuple[float | None, float | None, float | None, int | None]  # value, low, high, how many were not verified
_Cells = Mapping[int, dict[int, _Cell]]  # by the entry's key and the column's


class _Standing(NamedTuple):
    pk: int
    participant: str
    baseline: bool
    scenarios: int
    submitted_at: datetime
    rank: int  # among baselines, if it is one


@one_moment()
def board_csv(*, leaderboard: Leaderboard, phase: Phase) -> Iterator[str]:
    """A board as CSV, best first, in pieces of some hundred lines.

    Everything is read before this returns, as of one moment: an error is an answer of its own and not the end of half a
    file.
    """
    columns = shown_columns(leaderboard)
    primary = primary_column(leaderboard)
    ascending = primary.sorting == Sorting.ASC
    return _pieces(
        columns,
        _standings(leaderboard, phase),
        cells=_cells(columns, leaderboard=leaderboard, phase=phase),
        beside=published(leaderboard, sorted_by=primary, ascending=ascending),
    )


def _standings(leaderboard: Leaderboard, phase: Phase) -> list[_Standing]:
    primary = primary_column(leaderboard)
    entries = in_order(
        Entry.objects.filter(leaderboard=leaderboard, phase=phase),
        sorted_by=primary,
        primary=primary,
        ascending=primary.sorting == Sorting.ASC,
    )
    rank = Window(Rank(), partition_by=[F("baseline")], order_by=best_first(primary))
    rows = entries.values_list("pk", ENTRANT, "baseline", "scenarios", "submission__created_at", rank)
    return [_Standing(*values) for values in rows]


def _cells(columns: Sequence[Column], *, leaderboard: Leaderboard, phase: Phase) -> _Cells:
    values = ColumnValue.objects.filter(
        column__in=columns, submission__entries__leaderboard=leaderboard, submission__entries__phase=phase
    )
    cells: dict[int, dict[int, _Cell]] = {}
    fields = ("submission__entries", "column_id", "value", "low", "high", "unverified")
    for entry, column, *cell in values.values_list(*fields):
        cells.setdefault(entry, {})[column] = tuple(cell)
    return cells


def _pieces(
    columns: Sequence[Column], standings: Sequence[_Standing], *, cells: _Cells, beside: Sequence[Published]
) -> Iterator[str]:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow([*_BEFORE, *map(safe_cell, _heads(columns)), *_AFTER])
    keys = [column.pk for column in columns]
    for start in range(0, len(standings) or 1, _ROWS_AT_ONCE):
        rows = standings[start : start + _ROWS_AT_ONCE]
        writer.writerows(_line(one, keys, cells=cells.get(one.pk, {})) for one in rows)
        if start + _ROWS_AT_ONCE >= len(standings):
            writer.writerows(_published_line(one, columns) for one in beside)
        yield file.getvalue()
        file.seek(0)
        file.truncate()


def _heads(columns: Sequence[Column]) -> list[str]:
    """The heads of the board's columns, each once: one that is taken, as ``rank``, becomes ``column_rank``."""
    heads: list[str] = []
    for column in columns:
        own = [f"{column.key}{end}" for end in _ENDS]
        while not {*_BEFORE, *_AFTER, *heads}.isdisjoint(own):
            own = [f"column_{head}" for head in own]
        heads += own
    return heads


def _published_line(one: Published, columns: Sequence[Column]) -> list[object]:
    line: list[object] = ["", safe_cell(one.name), True]
    for column in columns:
        cell = one.cells.get(column.key)
        line += (cell.value, None, None, None) if cell else _MISSING
    return [*line, "", "", safe_cell(one.source)]


def _line(standing: _Standing, keys: Sequence[int], *, cells: Mapping[int, _Cell]) -> list[object]:
    line: list[object] = [
        "" if standing.baseline else standing.rank,
        safe_cell(standing.participant),
        standing.baseline,
    ]
    for key in keys:
        line += cells.get(key, _MISSING)  # the csv module writes a float as repr does: unrounded
    return [*line, standing.scenarios, standing.submitted_at.isoformat(), ""]
