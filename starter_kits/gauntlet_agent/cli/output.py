"""What `gauntlet` prints: text from elsewhere is made harmless before it reaches a terminal."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PIPE_WIDTH: Final = 200  # where there is no terminal, nothing is gained by cutting lines short
_SEQUENCE: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # colours and cursor movements
_UNSEEN: Final = {code: None for code in (*range(32), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


def clean(text: Any) -> str:
    """Text without colours and control characters: a name or an answer must not be able to move a reader's cursor."""
    return _SEQUENCE.sub("", str(text)).translate(_UNSEEN)


def console(*, stderr: bool = False) -> Console:
    """A rich console that takes text literally."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True)


def table(*columns: str, title: str | None = None, right: tuple[str, ...] = ()) -> Table:
    """A table; ``right`` names the columns that hold numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, title=Text(title) if title else None, title_justify="left", pad_edge=False)
    for column in columns:
        made.add_column(Text(column), justify="right" if column in right else "left", overflow="fold")
    return made


def add_row(made: Table, *cells: Any, style: str | None = None) -> None:
    """Add a row of cells that are taken literally; None is shown as a dash."""
    from rich.text import Text

    made.add_row(*[Text("–" if cell is None else clean(cell)) for cell in cells], style=style)


def number(value: Any, precision: int = 3) -> str | None:
    """A score as it is shown, or None where it is missing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return f"{value:.{precision}f}"


def size(count: int | float) -> str:
    """Bytes as people read them."""
    value = float(count)
    for unit in ("bytes", "KB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def moment(value: Any) -> str:
    """An ISO time as the reader's own clock shows it."""
    if not isinstance(value, str):
        return "–"
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return clean(value)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def shortened(text: Any, length: int) -> str:
    """Text on one line, cut to a length."""
    words = " ".join(clean(text).split())
    return words if len(words) <= length else f"{words[: length - 1]}…"
