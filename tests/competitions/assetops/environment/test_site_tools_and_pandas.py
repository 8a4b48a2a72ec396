"""The tools against an oracle in pandas that shares no code with them, on random arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from assetops_data import Site
from hypothesis import given, settings
from hypothesis import strategies as st

RANDOM = settings(max_examples=25, deadline=None)
FIRST, LAST = date(2018, 6, 1), date(2024, 12, 31)
DAYS = st.dates(FIRST, LAST)


class Oracle:
    """The small site's tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables: dict[str, pd.DataFrame] = {}

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name not in self.tables:
            self.tables[name] = pd.read_csv(self.folder / f"{name}.csv", keep_default_na=False, dtype=str)
        return self.tables[name]

    def rows(self, name: str, time: str, ask: dict[str, Any]) -> pd.DataFrame:
        """The rows of a table that a question is about, oldest first."""
        found = getattr(self, name)
        if "machine" in ask:
            found = found[found["equipment_id"] == ask["machine"].id]
        at = pd.to_datetime(found[time].where(found[time] != ""))
        if "start" in ask:
            found = found[(at >= pd.Timestamp(ask["start"])).to_numpy()]
            at = pd.to_datetime(found[time].where(found[time] != ""))
        if "end" in ask:
            found = found[(at.dt.normalize() <= pd.Timestamp(ask["end"])).to_numpy()]
        return found.sort_values(time, kind="stable", key=lambda cells: cells.replace("", "9999"))


@pytest.fixture(scope="module")
def oracle(small_site: Site, small_folder: Path) -> Oracle:
    return Oracle(small_folder)


def spellings(name: str) -> list[str]:
    return [name, name.upper(), name.lower(), name.replace(" ", ""), name.replace(" ", "-"), f" {name} "]


@st.composite
def asks(draw: st.DrawFn, site: Site, *, whole: bool = False) -> dict[str, Any]:
    """Which machine and which days, any of them left out; ``call`` are the arguments that say so."""
    found: dict[str, Any] = {"call": {}}
    if whole or draw(st.booleans()):
        machine = draw(st.sampled_from(site.machines))
        found["machine"] = machine
        found["call"]["equipment_id"] = draw(
            st.sampled_from([machine.id, machine.id.lower(), *spellings(machine.name)])
        )
    start, end = sorted((draw(DAYS), draw(DAYS)))
    if whole or draw(st.booleans()):
        found["start"] = found["call"]["start"] = start.isoformat()
    if whole or draw(st.booleans()):
        found["end"] = found["call"]["end"] = end.isoformat()
    return found


@RANDOM
@given(data=st.data())
def test_work_orders(small: Any, small_site: Site, oracle: Oracle, data: st.DataObject) -> None:
    ask = data.draw(asks(small_site))
    rows = oracle.rows("work_orders", "finished", ask)
    kind = data.draw(st.none() | st.sampled_from(["preventive", "Corrective"]))
    code = data.draw(st.none() | st.sampled_from(["PM01", "pm02", "RF01", "CT02"]))
    if kind:
        ask["call"]["kind"] = kind
        rows = rows[rows["preventive"] == ("TRUE" if kind == "preventive" else "FALSE")]
    if code:
        ask["call"]["primary_code"] = code
        rows = rows[rows["primary_code"] == code.upper()]
    limit, offset = data.draw(st.integers(1, 60)), data.draw(st.integers(0, 40))
    found = small.call("list_workorders", **ask["call"], limit=limit, offset=offset)
    assert found["total"] == len(rows)
    assert [row["wo_id"] for row in found["work_orders"]] == rows["wo_id"].tolist()[offset : offset + limit]
    shown = offset + len(found["work_orders"])
    assert found["next_offset"] == (shown if shown < len(rows) else None)
    grouping = data.draw(st.sampled_from(["primary_code", "year", "month", "component"]))
    counted = small.call("count_workorders", **ask["call"], group_by=grouping)
    keys = rows[grouping] if grouping in rows else rows["finished"].str[: 4 if grouping == "year" else 7]
    assert {row[grouping]: row["count"] for row in counted["groups"]} == {
        key or None: count for key, count in keys.value_counts().to_dict().items()
    }
    assert counted["total"] == len(rows) == small.call("count_workorders", **ask["call"])["total"]


