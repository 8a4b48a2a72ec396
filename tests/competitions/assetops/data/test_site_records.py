"""The tables of a site: how many rows, how they hang together, and what is dirty in them on purpose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from assetops_data import Site
from assetops_data.tables import TABLES

ReadTable = Callable[[str], pd.DataFrame]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        *(("work_orders", 4392), ("events", 6929), ("alerts", 1995), ("anomalies", 542), ("failure_codes", 137)),
        *(("primary_failure_codes", 68), ("alert_rules", 77), ("equipment", 22), ("alert_rule_mapping", 46)),
        *(("anomaly_mapping", 12), ("fmea", 53), ("failure_modes", 53)),
    ],
)
def test_there_are_as_many_rows_as_in_the_paper(table: ReadTable, name: str, rows: int) -> None:
    found = table(name)
    assert len(found) == rows
    assert tuple(found.columns) == TABLES[name]


def test_identifiers_are_unique_and_point_to_something(table: ReadTable) -> None:
    for name, column in (("work_orders", "wo_id"), ("events", "event_id"), ("alerts", "alert_id")):
        assert table(name)[column].is_unique
    for name, column in (("anomalies", "anomaly_id"), ("alert_rules", "rule_id"), ("equipment", "equipment_id")):
        assert table(name)[column].is_unique
    known = set(table("equipment")["equipment_id"])
    for name in ("work_orders", "events", "alerts", "anomalies", "alert_rules", "sensors"):
        assert set(table(name)["equipment_id"]) <= known
    rules, codes = set(table("alert_rules")["rule_id"]), set(table("primary_failure_codes")["primary_code"])
    assert set(table("alerts")["rule_id"]) | set(table("alert_rule_mapping")["rule_id"]) <= rules
    for name in ("work_orders", "failure_codes", "alert_rule_mapping", "anomaly_mapping"):
        assert set(table(name)["primary_code"]) <= codes
    assert set(table("work_orders")["secondary_code"]) <= set(table("failure_codes")["code"])


def test_the_log_holds_each_record_once(table: ReadTable) -> None:
    events = table("events")
    by_group = {name: set(rows["event_id"]) for name, rows in events.groupby("group")}
    assert by_group == {
        "WORK_ORDER": set(table("work_orders")["wo_id"]),
        "ALERT": set(table("alerts")["alert_id"]),
        "ANOMALY": set(table("anomalies")["anomaly_id"]),
    }
    assert events["time"].is_monotonic_increasing


def test_four_chillers_and_two_air_handlers_are_monitored(site: Site, table: ReadTable, site_folder: Path) -> None:
    equipment = table("equipment").set_index("equipment_id")
    recorded = [path.stem for path in (site_folder / "telemetry").iterdir()]
    assert equipment.loc[recorded, "asset_class"].value_counts().to_dict() == {"Chiller": 4, "Air Handling Unit": 2}
    assert set(equipment.loc[recorded, "site_name"]) == {"MAIN"}
    assert equipment["site_name"].nunique() == 2
    assert equipment["asset_class"].nunique() == 10


def test_installed_sensors_are_not_those_that_are_measured(table: ReadTable, site: Site) -> None:
    sensors = table("sensors")
    monitored = {machine.id for machine in site.machines if machine.monitored}
    for identifier, rows in sensors.groupby("equipment_id"):
        installed, measured = set(rows[rows.installed].sensor), set(rows[rows.measured].sensor)
        assert bool(measured) == (identifier in monitored)
        if measured:
            assert installed - measured
            assert measured - installed


def test_what_is_measured_is_what_the_historian_has(table: ReadTable, site: Site) -> None:
    sensors = table("sensors")
    for machine in site.machines:
        if machine.monitored:
            measured = sensors[(sensors.equipment_id == machine.id) & sensors.measured].sensor.tolist()
            assert ["timestamp", *measured] == table(f"telemetry/{machine.id}").columns.tolist()


def test_the_failure_analysis_is_filled_in(table: ReadTable) -> None:
    fmea = table("fmea")
    assert not fmea.isna().any().any()
    assert fmea["asset_class"].nunique() == 3
    assert fmea["fmea_id"].is_unique
    assert (fmea["repair_time_hours"] > 0).all()
    assert set(fmea["task_type"]) == {"condition-based", "time-based", "failure-finding"}


def test_seven_modes_of_chillers_and_five_of_air_handlers(table: ReadTable) -> None:
    counts = table("failure_modes")["asset_class"].value_counts()
    assert counts["Chiller"] == 7
    assert counts["Air Handling Unit"] == 5
    relevance = table("failure_mode_sensors")
    assert (relevance.groupby(["asset_class", "failure_mode"])["relevant"].sum() > 0).all()
    assert not relevance["relevant"].all()


def test_eleven_years_of_work_orders_and_four_of_monitoring(table: ReadTable, site: Site) -> None:
    orders, alerts = table("work_orders"), table("alerts")
    assert 10.5 < (orders.finished.max() - orders.finished.min()).days / 365.25 <= 11
    assert orders.groupby(orders.finished.dt.year).size().iloc[1:-1].min() > 250
    assert alerts.start.min() >= site.monitored_from
    assert orders.finished.max() <= site.now
    assert alerts.end.max() <= site.now
    share = orders.preventive.mean()
    assert 0.7 < share < 0.93


def test_paperwork_is_dirty_in_the_known_ways(table: ReadTable) -> None:
    orders, events = table("work_orders"), table("events")
    late = orders[orders.reported > orders.finished]
    assert 0.02 < len(late) / len(orders) < 0.09
    assert (late.reported - late.finished).dt.days.max() > 30
    logged = events.set_index("event_id").loc[late.wo_id, "time"]
    assert (logged.to_numpy() == late.reported.to_numpy()).all()
    assert (orders.started > orders.finished).sum() == 0
    assert 0 < orders.finished.isna().mean() < 0.03
    assert 0 < orders.component.isna().mean() < 0.05
    names = orders.groupby("equipment_id").equipment_name.nunique()
    assert (names > 1).any()
    plain = orders.equipment_name.map(lambda name: re.sub(r"[\s-]", "", name).lower())
    assert (plain.groupby(orders.equipment_id).nunique() == 1).all()
    alerts = table("alerts").merge(events, left_on="alert_id", right_on="event_id")
    apart = (alerts.time - alerts.start).abs()
    assert 0 < (apart > pd.Timedelta(0)).mean() < 0.2
    assert apart.max() <= pd.Timedelta(minutes=3)


def test_some_machines_never_alert_and_one_chiller_has_no_anomalies(table: ReadTable, site: Site) -> None:
    alerting = set(table("alerts").equipment_id)
    assert len({machine.id for machine in site.machines} - alerting) >= 3
    assert table("anomalies").equipment_id.nunique() == 3


def test_repairs_follow_alerts_and_age(table: ReadTable) -> None:
    orders, alerts = table("work_orders"), table("alerts")
    repairs = orders[~orders.preventive & orders.finished.notna()]
    yearly = repairs.groupby(["equipment_id", repairs.finished.dt.year]).size().unstack(fill_value=0)
    chillers = yearly[yearly.index.str.startswith("CHL")]
    trend = chillers.iloc[:, -4:].sum(axis=1) / chillers.iloc[:, :4].sum(axis=1).clip(lower=1)
    assert trend.max() > 4
    assert trend.min() < 1.5
    merged = repairs.merge(alerts, on="equipment_id")
    gap = merged.started - merged.start
    soon = merged[(gap > pd.Timedelta(0)) & (gap < pd.Timedelta(days=15))]
    assert soon.wo_id.nunique() > 40


def test_an_anomaly_lies_outside_its_bounds(table: ReadTable) -> None:
    anomalies = table("anomalies")
    assert ((anomalies.value > anomalies.upper) | (anomalies.value < anomalies.lower)).all()
    assert (anomalies.lower < anomalies.upper).all()


def test_the_switches_and_the_present_are_written(site: Site, site_folder: Path) -> None:
    switches = json.loads((site_folder / "environment.json").read_text())
    assert switches == {"tools": True, "distractors": False}
    assert json.loads((site_folder / "present.json").read_text()) == {"now": site.now.isoformat()}
