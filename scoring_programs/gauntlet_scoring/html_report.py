"""``detailed_results.html``: a program's report as one plain page with its own style, for a locked frame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

REPORT_FILE: Final = "detailed_results.html"
_ROWS: Final = 1000
"""Rows of one table that are written; a report is to be read."""

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 70rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; min-width: 24rem; }
caption { text-align: left; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem; border-bottom: 1px solid #8886; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
"""


def page(title: str, sections: Iterable[str]) -> str:
    """A whole page; ``sections`` are HTML."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style>\n</head>\n'
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str | float]], *, caption: str = "") -> str:
    """A section with a table; numbers to the right, with three decimals where they are not whole."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{_cells(row)}</tr>\n" for row in rows[:_ROWS])
    more = f" The first {_ROWS} of {len(rows)} rows." if len(rows) > _ROWS else ""
    told = f"<caption>{escape(caption + more)}</caption>" if caption or more else ""
    return (
        f'<h2>{escape(heading)}</h2>\n<div class="wide" role="region" aria-label="{escape(heading)}" tabindex="0">\n'
        f"<table>{told}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>\n"


def _cells(row: Sequence[str | float]) -> str:
    first, *others = row
    return f'<th scope="row">{escape(_text(first))}</th>' + "".join(
        f"<td>{escape(each)}</td>" if isinstance(each, str) else f'<td class="n">{_text(each)}</td>' for each in others
    )


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else f"{value:.3f}"
