"""The records in DuckDB: a file that lies beside the tables, or one that is made from them.

Small tables are read when the storage is opened; the readings of an equipment when they are first asked for, since an
episode seldom looks at more than two.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from assetops_tools.errors import StorageFailed
from assetops_tools.storage import ROW_NUMBER, Condition, Row, Storage
from assetops_tools.tables import NUMBER, TELEMETRY, TRUTH, WHOLE, files_of, type_of

SHIPPED: Final = "assetops.duckdb"
_SQL_TYPES: Final = {NUMBER: "DOUBLE", WHOLE: "BIGINT", TRUTH: "BOOLEAN"}


class DuckDBStorage(Storage):
    """A data folder behind SQL.

    Args:
        folder: the data folder; a file ``assetops.duckdb`` in it is used as it is, and only read
        database: where to make a database from the CSV files otherwise; in memory where None
    """

    def __init__(self, folder: Path, *, database: Path | None = None) -> None:
        self._files = files_of(folder)
        self._loaded: dict[str, tuple[str, ...]] = {}
        shipped = folder / SHIPPED
        try:
            if shipped.is_file():
                self._connection = duckdb.connect(str(shipped), read_only=True)
                self._take_over()
            else:
                self._connection = duckdb.connect(str(database) if database else ":memory:")
            # One thread: the tables are small, and a site's environment shares its processor with others.
            self._connection.execute("SET threads = 1")
            if not self._loaded:
                self.load([name for name in self._files if not name.startswith(TELEMETRY)])
        except duckdb.Error as error:
            raise StorageFailed(f"The records cannot be opened: {error}") from error

    def _take_over(self) -> None:
        """A shipped file has all tables or those it has; nothing can be read into it."""
        self._files = {}
        for (name,) in self._connection.execute("SHOW TABLES").fetchall():
            described = self._connection.execute(f"DESCRIBE {_quoted(name)}").fetchall()
            self._loaded[name] = tuple(row[0] for row in described if row[0] != ROW_NUMBER)

    def load(self, tables: Sequence[str]) -> None:
        """Read tables from their files now."""
        for table in tables:
            if table not in self._loaded and table in self._files:
                self._connection.execute(_loading(table, self._files[table]))
                self._loaded[table] = _header(self._files[table])

    def tables(self) -> frozenset[str]:
        return frozenset(self._loaded) | frozenset(self._files)

    def columns(self, table: str) -> tuple[str, ...]:
        if table in self._loaded:
            return self._loaded[table]
        return _header(self._files[table]) if table in self._files else ()

    def find(
        self,
        table: str,
        where: Sequence[Condition] = (),
        *,
        columns: Sequence[str] | None = None,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Row]:
        if table not in self.tables():
            return []
        names = list(self.columns(table) if columns is None else columns)
        condition, values = _condition(where)
        ordering = ", ".join([*(f"{_quoted(name)} ASC NULLS LAST" for name in order), ROW_NUMBER])
        page = f" LIMIT {int(limit)}" if limit is not None else ""
        query = (
            f"SELECT {', '.join(map(_quoted, names))} FROM {_quoted(table)}{condition} "  # noqa: S608 - names are quoted
            f"ORDER BY {ordering}{page} OFFSET {int(offset)}"
        )
        return [dict(zip(names, row, strict=True)) for row in self._run(table, query, values)]

    def count(self, table: str, where: Sequence[Condition] = ()) -> int:
        if table not in self.tables():
            return 0
        condition, values = _condition(where)
        query = f"SELECT count(*) FROM {_quoted(table)}{condition}"  # noqa: S608 - names are quoted
        return int(self._run(table, query, values)[0][0])

    def close(self) -> None:
        self._connection.close()

    def _run(self, table: str, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            self.load([table])
            found: list[tuple[Any, ...]] = self._connection.execute(query, list(values)).fetchall()
        except duckdb.Error as error:
            raise StorageFailed(f"The table {table} cannot be read: {error}") from error
        return found


def ship(folder: Path) -> Path:
    """Make ``assetops.duckdb`` of a data folder's tables, readings included; the file.

    The tables stay the truth: make it anew whenever they change.
    """
    target = folder / SHIPPED
    draft = folder / f".{SHIPPED}.draft"
    for path in (target, draft):
        path.unlink(missing_ok=True)
    storage = DuckDBStorage(folder, database=draft)
    storage.load(sorted(files_of(folder)))
    storage.close()
    return draft.rename(target)


def _condition(where: Sequence[Condition]) -> tuple[str, list[Any]]:
    if not where:
        return "", []
    parts = [f"{_quoted(one.column)} {one.operator} ?" for one in where]
    return f" WHERE {' AND '.join(parts)}", [one.value for one in where]


def _loading(table: str, path: Path) -> str:
    """SQL that reads a file: every cell as text first, so that nothing is guessed, and then as its column's type."""
    columns = [f"(row_number() OVER () - 1)::INTEGER AS {ROW_NUMBER}"]
    for name in _header(path):
        kind = _SQL_TYPES.get(type_of(table, name))
        cell = f"NULLIF(trim({_quoted(name)}), '')"
        columns.append(f"{f'TRY_CAST({cell} AS {kind})' if kind else cell} AS {_quoted(name)}")
    source = str(path).replace("'", "''")
    return (
        f"CREATE TABLE {_quoted(table)} AS SELECT {', '.join(columns)} FROM "  # noqa: S608 - names are quoted
        f"read_csv('{source}', header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"', "
        "null_padding = true, parallel = false)"
    )


def _header(path: Path) -> tuple[str, ...]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return tuple(next(csv.reader(file), []))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