@RANDOM
@given(data=st.data())
def test_the_event_log(small: Any, small_site: Site, oracle: Oracle, data: st.DataObject) -> None:
    ask = data.draw(asks(small_site))
    rows = oracle.rows("events", "time", ask)
    counts = {group: int((rows["group"] == group).sum()) for group in ("WORK_ORDER", "ALERT", "ANOMALY")}
    found = small.call("list_events", **ask["call"], limit=500)
    assert found["by_group"] == counts
    assert [row["event_id"] for row in found["events"]] == rows["event_id"].tolist()[:500]
    group = data.draw(st.sampled_from(["WORK_ORDER", "alert", "Anomaly"]))
    only = small.call("list_events", **ask["call"], group=group)
    assert only["total"] == counts[group.upper()]
    assert only["by_group"] == {group.upper(): counts[group.upper()]}


@RANDOM
@given(data=st.data())
def test_events_by_day(small: Any, small_site: Site, oracle: Oracle, data: st.DataObject) -> None:
    ask = data.draw(asks(small_site, whole=True))
    groups = data.draw(st.lists(st.sampled_from(["WORK_ORDER", "ALERT", "ANOMALY"]), max_size=2, unique=True))
    rows = oracle.rows("events", "time", ask)
    if groups:
        ask["call"]["groups"] = groups
        rows = rows[rows["group"].isin(groups)]
    found = small.call("daily_event_counts", **ask["call"])
    by_day = rows.groupby(rows["time"].str[:10]).size()
    assert {row["day"]: row["total"] for row in found["days"]} == by_day.to_dict()
    assert found["days_with_events"] == len(by_day)
    assert found["total_events"] == len(rows)
    for row in found["days"]:
        assert sum(row[group] for group in groups or ("WORK_ORDER", "ALERT", "ANOMALY")) == row["total"]


@RANDOM
@given(data=st.data())
def test_alerts_and_anomalies(small: Any, small_site: Site, oracle: Oracle, data: st.DataObject) -> None:
    for tool, table, time, by in (
        ("list_alerts", "alerts", "start", "rule_id"),
        ("list_anomalies", "anomalies", "time", "kpi"),
    ):
        ask = data.draw(asks(small_site))
        rows = oracle.rows(table, time, ask)
        found = small.call(tool, **ask["call"], limit=500)
        assert [next(iter(row.values())) for row in found[table]] == rows.iloc[:, 0].tolist()
        assert {row[by]: row["count"] for row in found[f"by_{by}"]} == rows[by].value_counts().to_dict()
        if len(rows):
            name = data.draw(st.sampled_from(sorted(set(rows[by]))))
            assert small.call(tool, **ask["call"], **{by: name.lower()})["total"] == int((rows[by] == name).sum())


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_history(small: Any, small_site: Site, oracle: Oracle, data: st.DataObject) -> None:
    machine = data.draw(st.sampled_from([one for one in small_site.machines if one.monitored]))
    frame = pd.read_csv(oracle.folder / "telemetry" / f"{machine.id}.csv")
    days = st.integers(-2, 36)
    first, last = sorted((data.draw(days), data.draw(days)))
    start, final = (small_site.telemetry_from.date() + timedelta(days=one) for one in (first, last))
    call = {"site_name": data.draw(st.sampled_from(["MAIN", "main"])), "assetnum": machine.name, "start": str(start)}
    at = pd.to_datetime(frame["timestamp"])
    rows = frame[at >= pd.Timestamp(start)]
    if data.draw(st.booleans()):
        if data.draw(st.booleans()):
            call["final"] = str(final)
            rows = rows[at[rows.index].dt.date <= final]
        else:
            call["final"] = f"{final}T12:00:00"
            rows = rows[at[rows.index] <= pd.Timestamp(f"{final}T12:00:00")]
        if pd.Timestamp(call["final"]) < pd.Timestamp(start):
            return
    columns = frame.columns[1:].tolist()
    if data.draw(st.booleans()):
        columns = data.draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True))
        call["sensors"] = [
            data.draw(st.sampled_from([name, name.lower(), f"{machine.name} {name}"])) for name in columns
        ]
    small.call("gauntlet_reset", scenario="history")
    found = small.call("history", **call)
    assert found["total_observations"] == len(rows)
    if rows.empty:
        assert found["file_path"] is None
        return
    assert (found["start"], found["final"]) == (rows["timestamp"].iloc[0], rows["timestamp"].iloc[-1])
    written = pd.DataFrame(small.table(found["file_path"]))
    pd.testing.assert_frame_equal(
        written, rows[["timestamp", *columns]].reset_index(drop=True), check_dtype=False, check_exact=True
    )
    limit, offset = data.draw(st.integers(1, 200)), data.draw(st.integers(0, 300))
    page = small.call("jsonreader", file_name=found["file_path"], limit=limit, offset=offset)
    assert page["total"] == len(rows)
    assert [row["timestamp"] for row in page["rows"]] == rows["timestamp"].tolist()[offset : offset + limit]
    sensors = small.call("read_sensors_from_file", file_name=found["file_path"])
    assert sensors["sensors"] == columns


