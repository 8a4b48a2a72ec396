"""The environment as a program: what its tools answer, and what they say to a call that cannot be answered."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "competitions" / "quickstart" / "environment"
WORK_ORDERS = (
    "wo_id,wo_description,collection,primary_code,primary_code_description,secondary_code,"
    "secondary_code_description,equipment_id,equipment_name,preventive,work_priority,actual_finish,duration,"
    "actual_labor_hours\n"
)
EVENTS = "event_id,event_group,event_category,event_type,description,equipment_id,equipment_name,event_time,note\n"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plant small enough to count by hand."""
    data = tmp_path_factory.mktemp("tiny")
    (data / "all_wo_with_code_component_events.csv").write_text(
        WORK_ORDERS
        + "WO1,Look,compressor,PM01,Inspection,PM01a,Monthly,CWC00006,Chiller 6,TRUE,5,1/1/20 0:00,1:00,1:00\n"
        + "WO2,Mend,motor,CM01,Leak,CM01a,Valve,CWC00006,CHILLER6,FALSE,1,12/31/20 23:59,1:00,\n"
        + "WO3,Look,,PM01,Inspection,PM01a,Monthly,,chiller 6,TRUE,5,2020-06-01 12:00:00,,\n"
        + "WO4,,,,,,,CWC00006,,TRUE,5,2020-06-02 12:00:00,,\n"
        + "WO5,Look,,PM01,Inspection,PM01a,Monthly,CWC00006,Chiller 6,TRUE,5,,,\n"
        + "WO6,Look,,PM02,Oil,PM02a,Routine,CWC00007,Chiller 7,TRUE,5,1/1/21 0:00,,\n"
        + "WO7,Look,,PM01,Inspection,PM01a,Monthly,CWC00006,Chiller 6,TRUE,5,not yet,,\n",
        encoding="utf-8",
    )
    (data / "event.csv").write_text(
        EVENTS
        + "WO1,WORK_ORDER,PM,PM01,Inspection,CWC00006,Chiller 6,2020-01-01 00:00:00,\n"
        + "al1,ALERT,ALERT,RUL01,Approach high,CWC00006,Chiller 6,2020-03-31 23:59:59,\n"
        + "al2,ALERT,ALERT,RUL01,Approach high,,CHILLER-6,4/1/20 0:00,\n"
        + "an1,ANOMALY,ANOMALY,KPI Load above upper bound,High,CWC00006,Chiller 6,2020-04-01 10:00:00,\n"
        + "an2,ANOMALY,ANOMALY,KPI Load above upper bound,High,CWC00006,Chiller 6,,\n"
        + "WO6,WORK_ORDER,PM,PM02,Oil,CWC00007,Chiller 7,2021-01-01 00:00:00,\n",
        encoding="utf-8",
    )
    (data / "chiller6_sensordata.csv").write_text(
        "asset_id,timestamp,Chiller 6 Tonnage,Chiller 6 Run Status\n"
        + "Chiller 6,2020-05-01T00:00:00,1.0,\n"
        + "Chiller 6,2020-05-01T12:00:00,,\n"
        + "Chiller 6,2020-05-01T23:45:00,4.0,\n"
        + "Chiller 6,2020-05-02T00:00:00,100.0,\n",
        encoding="utf-8",
    )
    return data


@pytest.fixture
def plant(tiny: Path, open_plant: Callable[[Path], Any]) -> Any:
    return open_plant(tiny)


def year(equipment: str = "Chiller 6", **more: Any) -> dict[str, Any]:
    return {"equipment": equipment, "start": "2020-01-01", "end": "2020-12-31", **more}


def test_every_tool_has_a_description_and_a_closed_schema(plant: Any) -> None:
    tools = plant.tools()
    reserved = {"gauntlet_reset", "gauntlet_state"}
    assert reserved < set(tools)
    for name in set(tools) - reserved:
        assert len(tools[name].description) > 30
        schema = tools[name].input_schema
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])


def test_both_ends_of_a_period_count_and_undated_work_counts_nowhere(plant: Any) -> None:
    found = plant.call("get_work_orders", **year())
    assert [order["id"] for order in found["work_orders"]] == ["WO1", "WO3", "WO4", "WO2"]
    assert plant.call("get_work_orders", equipment="Chiller 6", start="1900-01-01", end="2999-12-31")["total"] == 4


def test_kinds_of_work_add_up(plant: Any) -> None:
    counts = {kind: plant.call("get_work_orders", **year(kind=kind))["total"] for kind in ("preventive", "corrective")}
    assert counts == {"preventive": 3, "corrective": 1}
    assert plant.call("get_work_orders", **year(kind="ANY"))["total"] == 4


