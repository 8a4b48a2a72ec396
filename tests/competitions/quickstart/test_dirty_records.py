"""The invented records are as dirty as real ones (A10): every kind of dirt is there, in both plants."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pandas as pd
import pytest
from quickstart_generator.oracle import PlantOracle


@pytest.fixture(params=["development", "test"])
def data(request: pytest.FixtureRequest, bundle: Path) -> Path:
    return bundle / "data" / str(request.param)


def table(data: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(data / name, dtype=str, keep_default_na=False, encoding="utf-8-sig")


def test_cells_are_missing_in_every_table_of_records(data: Path) -> None:
    orders = table(data, "all_wo_with_code_component_events.csv")
    for column in ("primary_code", "wo_description", "collection", "duration", "actual_labor_hours", "actual_finish"):
        assert 0 < (orders[column] == "").mean() < 0.3, column
    events = table(data, "event.csv")
    for column in ("description", "equipment_id", "equipment_name"):
        assert 0 < (events[column] == "").mean() < 0.1, column
    assert not ((events["equipment_id"] == "") & (events["equipment_name"] == "")).any()
    assert (table(data, "alert_events.csv")["end_time"] == "").any()
    assert (table(data, "anomaly_events.csv")["upper_bound"] == "").any()


def test_a_machine_is_written_in_several_ways(data: Path) -> None:
    events = table(data, "event.csv")
    named = events[events["equipment_name"] != ""]
    spellings = named.groupby("equipment_id")["equipment_name"].nunique()
    assert spellings.drop("").ge(3).mean() > 0.8
    assert table(data, "anomaly_events.csv")["asset_name"].str.islower().all()


def test_two_formats_of_time_stand_in_one_column(data: Path) -> None:
    for name, column in (("event.csv", "event_time"), ("all_wo_with_code_component_events.csv", "actual_finish")):
        times = table(data, name)[column]
        short = times.str.contains("/").sum()
        iso = times.str.match(r"\d{4}-").sum()
        assert short > 0, name
        assert iso > 0, name


def test_work_reaches_the_log_late_and_some_never(data: Path) -> None:
    oracle = PlantOracle(data)
    orders = oracle.work_orders.set_index("wo_id")["at"]
    logged = oracle.events[oracle.events["event_group"] == "WORK_ORDER"].set_index("event_id")["at"]
    delay = (logged - orders).dropna()
    late = delay > pd.Timedelta(days=2)
    assert 0.02 < late.mean() < 0.15
    assert not set(logged.index) - set(orders.index)
    assert (delay >= pd.Timedelta(0)).all()


def test_clocks_of_the_two_alert_tables_disagree_by_minutes_but_not_by_a_day(data: Path) -> None:
    oracle = PlantOracle(data)
    began = oracle.alerts.sort_values(["owner", "rule_id", "at"])
    logged = oracle.events[oracle.events["event_group"] == "ALERT"].sort_values(["owner", "event_type", "at"])
    assert len(began) == len(logged)
    shift = logged["at"].to_numpy() - began["at"].to_numpy()
    assert 0.2 < (shift > pd.Timedelta(0)).mean() < 0.8
    assert (logged["at"].dt.date.to_numpy() == began["at"].dt.date.to_numpy()).all()


def test_machines_fall_silent_for_months_and_some_never_raise_an_alert(data: Path) -> None:
    oracle = PlantOracle(data)
    gaps = oracle.events.sort_values("at").groupby("owner")["at"].diff()
    assert gaps.max() > pd.Timedelta(days=75)
    alerting = set(oracle.alerts["owner"])
    assert set(oracle.equipment()) - alerting


def test_readings_are_missing_stuck_zero_and_absent_for_days(data: Path) -> None:
    for path in data.glob("*sensordata.csv"):
        readings = pd.read_csv(path)
        at = pd.to_datetime(readings["timestamp"])
        values = readings.drop(columns=["asset_id", "timestamp"])
        assert at.diff().max() >= pd.Timedelta(days=3)
        assert (at.diff() == pd.Timedelta(minutes=17)).any()
        assert values.filter(like="Run Status").isna().all().all()
        recorded = values.dropna(axis=1, how="all")
        assert recorded.isna().any().all()
        assert max(_longest_run(recorded[column]) for column in recorded) >= 30


def _longest_run(column: pd.Series) -> int:
    return max(len(list(group)) for value, group in itertools.groupby(column.dropna()) if value != 0)


def test_a_power_of_zero_while_the_machine_is_off_is_recorded_where_power_is(bundle: Path) -> None:
    powers = [
        series
        for data in ("development", "test")
        for path in (bundle / "data" / data).glob("*sensordata.csv")
        for name, series in pd.read_csv(path).items()
        if re.search(r"Power Input|Tonnage|Condenser Water Flow", str(name))
    ]
    assert powers
    assert all((series == 0).sum() > 200 for series in powers)


def test_the_code_tables_begin_with_a_byte_order_mark(data: Path) -> None:
    assert (data / "failure_codes.csv").read_bytes().startswith(b"\xef\xbb\xbf")
