"""The environment as a program: what it lists, how an episode begins and ends, what it says to a wrong call."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assetops_data import Site
from assetops_tools.couchdb_storage import load_couchdb
from assetops_tools.duckdb_storage import DuckDBStorage
from assetops_tools.errors import BadArgument, StorageFailed
from assetops_tools.program import SiteProgram, Switches, offered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gauntlet_scoring.program_metadata import read_program_metadata

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = ROOT / "competitions" / "assetops" / "environment"
SERVERS = {
    "iot": {"sites", "assets", "sensors", "history", "get_asset", "asset_sensors", "registry_assets"},
    "utilities": {"jsonreader", "currentdatetime", "current_time_english"},
    "fmsr": {"get_failure_modes", "get_failure_mode_sensor_mapping", "read_sensors_from_file"},
    "tsfm": {"aitasks", "tsfmmodels", "tsfm_forecasting", "tsfm_forecasting_finetune", "tsfm_integrated_tsad"},
    "wo": {
        *("list_workorders", "get_workorder", "count_workorders", "list_events", "daily_event_counts", "list_alerts"),
        *("list_anomalies", "get_failure_codes", "get_alert_rules", "get_alert_rule_mapping", "get_anomaly_mapping"),
        *("list_equipment", "recommend_workorder", "run_wo_code"),
    },
}
DISTRACTORS = {
    *("echo_agent", "off_topic_agent", "customer_support_agent", "sre_agent", "frontend_dev_agent", "hr_policy_agent"),
    *("sensor_data_summarizer", "historical_trends_agent", "edge_ml_agent", "rul_predictor_agent"),
}
RESERVED = {"gauntlet_reset", "gauntlet_state"}


@pytest.fixture(scope="module")
def process(small_site: Site, small_folder: Path, open_process: Callable[..., Any]) -> Any:
    started = open_process(small_folder)
    started.call("gauntlet_reset", scenario="first", seed=1)
    return started


def switched(source: Path, target: Path, **switches: Any) -> Path:
    shutil.copytree(source, target)
    (target / "environment.json").write_text(json.dumps(switches), encoding="utf-8")
    return target


def test_the_tools_of_five_servers_with_closed_schemas(process: Any) -> None:
    tools = process.tools()
    assert set(tools) == RESERVED.union(*SERVERS.values())
    agents = {"iot": "IoTAgent", "fmsr": "FMSRAgent", "tsfm": "TSFMAgent", "wo": "WOAgent"}
    for server, names in SERVERS.items():
        for name in names:
            tool = tools[name]
            assert tool.meta["gauntlet/server"] == server
            assert tool.meta.get("gauntlet/agent") == agents.get(server)
            assert tool.annotations.title == f"{server}: {name}"
            assert len(tool.description) > 20
            schema = tool.input_schema
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) <= set(schema["properties"])


def test_a_server_can_be_started_alone(small_site: Site, small_folder: Path, open_process: Callable[..., Any]) -> None:
    alone = open_process(small_folder, "--only", "wo")
    assert set(alone.tools()) == RESERVED | SERVERS["wo"]
    alone.call("gauntlet_reset", scenario="first")
    assert "no tool 'sites'" in alone.refusal("sites")


def test_an_unknown_server_is_refused_before_anything_starts() -> None:
    done = subprocess.run([sys.executable, "server.py", "--only", "git"], cwd=PROGRAM, capture_output=True, text=True)
    assert done.returncode == 2
    assert "invalid choice: 'git'" in done.stderr


def test_each_server_has_the_tools_of_the_contract() -> None:
    for server, names in SERVERS.items():
        assert set(offered(Switches(), server)) == names
    assert set(offered(Switches(distractors=True), "distractors")) == DISTRACTORS


def test_planners_get_no_tools(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    folder = switched(small_folder, tmp_path / "site", tools=False, distractors=True)
    program = SiteProgram(folder, tmp_path / "files", open_storage=lambda: DuckDBStorage(folder))
    assert program.answer("gauntlet_reset", {"scenario": "first"})["tools"] == 0
    assert program.tools == {}
    with pytest.raises(BadArgument, match="There is no tool 'sites'"):
        program.answer("sites", {})


def test_the_code_tool_is_declared_and_never_run_here(process: Any) -> None:
    metadata = read_program_metadata(PROGRAM)
    assert metadata.code_tool is not None
    assert metadata.code_tool.name == "run_wo_code"
    assert process.tools()["run_wo_code"].input_schema["properties"].keys() == {"code"}
    assert "runs no code" in process.refusal("run_wo_code", code="print(1)")


def test_a_reset_forgets_the_last_episode(process: Any, small_site: Site) -> None:
    machine = small_site.machines[0]
    process.call("gauntlet_reset", scenario="one", seed=1)
    read = process.call("history", site_name="MAIN", assetnum=machine.name, start=str(small_site.telemetry_from.date()))
    made = process.call("recommend_workorder", equipment_id=machine.name, primary_code="me01", reason="It is loud.")
    assert made["recommendation_id"] == "REC1"
    state = process.call("gauntlet_state")
    assert state["scenario"] == "one"
    assert state["calls"] == {"history": 1, "recommend_workorder": 1}
    assert state["files"] == [read["file_path"]]
    assert state["recommendations"] == [made]

    process.call("gauntlet_reset", scenario="two", seed=1)
    assert process.call("gauntlet_state") == {"scenario": "two", "calls": {}, "files": [], "recommendations": []}
    assert "There is no file" in process.refusal("jsonreader", file_name=read["file_path"])


def test_a_reset_that_fails_drops_nothing(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    folder = switched(small_folder, tmp_path / "site", scenarios=["known"])
    program = SiteProgram(folder, tmp_path / "files", open_storage=lambda: DuckDBStorage(folder))
    program.answer("gauntlet_reset", {"scenario": "known"})
    start = str(small_site.telemetry_from.date())
    ask = {"site_name": "MAIN", "assetnum": small_site.machines[0].name, "start": start}
    name = program.answer("history", ask)["file_path"]
    for wrong in ({"scenario": "unknown"}, {"scenario": ""}, {"scenario": 7}, {}, {"scenario": "  "}):
        with pytest.raises(BadArgument):
            program.answer("gauntlet_reset", wrong)
        assert program.answer("jsonreader", {"file_name": name})["total"] > 0
        assert program.answer("gauntlet_state", {})["scenario"] == "known"


def test_nothing_is_answered_before_an_episode(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    program = SiteProgram(small_folder, tmp_path / "files", open_storage=lambda: DuckDBStorage(small_folder))
    with pytest.raises(BadArgument, match="No episode is open"):
        program.answer("sites", {})
    assert program.answer("gauntlet_state", {})["scenario"] is None


def test_the_records_are_opened_once(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    opened = []

    def open_storage() -> DuckDBStorage:
        opened.append(1)
        return DuckDBStorage(small_folder)

    program = SiteProgram(small_folder, tmp_path / "files", open_storage=open_storage)
    for scenario in ("a", "b", "c"):
        program.answer("gauntlet_reset", {"scenario": scenario})
    assert opened == [1]


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    program = SiteProgram(
        tmp_path / "empty", tmp_path / "files", open_storage=lambda: DuckDBStorage(tmp_path / "empty")
    )
    with pytest.raises(BadArgument, match="holds no records"):
        program.answer("gauntlet_reset", {"scenario": "one"})


@pytest.mark.parametrize("text", ["[]", '{"tools": "yes"}', '{"distractors": 1}', "no json"])
def test_switches_that_cannot_be_read_stop_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "environment.json").write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011 - json's own among them
        Switches.read(tmp_path)
    assert Switches.read(tmp_path / "nowhere") == Switches()


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("sites", {"site": "MAIN"}, "sites does not take site; it takes no arguments."),
    ("assets", {}, "site_name is required"),
    ("assets", {"site_name": "NOWHERE"}, "There is no site 'NOWHERE'; there is MAIN"),
    ("sensors", {"site_name": "MAIN", "assetnum": "Chiller 99"}, "There is no equipment 'Chiller 99' here"),
    ("history", {"site_name": "MAIN", "assetnum": "{chiller}"}, "start is required"),
    ("history", {"site_name": "MAIN", "assetnum": "{chiller}", "start": "yesterday"}, "start must be a date"),
    ("history", {"site_name": "MAIN", "assetnum": "{chiller}", "start": "9999-12-31"}, "start must be a date"),
    ("history", {"site_name": "MAIN", "assetnum": "{chiller}", "start": "2020-02-30"}, "start must be a date"),
    (
        "history",
        {"site_name": "MAIN", "assetnum": "{chiller}", "start": "2022-02-02", "final": "2022-02-01"},
        "final (2022-02-01) is before start (2022-02-02).",
    ),
    (
        "history",
        {"site_name": "MAIN", "assetnum": "{chiller}", "start": "2022-02-02", "sensors": ["Smell"]},
        "No sensor 'Smell' of",
    ),
    ("history", {"site_name": "MAIN", "assetnum": "{pump}", "start": "2022-02-02"}, "No readings of"),
    ("jsonreader", {"file_name": "nothing.json"}, "There is no file 'nothing.json'"),
    ("jsonreader", {"file_name": 7}, "file_name must be text; it was 7."),
    ("read_sensors_from_file", {"file_name": ""}, "file_name is required"),
    ("get_failure_modes", {"asset_name": "Wind Turbine"}, "Nothing is known of the kind 'Wind Turbine'"),
    (
        "get_failure_mode_sensor_mapping",
        {"asset_name": "Chiller", "failure_modes": ["Boredom"]},
        "There is no failure mode 'Boredom' of the kind Chiller",
    ),
    ("get_failure_mode_sensor_mapping", {"asset_name": "Chiller", "sensors": 5}, "sensors must be a list of names."),
    ("list_workorders", {"start": "2022-02-02T10:00:00"}, "start must be a day written as YYYY-MM-DD"),
    ("list_workorders", {"start": "2022-02-02", "end": "2022-01-01"}, "end (2022-01-01) is before start"),
    ("list_workorders", {"kind": "urgent"}, "kind must be one of preventive, corrective; it was 'urgent'."),
    ("list_workorders", {"limit": 0}, "limit must be from 1 to 500; it was 0."),
    ("list_workorders", {"limit": True}, "limit must be a whole number; it was True."),
    ("list_workorders", {"offset": -1}, "offset must be from 0"),
    ("list_workorders", {"primary_code": "XX99"}, "There is no primary failure code 'XX99'"),
    ("get_workorder", {"wo_id": "WO0"}, "There is no work order 'WO0'."),
    ("count_workorders", {"group_by": "colour"}, "group_by must be one of primary_code, year, month, component"),
    ("list_events", {"group": "PARTY"}, "group must be one of WORK_ORDER, ALERT, ANOMALY"),
    ("daily_event_counts", {"equipment_id": "{chiller}"}, "start is required"),
    ("daily_event_counts", {"start": "2020-01-01", "end": "2020-01-02"}, "equipment_id is required"),
    ("list_anomalies", {"kpi": "Happiness"}, "There is no performance indicator 'Happiness'"),
    ("recommend_workorder", {"equipment_id": "{chiller}", "primary_code": "ME01"}, "reason is required"),
    (
        "recommend_workorder",
        {"equipment_id": "{chiller}", "primary_code": "ME01", "reason": "x" * 2001},
        "reason must not be longer than 2000 characters",
    ),
    ("no_such_tool", {}, "There is no tool 'no_such_tool'."),
]


@pytest.mark.parametrize(("name", "arguments", "said"), REFUSED)
def test_a_wrong_call_is_told_in_one_sentence(
    small: Any, small_site: Site, name: str, arguments: dict[str, Any], said: str
) -> None:
    pump = next(one.name for one in small_site.machines if "Pump" in one.name and one.site == "MAIN")
    names = {"chiller": small_site.machines[0].name, "pump": pump}
    filled = {key: value.format(**names) if isinstance(value, str) else value for key, value in arguments.items()}
    assert said in small.refusal(name, **filled)


def test_an_asset_is_looked_for_at_its_own_site(small: Any, small_site: Site) -> None:
    other = next(one.site for one in small_site.machines if one.site != "MAIN")
    text = small.refusal("sensors", site_name=other, assetnum=small_site.machines[0].name)
    assert text == f"{small_site.machines[0].name} is not at {other}, it is at MAIN."


def test_a_period_without_readings_says_what_there_is(small: Any, small_site: Site) -> None:
    chiller = small_site.machines[0].name
    found = small.call("history", site_name="MAIN", assetnum=chiller, start="2001-01-01", final="2001-01-31")
    assert found["total_observations"] == 0
    assert found["file_path"] is None
    assert "its record goes from" in found["message"]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_called_is_answered_or_refused_in_words(small: Any, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(sorted(small.program.tools.values(), key=lambda one: one.name)))
    properties = sorted(tool.properties)
    plausible = st.sampled_from(["MAIN", "Chiller", "2020-01-01", "history_1.json", "holt_winters", "timestamp"])
    arguments = {key: data.draw(plausible | JUNK) for key in properties if data.draw(st.booleans())}
    try:
        found = small.program.answer(tool.name, arguments)
    except BadArgument as refused:
        found = {"refused": str(refused)}
    assert found.get("refused", ".").endswith(".")
    json.dumps(found, allow_nan=False)


HOSTILE_NAMES = [
    *("../environment.json", "/etc/passwd", "..", ".", "", "a/b.json", "a\\b.json", "history_1.json\x00", "~/.ssh/id"),
    *(
        "environment.json",
        "present.json",
        "records.duckdb",
        "%2e%2e%2fenvironment.json",
        "history_1.json/",
        "CON",
        "a" * 300,
    ),
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_leads_out_of_the_episodes_files(small: Any, small_site: Site, name: str) -> None:
    for tool, key in (("jsonreader", "file_name"), ("read_sensors_from_file", "file_name")):
        small.refusal(tool, **{key: name})
    arguments = {"timestamp_column": "timestamp", "target_columns": ["Tonnage"]}
    small.refusal("tsfm_integrated_tsad", dataset_path=name, **arguments)
    if not name.endswith("duckdb"):
        small.refusal("tsfm_forecasting", dataset_path="x.json", model_checkpoint=name, **arguments)


def test_a_link_out_of_the_files_is_not_followed(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    program = SiteProgram(small_folder, tmp_path / "files", open_storage=lambda: DuckDBStorage(small_folder))
    program.answer("gauntlet_reset", {"scenario": "x"})
    (tmp_path / "secret.json").write_text("{}")
    (tmp_path / "files" / "link.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(BadArgument, match="There is no file"):
        program.answer("jsonreader", {"file_name": "link.json"})


def test_a_tasks_own_data_sets_can_be_read(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    shutil.copytree(small_folder, folder)
    (folder / "datasets").mkdir()
    (folder / "datasets" / "small.csv").write_text(
        "Timestamp,Flow,Note\n2020-01-01 00:00:00,1.5,good\n2020-01-01 00:15:00,,\n"
    )
    program = SiteProgram(folder, tmp_path / "files", open_storage=lambda: DuckDBStorage(folder))
    program.answer("gauntlet_reset", {"scenario": "x"})
    found = program.answer("jsonreader", {"file_name": "small.csv"})
    assert found["rows"] == [
        {"Timestamp": "2020-01-01 00:00:00", "Flow": 1.5, "Note": "good"},
        {"Timestamp": "2020-01-01 00:15:00", "Flow": None, "Note": None},
    ]
    assert program.answer("read_sensors_from_file", {"file_name": "small.csv"})["sensors"] == ["Flow", "Note"]


def test_files_without_end_are_refused(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    program = SiteProgram(small_folder, tmp_path / "files", open_storage=lambda: DuckDBStorage(small_folder))
    program.answer("gauntlet_reset", {"scenario": "x"})
    start = str(small_site.telemetry_from.date())
    ask = {"site_name": "MAIN", "assetnum": small_site.machines[0].name, "start": start, "final": start}
    for _ in range(200):
        program.answer("history", {**ask, "sensors": ["Tonnage"]})
    with pytest.raises(BadArgument, match="too many files"):
        program.answer("history", ask)
    program.answer("gauntlet_reset", {"scenario": "y"})
    assert program.answer("history", ask)["file_path"] == "history_1.json"


def test_equal_calls_get_equal_answers_in_every_episode(process: Any, small_site: Site) -> None:
    machine = small_site.machines[0].name

    def play() -> list[Any]:
        process.call("gauntlet_reset", scenario="replay", seed=3)
        read = process.call("history", site_name="MAIN", assetnum=machine, start=str(small_site.telemetry_from.date()))
        data = {"dataset_path": read["file_path"], "timestamp_column": "timestamp", "target_columns": ["Tonnage"]}
        tuned = process.call("tsfm_forecasting_finetune", model_checkpoint="holt_winters", **data)
        ahead = process.call("tsfm_forecasting", model_checkpoint=tuned["model_checkpoint"], horizon=8, **data)
        found = process.call("tsfm_integrated_tsad", **data)
        files = [process.call("jsonreader", file_name=one["results_file"]) for one in (tuned, ahead, found)]
        return [read, tuned, ahead, found, *files]

    assert play() == play()


def test_distractors_are_offered_where_the_task_wants_them(
    small_site: Site, small_folder: Path, tmp_path: Path, in_process: Callable[..., Any]
) -> None:
    site = in_process(switched(small_folder, tmp_path / "site", distractors=True), tmp_path)
    assert set(site.program.tools) == DISTRACTORS.union(*SERVERS.values())
    requests = ("How many work orders had Chiller 6 in 2020?", "Summarise the tonnage of Chiller 6.", "Hello")
    for name in DISTRACTORS:
        assert site.program.tools[name].schema()["required"] == ["request"]
        said = [site.call(name, request=request)["answer"] for request in requests]
        assert said == [site.call(name, request=request)["answer"] for request in requests]
        if name == "echo_agent":
            assert said == list(requests)
        else:
            assert not any(character.isdigit() for text in said for character in text), "a figure might be of use"
        assert "request is required" in site.refusal(name)


def test_distractors_do_not_always_say_the_same(small_site: Site, small_folder: Path, tmp_path: Path) -> None:
    folder = switched(small_folder, tmp_path / "site", distractors=True)
    program = SiteProgram(folder, tmp_path / "files", open_storage=lambda: DuckDBStorage(folder))
    program.answer("gauntlet_reset", {"scenario": "x"})
    for name in DISTRACTORS:
        said = {program.answer(name, {"request": f"question {number}"})["answer"] for number in range(30)}
        assert len(said) >= 3


def test_the_same_answers_from_couchdb(
    small_site: Site, small_folder: Path, tmp_path: Path, couchdb: str, open_process: Any, process: Any
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(small_folder, folder)
    machine = small_site.machines[0]
    for path in (folder / "telemetry").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:101]), encoding="utf-8")
    load_couchdb(folder, couchdb, prefix="program-")
    for path in folder.rglob("*.csv"):
        path.unlink()  # what is answered comes from the server
    other = open_process(folder, ASSETOPS_COUCHDB=couchdb, ASSETOPS_COUCHDB_PREFIX="program-")
    start = str(small_site.telemetry_from.date())
    calls: list[tuple[str, dict[str, Any]]] = [
        ("gauntlet_reset", {"scenario": "both"}),
        ("registry_assets", {}),
        ("sensors", {"site_name": "MAIN", "assetnum": machine.name}),
        ("history", {"site_name": "MAIN", "assetnum": machine.name, "start": start, "final": f"{start}T12:00:00"}),
        ("jsonreader", {"file_name": "history_1.json", "limit": 500}),
        ("get_failure_mode_sensor_mapping", {"asset_name": "Chiller"}),
        ("list_workorders", {"equipment_id": machine.name, "kind": "preventive"}),
        ("count_workorders", {"group_by": "year"}),
        ("list_events", {"start": "2020-01-01", "group": "ALERT"}),
        ("list_anomalies", {}),
        ("get_failure_codes", {"text": "valve"}),
    ]
    for name, arguments in calls:
        assert other.call(name, **arguments) == process.call(name, **arguments), name


def test_a_lost_database_is_no_fault_of_the_caller(small_site: Site, small_folder: Path, open_process: Any) -> None:
    site = open_process(small_folder, ASSETOPS_COUCHDB="http://127.0.0.1:9")
    assert site.refusal("gauntlet_reset", scenario="x") == "The records cannot be read at the moment."


def test_storage_failures_are_not_bad_arguments() -> None:
    assert not issubclass(StorageFailed, BadArgument)