def test_sensors_installed_and_measured(small: Any, small_site: Site, oracle: Oracle) -> None:
    table = oracle.sensors
    for machine in small_site.machines:
        own = table[table["equipment_id"] == machine.id]
        installed = small.call("asset_sensors", assetnum=machine.name)
        assert [row["sensor"] for row in installed["sensors"]] == own[own["installed"] == "TRUE"]["sensor"].tolist()
        measured = small.call("sensors", site_name=machine.site, assetnum=machine.id)
        assert [row["sensor"] for row in measured["sensors"]] == own[own["measured"] == "TRUE"]["sensor"].tolist()
        if machine.monitored:
            assert installed["sensors"] != measured["sensors"]


def test_sites_and_assets(small: Any, small_site: Site, oracle: Oracle) -> None:
    sites = small.call("sites")["sites"]
    assert sites == sorted(set(oracle.equipment["site_name"]))
    for name in sites:
        registered = small.call("registry_assets", site_name=name)["assets"]
        assert [row["assetnum"] for row in registered] == [one.id for one in small_site.machines if one.site == name]
        recorded = small.call("assets", site_name=name)["assets"]
        assert recorded == [one.name for one in small_site.machines if one.site == name and one.monitored]
    assert small.call("registry_assets")["total_assets"] == 22 == small.call("list_equipment")["total"]
    asset = small.call("get_asset", assetnum=small_site.machines[0].name)
    assert asset["installed_on"] == small_site.machines[0].installed_on.isoformat()


def test_failure_modes_and_what_tells_of_them(small: Any, small_site: Site, oracle: Oracle) -> None:
    relevance = oracle.failure_mode_sensors
    for kind in sorted(set(relevance["asset_class"])):
        own = relevance[(relevance["asset_class"] == kind) & (relevance["relevant"] == "TRUE")]
        found = small.call("get_failure_mode_sensor_mapping", asset_name=kind)
        assert {k: v for k, v in found["sensors_of_failure_mode"].items() if v} == {
            mode: rows["sensor"].tolist() for mode, rows in own.groupby("failure_mode")
        }
        assert {k: set(v) for k, v in found["failure_modes_of_sensor"].items() if v} == {
            sensor: set(rows["failure_mode"]) for sensor, rows in own.groupby("sensor")
        }
        modes = small.call("get_failure_modes", asset_name=kind)
        assert modes["failure_modes"] == list(found["sensors_of_failure_mode"])
        assert len(modes["failure_analysis"]) == int((oracle.fmea["asset_class"] == kind).sum())
    chiller = small_site.machines[0]
    assert small.call("get_failure_modes", asset_name=chiller.name)["asset_class"] == "Chiller"
    assert small.call("get_failure_modes", asset_name="AHU")["asset_class"] == "Air Handling Unit"
    assert small.call("get_failure_modes", asset_name="chillers")["asset_class"] == "Chiller"
    narrow = small.call(
        "get_failure_mode_sensor_mapping",
        asset_name=chiller.name,
        failure_modes=["motor bearing wear"],
        sensors=f"{chiller.name} Power Input, tonnage",
    )
    assert narrow["sensors_of_failure_mode"] == {"Motor bearing wear": ["Power Input"]}
    assert narrow["failure_modes_of_sensor"] == {"Power Input": ["Motor bearing wear"], "Tonnage": []}


