"""The files of an episode: what one tool writes and another one reads, gone when the next episode begins."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assetops_tools.errors import BadArgument

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\.[A-Za-z0-9]{1,12}){1,2}")
_MOST_FILES: Final = 200
_MOST_BYTES: Final = 192 << 20
DATASETS: Final = "datasets"  # below the data folder: files that a task's texts name


@dataclass(frozen=True)
class Table:
    """The rows of a file; a cell is text, a number, a truth or None."""

    columns: list[str]
    rows: list[list[Any]]

    def records(self, offset: int, limit: int) -> list[dict[str, Any]]:
        """Some rows, each with its columns' names."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows[offset : offset + limit]]


class Scratch:
    """A folder of its own for the open episode's files, and the task's data sets beside it, which are only read.

    Args:
        folder: made anew by each ``clear``
        data: the task's data folder
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self._folder = folder
        self._datasets = data / DATASETS
        self._counts: dict[str, int] = {}
        self._bytes = 0

    def clear(self) -> None:
        """Drop the files of the last episode."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._counts.clear()
        self._bytes = 0

    def names(self) -> list[str]:
        """The episode's files."""
        return sorted(path.name for path in self._folder.iterdir())

    def write(self, stem: str, value: Any) -> str:
        """Write a value as JSON into a new file; its name, which begins with ``stem``."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self._bytes += len(text)
        if sum(self._counts.values()) >= _MOST_FILES or self._bytes > _MOST_BYTES:
            raise BadArgument("This episode has written too many files; use those that are there.")
        self._counts[stem] = self._counts.get(stem, 0) + 1
        name = f"{stem}_{self._counts[stem]}.json"
        (self._folder / name).write_text(text, encoding="utf-8")
        return name

    def write_table(self, stem: str, table: Table) -> str:
        """Write a table into a new file; its name."""
        return self.write(stem, {"columns": table.columns, "rows": table.rows})

    def read(self, name: str) -> Any:
        """The value in a JSON file.

        Raises:
            BadArgument: the name is none of a file here, or the file holds no JSON.
        """
        path = self._place(name)
        if path.suffix == ".csv":
            return _csv_table(path)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise BadArgument(f"{name} holds no JSON.") from None

    def read_table(self, name: str) -> Table:
        """The table in a file that a tool wrote, or in a CSV data set.

        Raises:
            BadArgument: the name is none of a file here, or the file holds no table.
        """
        value = self.read(name)
        if isinstance(value, Table):
            return value
        if not isinstance(value, dict) or set(value) < {"columns", "rows"}:
            raise BadArgument(f"{name} holds no table of readings.")
        return Table(value["columns"], value["rows"])

    def _place(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise BadArgument(f"{name!r:.80} is no name of a file here; use the name exactly as a tool gave it.")
        for folder in (self._folder, self._datasets):
            path = folder / name
            if path.is_file() and not path.is_symlink():
                return path
        raise BadArgument(f"There is no file {name!r}; a file is named by the tool that writes it, in this episode.")


def _csv_table(path: Path) -> Table:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        rows = [[_cell(cell) for cell in row] for row in reader if len(row) == len(header)]
    return Table(header, rows)


def _cell(text: str) -> Any:
    text = text.strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        return text
