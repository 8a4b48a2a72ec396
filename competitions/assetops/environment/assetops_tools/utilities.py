"""The utilities, which every agent has: reading files, and the site's clock."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from assetops_tools.arguments import Arguments, page, required_text
from assetops_tools.scratch import Table
from assetops_tools.tool import FILE, PAGE, Answer, Episode, Tool, paged


def jsonreader(episode: Episode, arguments: Arguments) -> Answer:
    """What stands in a file: rows in pages, anything else as it is."""
    name = required_text(arguments, "file_name")
    limit, offset = page(arguments, default=100, most=500)
    value = episode.scratch.read(name)
    table = _as_table(value)
    if table is not None:
        rows = table.records(offset, limit)
        end = offset + len(rows)
        more = end < len(table.rows)
        return {"file_name": name, "total": len(table.rows), "rows": rows, "next_offset": end if more else None}
    if isinstance(value, list):
        return {"file_name": name, **paged(value, "rows", limit, offset)}
    return {"file_name": name, "content": value}


def currentdatetime(episode: Episode, arguments: Arguments) -> Answer:
    """The site's present."""
    del arguments
    now = episode.site.now
    return {"currentDateTime": now, "currentDate": now[:10]}


def current_time_english(episode: Episode, arguments: Arguments) -> Answer:
    """The site's present in words."""
    del arguments
    now = datetime.fromisoformat(episode.site.now)
    return {"english": f"It is {now:%A}, {now.day} {now:%B %Y}, {now:%H:%M}."}


def _as_table(value: Any) -> Table | None:
    if isinstance(value, Table):
        return value
    if isinstance(value, dict) and set(value) == {"columns", "rows"}:
        return Table(value["columns"], value["rows"])
    return None


TOOLS: Final = (
    Tool(
        "jsonreader",
        "utilities",
        "Read a file that a tool wrote. Rows come in pages: `total` is their number, `next_offset` where to go on.",
        {"file_name": FILE, **PAGE},
        ("file_name",),
        jsonreader,
    ),
    Tool(
        "currentdatetime",
        "utilities",
        "The present day and time at the site; what 'last month' or 'next week' refers to.",
        {},
        (),
        currentdatetime,
    ),
    Tool(
        "current_time_english",
        "utilities",
        "The present day and time at the site as a sentence.",
        {},
        (),
        current_time_english,
    ),
)