@pytest.mark.parametrize("name", ["CWC00006", "cwc00006", "Chiller 6", "CHILLER6", "chiller-6", " chiller_6 "])
def test_a_machine_is_found_under_every_spelling(plant: Any, name: str) -> None:
    assert plant.call("get_work_orders", **year(name))["equipment"] == "CWC00006"


def test_an_unknown_machine_is_refused_with_the_way_to_the_known_ones(plant: Any) -> None:
    for tool in ("get_work_orders", "get_events", "get_alerts", "get_anomalies", "daily_event_counts"):
        message = plant.refusal(tool, **year("Chiller 66"))
        assert "no equipment 'Chiller 66'" in message
        assert "list_equipment" in message
    assert "no equipment" in plant.refusal("list_sensors", equipment="Chiller")


@pytest.mark.parametrize("day", ["2020-02-30", "30.06.2020", "June 2020", "2020", "2020-06-30T12:00", "", "9999-12-31"])
def test_a_wrong_date_is_refused_with_the_right_form(plant: Any, day: str) -> None:
    message = plant.refusal("get_events", equipment="Chiller 6", start="2020-01-01", end=day)
    assert message.startswith("end ")
    assert day == "" or "YYYY-MM-DD" in message


def test_a_date_at_midnight_is_that_day(plant: Any) -> None:
    found = plant.call("get_work_orders", equipment="Chiller 6", start="2020-01-01T00:00:00", end="2020-01-01 00:00")
    assert found["total"] == 1


def test_a_period_that_ends_before_it_begins_is_refused(plant: Any) -> None:
    message = plant.refusal("get_events", equipment="Chiller 6", start="2020-02-01", end="2020-01-31")
    assert "before start" in message


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"kind": "planned"}, "kind must be one of"),
        ({"kind": 3}, "kind must be one of"),
        ({"limit": 0}, "limit must be from 1 to 200"),
        ({"limit": 201}, "limit must be from 1 to 200"),
        ({"limit": "5"}, "limit must be a whole number"),
        ({"limit": True}, "limit must be a whole number"),
        ({"offset": -1}, "offset must not be negative"),
        ({"equipment": None}, "equipment is required"),
        ({"equipment": 6}, "equipment is required and must be text"),
        ({"asset": "Chiller 6"}, "does not take asset"),
        ({"start": 20200101}, "start is required and must be text"),
        ({"start": None}, "start is required"),
    ],
)
def test_wrong_arguments_are_named(plant: Any, arguments: dict[str, Any], word: str) -> None:
    assert word in plant.refusal("get_work_orders", **{**year(), **arguments})


def test_wrong_groups_are_named(plant: Any) -> None:
    assert "groups must be one of" in plant.refusal("get_events", **year(groups=["ALARM"]))
    assert "groups must be a list" in plant.refusal("get_events", **year(groups={"a": 1}))


def test_an_unknown_tool_is_refused(plant: Any) -> None:
    assert "no tool 'drop_tables'" in plant.refusal("drop_tables")


def test_pages_join_to_the_whole(plant: Any) -> None:
    first = plant.call("get_work_orders", **year(limit=3))
    rest = plant.call("get_work_orders", **year(limit=3, offset=first["next_offset"]))
    assert (first["total"], rest["total"], rest["next_offset"]) == (4, 4, None)
    assert [order["id"] for order in first["work_orders"] + rest["work_orders"]] == ["WO1", "WO3", "WO4", "WO2"]
    assert plant.call("get_work_orders", **year(offset=99))["work_orders"] == []


def test_events_are_counted_by_group_and_day(plant: Any) -> None:
    assert plant.call("get_events", **year())["by_group"] == {"work_orders": 1, "alerts": 2, "anomalies": 1}
    assert plant.call("get_events", **year(groups=["ALERT"]))["by_group"] == {"alerts": 2}
    daily = plant.call("daily_event_counts", **year(groups=["ALERT", "ANOMALY"]))
    assert daily["days"] == [
        {"day": "2020-03-31", "alerts": 1, "anomalies": 0},
        {"day": "2020-04-01", "alerts": 1, "anomalies": 1},
    ]
    assert daily["days_with_events"] == 2


def test_ranges_and_coverage_tell_what_was_recorded(plant: Any) -> None:
    ranges = plant.call("event_date_range", equipment="Chiller 7")["ranges"]
    assert ranges["alerts"] == {"first": None, "last": None, "total": 0}
    assert ranges["work_orders"]["first"] == "2021-01-01T00:00"
    assert plant.call("record_coverage")["alerts"] == {"from": "2020-03-31", "to": "2020-04-01"}
    assert plant.call("current_date_time")["day"] == "2021-01-01"


def test_work_without_a_code_is_counted_apart(plant: Any) -> None:
    found = plant.call("count_failure_codes", **year())
    assert [(one["code"], one["count"]) for one in found["codes"]] == [("PM01", 2), ("CM01", 1)]
    assert found["without_code"] == 1


