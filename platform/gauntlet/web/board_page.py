"""The leaderboard's page: rows as terse HTML, heads with their links, labels for the phone layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from gauntlet.competitions.models import Column
from gauntlet.leaderboards.columns import trials_needed
from gauntlet.leaderboards.scores import unverified_told
from gauntlet.leaderboards.selectors import Board, Cell, Published, Row
from gauntlet.web.templatetags.gauntlet_ui import bar

PAGE_SIZE: Final = 200  # rows on one page


@dataclass(frozen=True, kw_only=True)
class Head:
    """A column's head: its link sorts best first, and the other way round where it already does."""

    column: Column
    query: str
    sorted: bool
    hint: str
    scale: str  # ends of the bars' scale, for the primary column


@dataclass(frozen=True, kw_only=True)
class OwnRow:
    """The reader's own row, always within reach."""

    rank: int | None
    score: str
    href: str
    words: str
    submission: str


def heads(board: Board, query: QueryDict) -> list[Head]:
    """The columns in their order, the primary one first."""
    made = []
    for column in in_order(board):
        best_first = board.ascending == (column.sorting == "asc")
        is_sorted = column == board.sorted_by
        sort = f"-{column.key}" if is_sorted and best_first else column.key
        made.append(
            Head(
                column=column,
                query=with_query(query, sort=sort),
                sorted=is_sorted,
                hint=f"Sort by {column.title}, {'worst' if sort.startswith('-') else 'best'} first",
                scale=f"{board.low:g} to {board.high:g}" if column == board.primary else "",
            )
        )
    return made


def in_order(board: Board) -> list[Column]:
    """The board's columns with the primary one first."""
    return [board.primary, *(column for column in board.columns if column != board.primary)]


def with_query(query: QueryDict, **changes: str) -> str:
    """The page's query with changes; a new order or search begins on the first page."""
    kept = {name: query[name] for name in ("q", "sort") if query.get(name)}
    return urlencode({**kept, **changes})


def rows(board: Board) -> SafeString:
    """The table's body without closing tags and classes on cells: 200 rows stay well under 60 KB."""
    columns = in_order(board)
    return format_html_join("", "{}", ((_row(row, board, columns),) for row in board.rows))


def _row(row: Row, board: Board, columns: list[Column]) -> SafeString:
    look = ' id="me" class="me"' if row.mine else ' class="base"' if row.baseline else ""
    name = format_html("{}{}", row.participant, _tag(row))
    cells = _cells(row.cells, board, columns)
    return format_html(
        "<tr{}><td>{}<th>{}{}<td>{}<td><time>{}</time><details><summary>More</summary></details>",
        mark_safe(look),  # noqa: S308 -- one of three constants
        "–" if row.rank is None else row.rank,
        name,
        cells,
        row.scenarios,
        f"{row.submitted_at:%Y-%m-%d}",
    )


def _cells(cells: Mapping[str, Cell], board: Board, columns: list[Column]) -> SafeString:
    return format_html_join(
        "",
        "<td>{}{}",
        (
            (_shown(cell := cells.get(column.key)), bar(cell, board.low, board.high) if column == board.primary else "")
            for column in columns
        ),
    )


def _shown(cell: Cell | None) -> SafeString | str:
    """A value, and beside it of how many trials nobody could say what they are worth."""
    text = mark_safe('–<span class="sr"> no score</span>') if cell is None or cell.value is None else cell.text
    if cell is None or not cell.unverified:
        return text
    return format_html('{} <small class="muted">({} not verified)</small>', text, cell.unverified)


def unverified_rules(board: Board) -> list[str]:
    """What the trials count that nobody could verify, by column, where this page shows a row with such."""
    columns = [
        column
        for column in in_order(board)
        if any((cell := row.cells.get(column.key)) and cell.unverified for row in board.rows)
    ]
    return [f"{column.title}: {unverified_told(column)}" for column in columns]


def notes(board: Board) -> list[str]:
    """What a reader of these rows may wonder about: columns without values, and equal figures with unequal ranks."""
    trials = "once" if board.phase.trials == 1 else f"{board.phase.trials} times"
    told = [
        f"{column.title} has no value here: it needs {needed} trials of a scenario, and this phase runs each {trials}."
        for column in in_order(board)
        if (needed := trials_needed(column)) > board.phase.trials
    ]
    ranks: dict[str, int] = {}
    ranked = [(row.cells.get(board.primary.key), row.rank) for row in board.rows if row.rank is not None]
    if any(cell and ranks.setdefault(cell.text, rank) != rank for cell, rank in ranked):
        told.append(
            f"Where two rows show the same {board.primary.title} and have different ranks, digits that are not shown "
            "decide; the CSV and the JSON have them all."
        )
    return told


def has_intervals(board: Board) -> bool:
    """Whether a row of this page has an interval beside its primary score."""
    return any((cell := row.cells.get(board.primary.key)) and cell.low is not None for row in board.rows)


def published_rows(board: Board) -> SafeString:
    """The rows of published results: marked, without rank, each with its source."""
    columns = in_order(board)
    return format_html_join("", "{}", ((_published(one, board, columns),) for one in board.published))


def _published(one: Published, board: Board, columns: list[Column]) -> SafeString:
    return format_html(
        '<tr class="base"><td>–<th>{} <span class="tag">published</span><small>{}</small>{}<td>–<td>'
        "<details><summary>More</summary></details>",
        one.name,
        one.source,
        _cells(one.cells, board, columns),
    )


def _tag(row: Row) -> SafeString:
    if row.baseline:
        return format_html(' <span class="tag">baseline</span> {}', row.submission_name)
    return mark_safe(' <span class="tag">you</span>' if row.mine else "")  # noqa: S308 -- constants


def own_row(board: Board) -> OwnRow | None:
    """Where the reader stands, and a link to there."""
    own = board.own_row
    if own is None:
        return None
    score = own.cells.get(board.primary.key)
    here = any(row.mine for row in board.rows)
    return OwnRow(
        rank=own.rank,
        score=score.text if score else "",
        href="#me" if here else f"?{urlencode({'q': own.participant})}",
        words="Go to your row" if here else "Find your row",
        submission=str(own.submission),
    )


def phone_labels(board: Board) -> SafeString:
    """A style sheet that names the cells below the primary score on a phone, once a page and not once a cell."""
    titles = [column.title for column in in_order(board)[1:]] + ["Scenarios", "Date"]
    rules = "".join(
        f'.board td:nth-child({number})::before{{content:"{css_string(title)}"}}'
        for number, title in enumerate(titles, start=4)
    )
    return mark_safe(f"@media (max-width:640px){{{rules}}}")  # noqa: S308 -- css_string leaves letters and escapes only


def css_string(text: str) -> str:
    """Text for a CSS string: all but letters and digits as escapes, so that no title can end the string."""
    return re.sub(r"[^A-Za-z0-9]", lambda match: f"\\{ord(match.group()):x} ", text)
