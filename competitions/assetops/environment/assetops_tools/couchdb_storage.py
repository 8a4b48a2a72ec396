"""The records in CouchDB, or in what speaks its HTTP protocol: a database a table, a document a row.

Asked with Mango selectors (``_find``) over indexes of the columns that records are asked by. Answers come in pages: by
bookmark where the server gives one, by ``skip`` where it does not (PouchDB). Order is made here, since a Mango sort
needs an index of its own for every order and puts empty cells first.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from assetops_tools.errors import StorageFailed
from assetops_tools.storage import ROW_NUMBER, Condition, Row, Storage, Value
from assetops_tools.tables import INDEXES, NUMBER, TELEMETRY, TRUTH, WHOLE, files_of, type_of

PREFIX: Final = "assetops-"
_HEADER: Final = "header"  # the document that keeps a table's columns in their order
_PAGE: Final = 1000
_BATCH: Final = 2000
_OPERATORS: Final = {"=": "$eq", ">=": "$gte", "<": "$lt"}
_PATIENCE: Final = 60.0


class CouchDBStorage(Storage):
    """A site's records on a server.

    Args:
        url: the server, with user and password where it wants them
        prefix: what the names of the site's databases begin with
        page: how many rows to ask for at once
    """

    def __init__(self, url: str, *, prefix: str = PREFIX, page: int = _PAGE) -> None:
        self._client = httpx.Client(base_url=url, timeout=_PATIENCE)
        self._prefix = prefix
        self._page = page
        self._columns: dict[str, tuple[str, ...]] = {}
        self._tables: frozenset[str] | None = None

    def tables(self) -> frozenset[str]:
        if self._tables is None:
            names = _answer(self._client.get, "/_all_dbs")
            self._tables = frozenset(_table_of(name, self._prefix) for name in names if name.startswith(self._prefix))
        return self._tables

    def columns(self, table: str) -> tuple[str, ...]:
        if table not in self.tables():
            return ()
        if table not in self._columns:
            document = _answer(self._client.get, f"/{database_of(table, self._prefix)}/{_HEADER}")
            self._columns[table] = tuple(document["columns"])
        return self._columns[table]

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
        found = list(self._documents(table, where, {*names, *order, ROW_NUMBER}))
        found.sort(key=lambda document: (*((_sortable(document.get(name))) for name in order), document[ROW_NUMBER]))
        page = found[offset:] if limit is None else found[offset : offset + limit]
        kinds = {name: type_of(table, name) for name in names}
        return [{name: _value(document.get(name), kinds[name]) for name in names} for document in page]

    def count(self, table: str, where: Sequence[Condition] = ()) -> int:
        return sum(1 for _ in self._documents(table, where, {ROW_NUMBER})) if table in self.tables() else 0

    def close(self) -> None:
        self._client.close()

    def _documents(self, table: str, where: Sequence[Condition], fields: set[str]) -> Iterator[dict[str, Any]]:
        """The matching documents, page by page."""
        body: dict[str, Any] = {"selector": _selector(where), "fields": sorted(fields), "limit": self._page}
        seen = 0
        while True:
            answer = _answer(self._client.post, f"/{database_of(table, self._prefix)}/_find", json=body)
            documents = answer["docs"]
            yield from documents
            seen += len(documents)
            if len(documents) < self._page:
                return
            bookmark = answer.get("bookmark")
            body = {**body, **({"bookmark": bookmark} if bookmark and bookmark != "nil" else {"skip": seen})}


def load_couchdb(folder: Path, url: str, *, prefix: str = PREFIX) -> None:
    """Write a data folder's tables to a server, in place of what stood there under the same prefix.

    Raises:
        StorageFailed: the server does not answer, or refuses.
    """
    with httpx.Client(base_url=url, timeout=_PATIENCE) as client:
        for name in _answer(client.get, "/_all_dbs"):
            if name.startswith(prefix):
                _answer(client.delete, f"/{name}")
        for table, path in files_of(folder).items():
            _load_table(client, f"/{database_of(table, prefix)}", table, path)


def _load_table(client: httpx.Client, address: str, table: str, path: Path) -> None:
    _answer(client.put, address)
    columns = ("timestamp",) if table.startswith(TELEMETRY) else INDEXES.get(table, ())
    for fields in ([ROW_NUMBER], *([list(columns)] if columns else [])):
        _answer(client.post, f"{address}/_index", json={"index": {"fields": fields}, "name": "-".join(fields)})
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        _answer(client.put, f"{address}/{_HEADER}", json={"columns": header})
        rows = (_document(table, header, number, cells) for number, cells in enumerate(reader))
        for batch in _batches(rows):
            results = _answer(client.post, f"{address}/_bulk_docs", json={"docs": batch})
            if any("error" in result for result in results):
                raise StorageFailed(f"The server did not take all rows of {table}.")


def _document(table: str, header: Sequence[str], number: int, cells: Sequence[str]) -> dict[str, Any]:
    """A row without its empty cells, under its number."""
    document: dict[str, Any] = {"_id": f"{number:08d}", ROW_NUMBER: number}
    for name, cell in zip(header, cells, strict=False):
        value = read_cell(cell, type_of(table, name))
        if value is not None:
            document[name] = value
    return document


def read_cell(cell: str, kind: str) -> Value:
    """A cell as its column's type; None where it is empty or something else."""
    cell = cell.strip()
    if kind == TRUTH:
        return {"true": True, "false": False}.get(cell.casefold())
    if kind in (NUMBER, WHOLE):
        try:
            return float(cell) if kind == NUMBER else int(cell)
        except ValueError:
            return None
    return cell or None


def database_of(table: str, prefix: str) -> str:
    """A database's name, which knows no capitals: those of an identifier are written with a dollar sign before them."""
    return prefix + re.sub(r"[A-Z]", lambda letter: "$" + letter[0].lower(), table.replace("/", "+"))


def _table_of(database: str, prefix: str) -> str:
    small = database.removeprefix(prefix).replace("+", "/")
    return re.sub(r"\$([a-z])", lambda letter: letter[1].upper(), small)


def _selector(where: Sequence[Condition]) -> dict[str, Any]:
    """The conditions in Mango; a document that is no row has no row number."""
    selector: dict[str, Any] = {ROW_NUMBER: {"$gte": 0}}
    for one in where:
        # Without the second word PouchDB takes a missing value for the smallest.
        selector.setdefault(one.column, {}).update({_OPERATORS[one.operator]: one.value, "$exists": True})
    return selector


def _value(value: Value, kind: str) -> Value:
    """A value as its column's type: JavaScript writes 4.0 as 4."""
    return float(value) if kind == NUMBER and value is not None else value


def _sortable(value: Value) -> tuple[bool, Any]:
    return value is None, value


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _answer(method: Any, address: str, **arguments: Any) -> Any:
    try:
        response = method(address.replace("+", "%2B").replace("$", "%24"), **arguments)
        response.raise_for_status()
        return response.json()
    except (httpx.HTTPError, ValueError) as error:
        raise StorageFailed(f"The database server did not answer as expected: {error}") from error