def test_empty_readings_are_left_out_of_the_mean_and_counted(plant: Any) -> None:
    day = {"equipment": "Chiller 6", "start": "2020-05-01", "end": "2020-05-01"}
    found = plant.call("summarize_sensor", **day, sensor="chiller 6 tonnage")
    assert (found["readings"], found["empty"], found["mean"], found["maximum"]) == (2, 1, 2.5, 4.0)
    listed = plant.call("get_sensor_readings", **day, sensor="Tonnage")
    assert [one["value"] for one in listed["readings"]] == [1.0, None, 4.0]


def test_a_sensor_that_is_not_recorded_is_refused_and_the_recorded_ones_named(plant: Any) -> None:
    message = plant.refusal("summarize_sensor", **year(), sensor="Oil Pressure")
    assert "No sensor 'Oil Pressure' is recorded for Chiller 6" in message
    assert "Tonnage" in message
    assert "Recorded: nothing" in plant.refusal("summarize_sensor", **year("Chiller 7"), sensor="Tonnage")


def test_a_reset_clears_what_was_asked_and_needs_a_scenario(tiny: Path, open_plant: Callable[[Path], Any]) -> None:
    plant = open_plant(tiny)
    plant.call("gauntlet_reset", scenario="one", seed=1)
    plant.call("record_coverage")
    assert plant.call("gauntlet_state") == {"scenario": "one", "calls": {"record_coverage": 1}}
    assert "scenario is required" in plant.refusal("gauntlet_reset", seed=1)
    assert plant.call("gauntlet_state")["scenario"] == "one", "a refused reset must change nothing"
    plant.call("gauntlet_reset", scenario="two", seed=1)
    assert plant.call("gauntlet_state") == {"scenario": "two", "calls": {}}


def test_an_environment_without_records_does_not_begin_an_episode(tmp_path: Path) -> None:
    def message(number: int, method: str, params: dict[str, Any]) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "plain", "version": "1"}}
    lines = [
        message(1, "initialize", hello),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        message(2, "tools/call", {"name": "gauntlet_reset", "arguments": {"scenario": "x", "seed": 1}}),
    ]
    with subprocess.Popen(
        [sys.executable, "server.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROGRAM,
        env={**os.environ, "GAUNTLET_DATA": str(tmp_path)},
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write("\n".join(lines) + "\n")
        program.stdin.flush()
        answers = [json.loads(program.stdout.readline()) for _ in range(2)]
        program.stdin.close()
    assert answers[1]["result"]["isError"] is True
    assert "no records" in answers[1]["result"]["content"][0]["text"]


@given(
    day=st.one_of(
        st.text(max_size=20),
        st.dates().map(str),
        st.from_regex(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d)?", fullmatch=True),
        st.integers(),
        st.none(),
        st.lists(st.text(max_size=3), max_size=2),
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_date_breaks_the_program(plant: Any, day: object) -> None:
    answers = plant.either("get_work_orders", equipment="Chiller 6", start=day, end=day)
    assert set(answers) >= {"total"} or answers["refused"].startswith(("start ", "start is"))
    assert plant.call("get_work_orders", **year())["total"] == 4


def test_the_program_reads_nothing_outside_of_its_data(tiny: Path, open_plant: Callable[[Path], Any]) -> None:
    plant = open_plant(tiny)
    for name in ("../event", "/etc/passwd", "..%2f", "Chiller 6\0"):
        assert "no equipment" in plant.refusal("list_sensors", equipment=name)


def test_the_program_needs_only_the_standard_library_and_the_protocol(tmp_path: Path) -> None:
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); import server; "
        "print(json.dumps([name for name in ('pandas', 'numpy', 'django', 'yaml') if name in sys.modules]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(PROGRAM)], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert json.loads(run.stdout) == []


def test_the_metadata_starts_the_program(tiny: Path) -> None:
    command = (PROGRAM / "metadata.yaml").read_text(encoding="utf-8").split("command: ")[1].split()
    assert command == ["python", "server.py"]
    ask = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "plain", "version": "1"},
        },
    }
    run = subprocess.run(
        [sys.executable, *command[1:]],
        input=json.dumps(ask) + "\n",
        capture_output=True,
        text=True,
        cwd=PROGRAM,
        env={**os.environ, "GAUNTLET_DATA": str(tiny)},
        check=True,
    )
    assert json.loads(run.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "quickstart-plant"


def test_the_real_shape_of_tables_is_kept(bundle: Path, shared: Path) -> None:
    for name in ("event.csv", "all_wo_with_code_component_events.csv", "alert_events.csv", "anomaly_events.csv"):
        with (
            (bundle / "data" / "test" / name).open(encoding="utf-8-sig") as made,
            (shared / "data" / "assetops" / name).open(encoding="utf-8-sig") as real,
        ):
            assert next(csv.reader(made)) == next(csv.reader(real))
