"""The storage behind the tools: one contract, and every storage is held to it on the same records."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from assetops_data import Site
from assetops_tools.couchdb_storage import CouchDBStorage, database_of, load_couchdb
from assetops_tools.duckdb_storage import SHIPPED, DuckDBStorage, ship
from assetops_tools.errors import StorageFailed
from assetops_tools.storage import Condition, Row, Storage, in_period
from assetops_tools.tables import NUMBER, TRUTH, WHOLE, files_of, type_of
from hypothesis import given, settings
from hypothesis import strategies as st

PREFIX = "test-"


@pytest.fixture(scope="module")
def records(small_site: Site, small_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small site with little telemetry, and with cells as nobody should write them."""
    folder = tmp_path_factory.mktemp("records") / "site"
    shutil.copytree(small_folder, folder)
    for path in (folder / "telemetry").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(lines[:200]) + "\n", encoding="utf-8")
    with (folder / "alerts.csv").open("a", encoding="utf-8") as file:
        file.write('ALX1,"WEIRD,ID",RUL0001,2021-01-01T00:00:00,\n')
        file.write('ALX2,"say ""so""",RUL0001,,\n')
        file.write("ALX3,ÜMLAUT, RUL0001 ,2021-01-01T00:00:00,2021-01-01T00:00:00\n")
    with (folder / "anomalies.csv").open("a", encoding="utf-8") as file:
        file.write("ANX1,CHL1,2021-01-01T00:00:00,Cooling Load,not a number,,1e3\n")
    return folder


@pytest.fixture(scope="module", params=["duckdb", "shipped duckdb", "couchdb by skip", "couchdb by bookmark"])
def storage(
    request: pytest.FixtureRequest, records: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storage]:
    made: Storage
    if request.param == "duckdb":
        made = DuckDBStorage(records, database=tmp_path_factory.mktemp("db") / "records.duckdb")
    elif request.param == "shipped duckdb":
        folder = tmp_path_factory.mktemp("shipped") / "site"
        shutil.copytree(records, folder)
        ship(folder)
        for path in folder.rglob("*.csv"):
            path.unlink()  # what is answered comes from the shipped file
        made = DuckDBStorage(folder)
    else:
        url = request.getfixturevalue("couchdb")
        load_couchdb(records, url, prefix=PREFIX)
        address = request.getfixturevalue("bookmarking") if "bookmark" in request.param else url
        made = CouchDBStorage(address, prefix=PREFIX, page=120)
    yield made
    made.close()


@pytest.fixture(scope="module")
def expected(records: Path, read_csv: Callable[[Path], list[dict[str, str]]]) -> dict[str, list[Row]]:
    """Every table, read in another way."""
    return {
        name: [{key: typed(cell, type_of(name, key)) for key, cell in row.items()} for row in read_csv(path)]
        for name, path in files_of(records).items()
    }


def typed(cell: str | None, kind: str) -> Any:
    cell = (cell or "").strip()
    if kind == TRUTH:
        return {"TRUE": True, "FALSE": False}.get(cell)
    if kind in (NUMBER, WHOLE):
        try:
            return float(cell) if kind == NUMBER else int(cell)
        except ValueError:
            return None
    return cell or None


def test_every_table_is_there_with_its_columns(storage: Storage, expected: dict[str, list[Row]]) -> None:
    assert storage.tables() == set(expected)
    assert {name: storage.columns(name) for name in expected} == {
        name: tuple(rows[0]) for name, rows in expected.items()
    }


def test_every_row_comes_back_in_its_place(storage: Storage, expected: dict[str, list[Row]]) -> None:
    for name, rows in expected.items():
        found = storage.find(name)
        assert found == rows, name
        assert [[type(cell) for cell in row.values()] for row in found] == [
            [type(cell) for cell in row.values()] for row in rows
        ]
        assert storage.count(name) == len(rows)


def test_a_table_that_is_not_there_has_no_rows(storage: Storage) -> None:
    assert storage.find("telemetry/NOBODY") == []
    assert storage.count("nothing") == 0
    assert storage.columns("nothing") == ()