def test_codes_and_rules(small: Any, small_site: Site, oracle: Oracle) -> None:
    codes = small.call("get_failure_codes")
    assert (codes["total_primary"], codes["total"]) == (68, 137)
    leak = small.call("get_failure_codes", text="LEAK")
    assert leak["total"] == int(oracle.failure_codes.apply(lambda row: "leak" in " ".join(row).lower(), axis=1).sum())
    assert small.call("get_alert_rules")["total"] == 77
    machine = small_site.machines[0]
    rules = small.call("get_alert_rules", equipment_id=machine.name)["alert_rules"]
    assert [row["rule_id"] for row in rules] == oracle.alert_rules[oracle.alert_rules["equipment_id"] == machine.id][
        "rule_id"
    ].tolist()
    assert small.call("get_alert_rule_mapping")["total"] == 46
    mapped = oracle.alert_rule_mapping["rule_id"].iloc[0]
    assert {row["rule_id"] for row in small.call("get_alert_rule_mapping", rule_id=mapped.lower())["mapping"]} == {
        mapped
    }
    assert small.call("get_anomaly_mapping")["total"] == 12
    assert small.call("get_anomaly_mapping", kpi="COOLING LOAD")["total"] == 2


def test_a_work_order_by_its_identifier(small: Any, oracle: Oracle) -> None:
    row = oracle.work_orders.iloc[7]
    found = small.call("get_workorder", wo_id=row["wo_id"].lower())
    assert found["equipment_id"] == row["equipment_id"]
    assert found["preventive"] == (row["preventive"] == "TRUE")
    assert found["priority"] == int(row["priority"])


def test_the_sites_clock(small: Any, small_site: Site) -> None:
    now = small_site.now
    assert small.call("currentdatetime") == {"currentDateTime": now.isoformat(), "currentDate": str(now.date())}
    said = small.call("current_time_english")["english"]
    assert re.search(rf"\b{now.day} {now:%B %Y}\b", said)


@pytest.mark.real_input
def test_published_answers_on_the_real_records(shared: Path, tmp_path: Path, in_process: Callable[..., Any]) -> None:
    """Scenarios 400, 402 to 408 and 410, through the tools."""
    from assetops_data import import_public

    import_public(shared / "data" / "assetops", tmp_path / "site")
    site = in_process(tmp_path / "site", tmp_path / "scratch")
    year = {"equipment_id": "CWC04013", "start": "2017-01-01", "end": "2017-12-31"}
    assert site.call("count_workorders", **year)["total"] == 33
    assert site.call("list_workorders", **year, kind="preventive")["total"] == 31
    assert site.call("list_workorders", **year, kind="corrective")["total"] == 2

    def groups(start: str, end: str) -> tuple[int, ...]:
        found = site.call("list_events", equipment_id="Chiller 9", start=start, end=end)["by_group"]
        return found["WORK_ORDER"], found["ALERT"], found["ANOMALY"]

    assert groups("2019-01-01", "2019-12-31") == (14, 0, 0)
    assert groups("2020-06-01", "2020-06-30") == (3, 30, 30)
    assert groups("2020-06-01", "2020-06-07")[1] == 6

    def days(start: str, end: str) -> int:
        watched = {"groups": ["ALERT", "ANOMALY"]}
        return int(
            site.call("daily_event_counts", equipment_id="CWC04009", start=start, end=end, **watched)[
                "days_with_events"
            ]
        )

    assert days("2021-01-01", "2021-12-31") == 82
    assert days("2020-05-01", "2020-05-31") == 26
    june = site.call("history", site_name="MAIN", assetnum="Chiller 6", start="2020-06-01", final="2020-06-30")
    assert june["total_observations"] == 2896
    data = {"dataset_path": june["file_path"], "timestamp_column": "timestamp", "target_columns": ["Chiller 6 Tonnage"]}
    (found,) = site.call("tsfm_integrated_tsad", **data)["series"]
    assert found["observations"] == 2876
    assert 0 < found["judged_steps"] < 2880
    assert site.call("tsfm_forecasting", model_checkpoint="holt_winters", **data)["start"] == "2020-07-01T00:00:00"
