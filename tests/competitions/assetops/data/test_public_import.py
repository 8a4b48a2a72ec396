"""The public sample data in the layout of a site: nothing is lost, and nothing is made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from assetops_data import import_public
from assetops_data.public import parse_time
from assetops_data.tables import TABLES
from hypothesis import given
from hypothesis import strategies as st

ReadTable = Callable[[str], pd.DataFrame]


@pytest.fixture(scope="module")
def imported(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("public") / "site"
    import_public(shared / "data" / "assetops", folder)
    return folder


@pytest.mark.real_input
def test_every_row_is_there(imported: Path, shared: Path) -> None:
    sources = {
        "work_orders": "all_wo_with_code_component_events",
        "events": "event",
        "alerts": "alert_events",
        "anomalies": "anomaly_events",
        "alert_rules": "alert_rule",
        "alert_rule_mapping": "alert_rule_failure_code_mapping",
        "anomaly_mapping": "anomaly_to_failure_code_mapping",
        "failure_codes": "failure_codes",
        "primary_failure_codes": "primary_failure_codes",
        "fmea": "failure_mode",
        "telemetry/CWC04006": "chiller6_june2020_sensordata_couchdb",
    }
    for name, source in sources.items():
        found = pd.read_csv(imported / f"{name}.csv", dtype=str)
        given_rows = pd.read_csv(
            shared / "data" / "assetops" / f"{source}.csv", dtype=str, encoding="utf-8-sig", index_col=False
        )
        assert len(found) == len(given_rows), name
        if name in TABLES:
            assert tuple(found.columns) == TABLES[name]


@pytest.mark.real_input
def test_every_record_has_its_machine_and_its_time(imported: Path) -> None:
    known = set(pd.read_csv(imported / "equipment.csv")["equipment_id"])
    assert len(known) == 11
    for name, time in (("work_orders", "finished"), ("events", "time"), ("alerts", "start"), ("anomalies", "time")):
        found = pd.read_csv(imported / f"{name}.csv", dtype=str)
        assert set(found["equipment_id"]) <= known
        assert found[time].str.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d").all()


@pytest.mark.real_input
def test_readings_keep_their_digits_and_lose_the_machines_name(imported: Path, shared: Path) -> None:
    found = pd.read_csv(imported / "telemetry" / "CWC04006.csv", dtype=str)
    source = pd.read_csv(shared / "data" / "assetops" / "chiller6_june2020_sensordata_couchdb.csv", dtype=str)
    assert "Tonnage" in found.columns
    for column in found.columns[1:]:
        assert found[column].equals(source[f"Chiller 6 {column}"].rename(column))


@given(
    st.datetimes(
        min_value=pd.Timestamp("2000-01-01").to_pydatetime(), max_value=pd.Timestamp("2099-12-31").to_pydatetime()
    )
)
def test_both_ways_of_writing_a_time_are_read(at: pd.Timestamp) -> None:
    minute = at.replace(second=0, microsecond=0)
    short = f"{at.month}/{at.day}/{at.year % 100:02d} {at.hour}:{at.minute:02d}"
    assert parse_time(short) == minute
    assert parse_time(minute.isoformat()) == minute
    assert parse_time(f"{minute:%Y-%m-%d %H:%M:%S}") == minute


@pytest.mark.parametrize("text", ["", "soon", "13/1/20 0:00", "2/30/20 0:00", "1/1/20 24:00", "1/1/20"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_time(text) is None