def meets(row: Row, condition: Condition) -> bool:
    value, wanted = row[condition.column], condition.value
    if value is None:
        return False
    if condition.operator == "=":
        return value == wanted
    return value >= wanted if condition.operator == ">=" else value < wanted  # type: ignore[operator]


TIMES = st.sampled_from(["2018-01-01T00:00:00", "2021-01-01T00:00:00", "2021-06-15T12:00:00", "2023-03-01T00:00:00"])


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_conditions_order_and_pages(storage: Storage, expected: dict[str, list[Row]], data: st.DataObject) -> None:
    table, time = data.draw(st.sampled_from([("events", "time"), ("alerts", "start"), ("work_orders", "finished")]))
    rows = expected[table]
    ids = st.sampled_from([*sorted({str(row["equipment_id"]) for row in rows}), "nobody"])
    where = [Condition("equipment_id", "=", data.draw(ids))] if data.draw(st.booleans()) else []
    where += in_period(time, data.draw(st.none() | TIMES), data.draw(st.none() | TIMES))
    if table == "work_orders" and data.draw(st.booleans()):
        where.append(Condition("preventive", "=", data.draw(st.booleans())))
    order = data.draw(st.sampled_from([(), (time,), ("equipment_id", time)]))
    limit, offset = data.draw(st.none() | st.integers(0, 20)), data.draw(st.integers(0, 30))
    columns = data.draw(st.sampled_from([None, ("equipment_id",), (time, "equipment_id")]))

    matching = [row for row in rows if all(meets(row, one) for one in where)]
    matching.sort(key=lambda row: tuple((row[name] is None, row[name] or "") for name in order))
    wanted = matching[offset:] if limit is None else matching[offset : offset + limit]
    if columns is not None:
        wanted = [{name: row[name] for name in columns} for row in wanted]
    assert storage.find(table, where, columns=columns, order=order, limit=limit, offset=offset) == wanted
    assert storage.count(table, where) == len(matching)


def test_readings_of_a_period(storage: Storage, expected: dict[str, list[Row]]) -> None:
    table = next(name for name in sorted(expected) if name.startswith("telemetry/CHL"))
    stamps = [str(row["timestamp"]) for row in expected[table]]
    where = in_period("timestamp", stamps[20], stamps[60])
    found = storage.find(table, where, columns=("timestamp", "Power Input"), order=("timestamp",))
    assert [row["timestamp"] for row in found] == stamps[20:60]
    assert [row["Power Input"] for row in found] == [row["Power Input"] for row in expected[table][20:60]]


def test_a_value_is_data_and_never_a_query(storage: Storage) -> None:
    for hostile in ("x' OR '1'='1", '"; DROP TABLE events; --', "$ne", "{}", "\x00"):
        assert storage.find("alerts", [Condition("equipment_id", "=", hostile)]) == []
    assert storage.count("events") > 0


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True))
def test_a_database_is_named_for_one_table_alone(identifier: str) -> None:
    from assetops_tools.couchdb_storage import _table_of

    name = database_of(f"telemetry/{identifier}", PREFIX)
    assert name == name.lower()
    assert _table_of(name, PREFIX) == f"telemetry/{identifier}"


def test_loading_again_replaces_what_stood_there(couchdb: str, records: Path, tmp_path: Path) -> None:
    shutil.copy(records / "equipment.csv", tmp_path)
    shutil.copy(records / "fmea.csv", tmp_path)
    load_couchdb(tmp_path, couchdb, prefix="again-")
    (tmp_path / "fmea.csv").unlink()
    load_couchdb(tmp_path, couchdb, prefix="again-")
    storage = CouchDBStorage(couchdb, prefix="again-")
    assert storage.tables() == {"equipment"}
    assert storage.count("equipment") == 22
    storage.close()


def test_a_server_that_does_not_answer_is_the_organizers_to_mend() -> None:
    with pytest.raises(StorageFailed, match="did not answer"):
        CouchDBStorage("http://127.0.0.1:9").tables()


def test_a_shipped_file_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / SHIPPED).write_bytes(b"no database")
    with pytest.raises(StorageFailed, match="cannot be opened"):
        DuckDBStorage(tmp_path)
