"""The strict rules G15 to G19: agents, tools and types of the domain, determinism, names, vague expectations."""

from __future__ import annotations

import copy
import json

import pytest

from gauntlet_scoring.validation import ASSETOPS, MCP, OPEN, FindingClass, Level, check_text
from gauntlet_scoring.validation.vocabulary import CATEGORIES, MCP_SERVER_TYPES, Vocabulary, read_vocabulary

FLAGS = dict.fromkeys(("name", "action", "arguments", "outputs"), True)
NOT = dict.fromkeys(("name", "action", "arguments", "outputs"), False)


def step(name, action, agent, **fields):
    return {"name": name, "action": action, "agent": agent, "deterministic": FLAGS, **fields}


HISTORY = {"site_name": "MAIN", "assetnum": "Chiller 6", "start": "2020-06-01"}
SOUND = {
    "id": "ex-1",
    "text": "What was the mean tonnage of Chiller 6 in June 2020?",
    "type": "IoT",
    "category": "Data Query",
    "deterministic": True,
    "characteristic_form": "One number in tons, 412.7 within 0.5.",
    "planning_steps": [{"agent": "IoTAgent", "instruction": "Read the tonnage and take its mean."}],
    "execution_steps": [
        step("get_history", "history", "IoTAgent", arguments=HISTORY, outputs=["history_file"]),
        step("read_rows", "jsonreader", "IoTAgent", arguments={"file_name": "@history_file"}, outputs=["readings"]),
        step("finish", "Finish", "IoTAgent", arguments={"answer": {"mean": 412.7}}),
    ],
    "execution_links": [
        {"source": "get_history", "target": "read_rows"},
        {"source": "read_rows", "target": "finish"},
    ],
    "final_out": {"mean": 412.7},
}


def changed(**places):
    """The sound scenario; `steps_0_action="x"` sets execution_steps[0].action."""
    row = copy.deepcopy(SOUND)
    for name, value in places.items():
        parts = name.replace("steps_", "execution_steps__").replace("plan_", "planning_steps__").split("__")
        *way, last = [*parts[:1], *(part for each in parts[1:] for part in each.split("_", 1))]
        target = row
        for part in way:
            target = target[int(part) if part.isdigit() else part]
        target[int(last) if last.isdigit() else last] = value
    return row


def findings(row, vocabulary=ASSETOPS):
    return check_text(json.dumps(row), vocabulary=vocabulary).findings


def test_a_sound_scenario_has_no_finding():
    assert findings(SOUND) == ()


@pytest.mark.parametrize(
    ("places", "path", "words"),
    [
        ({"steps_0_agent": "IoTAgnet"}, "execution_steps[0].agent", "did you mean 'IoTAgent'"),
        ({"plan_0_agent": "Planner"}, "planning_steps[0].agent", "no agent is named 'Planner'"),
        ({"steps_0_action": "histroy"}, "execution_steps[0].action", "did you mean 'history'"),
        ({"steps_0_action": "get_failure_modes"}, "execution_steps[0].action", "it is one of FMSRAgent"),
        ({"steps_0_action": "fmsr/get_failure_modes"}, "execution_steps[0].action", "is not that of 'IoTAgent'"),
        ({"steps_0_action": "nowhere/history"}, "execution_steps[0].action", "no server is named 'nowhere'"),
        ({"steps_0_arguments": {**HISTORY, "end": "x"}}, "execution_steps[0].arguments.end", "no argument 'end'"),
        ({"steps_0_arguments": {"start": "x"}}, "execution_steps[0].arguments", "'site_name', 'assetnum'"),
        ({"type": "Pumps"}, "type", "no type is named 'Pumps'"),
        ({"type": "WO"}, "type", "is not that of its agent"),
        ({"type": "multiagent"}, "type", "only IoTAgent works on it"),
        ({"plan_0_agent": "WOAgent"}, "type", "must be 'multiagent'"),
        ({"category": "Data Querry"}, "category", "did you mean 'Data Query'"),
    ],
)
def test_what_the_domain_does_not_have_is_refused(places, path, words):
    found = [each for each in findings(changed(**places)) if each.path == path]
    assert [(each.finding_class, each.level) for each in found] == [(FindingClass.DOMAIN, Level.ERROR)]
    assert words in found[0].message


def test_an_open_vocabulary_knows_no_domain():
    row = changed(steps_0_action="anything", steps_0_agent="Anyone", type="Pumps", category="Any")
    assert findings(row, OPEN) == ()


@pytest.mark.parametrize("action", ["history", "iot/history"])
def test_both_spellings_of_a_servers_tool_are_right_in_the_multi_mcp_reading(action):
    row = changed(type="iot", steps_0_action=action, steps_1_action="utilities/jsonreader")
    for each in (*row["planning_steps"], *row["execution_steps"]):
        each["agent"] = "iot"
    assert findings(row) == ()


def test_a_tool_that_every_agent_has_makes_no_second_agent():
    assert findings(changed(steps_1_agent="utilities")) == ()


@pytest.mark.parametrize(
    ("uri", "right"),
    [
        ("file:///data/a.csv", True),
        ("db://host/table", True),
        ("@history_file", True),
        ("a.csv", False),
        ("file://", False),
        ("http://[", False),
    ],
)
def test_a_resource_is_named_by_a_uri(uri, right):
    row = changed(steps_1_arguments={"resource_uri": uri})
    found = [each for each in findings(row, OPEN) if each.rule == "G10"]
    assert (found == []) is right
    assert {each.path for each in found} <= {"execution_steps[1].arguments.resource_uri"}


def test_the_guides_categories_and_server_types_are_all_there():
    assert len(CATEGORIES) == 8
    assert len(MCP_SERVER_TYPES) == 10


@pytest.mark.parametrize(
    ("type_", "read", "agent", "words"),
    [
        ("multi-mcp", "read_file", "filesystem", None),
        ("multi-mcp", "filesystem/read_file", "filesystem", None),
        ("multiagent", "read_file", "filesystem", None),
        ("filesystem", "read_file", "filesystem", "must be 'multiagent'"),
        ("multi-mcp", "read_file", "file-system", "did you mean 'filesystem'"),
        ("multi-mcp", "slack/read_file", "filesystem", "is not that of 'filesystem'"),
    ],
)
def test_the_guides_server_types_have_any_tool(type_, read, agent, words):
    """The shape of the guide's multi-MCP pattern: a file is read, a database asked, both over servers."""
    arguments = {"resource_uri": "file:///data/members.csv"}
    row = {
        **SOUND,
        "type": type_,
        "text": "Which members of the file are unknown to the database?",
        "planning_steps": [{"agent": "database", "instruction": "Look for every member of the file."}],
        "execution_steps": [
            step("read_members", read, agent, arguments=arguments, outputs=["members"]),
            step(
                "ask_database", "query", "database", arguments={"sql": "… IN (@members)"}, outputs=["unknown_members"]
            ),
            step("finish", "Finish", "database", arguments="@unknown_members"),
        ],
        "execution_links": [
            {"source": "read_members", "target": "ask_database"},
            {"source": "ask_database", "target": "finish"},
        ],
    }
    found = [each for each in findings(row, MCP) if each.level is Level.ERROR]
    assert (words is None and not found) or any(words in each.message for each in found)


def one_warning(row, vocabulary=ASSETOPS):
    (found,) = findings(row, vocabulary)
    assert (found.finding_class, found.level) == (FindingClass.SEMANTIC, Level.WARNING)
    return found


def test_inference_of_a_model_is_not_deterministic():
    arguments = dict.fromkeys(("dataset_path", "model_checkpoint", "timestamp_column", "target_columns"), "x")
    row = changed(steps_1_action="tsfm_forecasting", steps_1_arguments=arguments, steps_1_outputs=["forecast"])
    row = json.loads(json.dumps(row).replace("IoTAgent", "TSFMAgent").replace('"history"', '"aitasks"'))
    row |= {"type": "TSFM"}
    row["execution_steps"][0] |= {"arguments": {}, "outputs": ["tasks"]}
    assert one_warning(row).rule == "G17"
    row["execution_steps"][1]["deterministic"] = {**FLAGS, "outputs": False}
    assert findings(row) == ()


@pytest.mark.parametrize("action", ["LLM.generate_json", "ask_model", "llm/complete"])
def test_a_call_of_a_language_model_is_not_deterministic_in_any_domain(action):
    assert one_warning(changed(steps_1_action=action), OPEN).rule == "G17"


def test_a_retrieval_that_is_marked_as_free_and_a_step_without_flags_are_noted():
    (found,) = findings(changed(steps_0_deterministic=NOT))
    assert (found.level, found.rule, found.path) == (Level.NOTE, "G17", "execution_steps[0].deterministic")
    row = changed()
    del row["execution_steps"][0]["deterministic"]
    (found,) = findings(row)
    assert (found.level, found.rule, found.path) == (Level.NOTE, "G17", "execution_steps[0]")


@pytest.mark.parametrize("name", ["result", "output", "data", "data_2", "final_result", "@response", "my_value", "x"])
def test_generic_variables_are_warned_of(name):
    found = one_warning(changed(steps_1_outputs=[name]))
    assert (found.rule, found.path) == ("G18", "execution_steps[1].outputs[0]")


@pytest.mark.parametrize("name", ["work_orders", "sensor_data", "forecast_results", "date_range", "equipment"])
def test_names_that_the_guide_holds_up_are_right(name):
    assert findings(changed(steps_1_outputs=[name])) == ()


def test_steps_that_are_only_numbered_are_warned_of():
    row = json.loads(json.dumps(SOUND).replace("read_rows", "step2"))
    assert one_warning(row).path == "execution_steps[1].name"


def test_a_file_that_nobody_reads_before_the_answer_misses_a_step():
    row = changed()
    del row["execution_steps"][1]
    row["execution_links"] = [{"source": "get_history", "target": "finish"}]
    found = one_warning(row)
    assert (found.rule, found.path) == ("G18", "execution_steps[0].outputs[0]")
    assert findings({**row, "characteristic_form": "A reference to the file with 2880 rows."}) == ()


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"characteristic_form": "The right answer to the question."}, "G19"),
        ({"characteristic_form": "The response should give the mean tonnage of Chiller 6."}, "G19"),
        ({"characteristic_form": "An appropriate recommendation of maintenance with a rationale."}, "G19"),
        ({"characteristic_form": "It depends on the model that is used."}, "G19"),
        ({"deterministic": False, "characteristic_form": "A list of meaningful values."}, "G19"),
    ],
)
def test_vague_expectations_are_warned_of(fields, rule):
    assert one_warning({**SOUND, **fields}).rule == rule


@pytest.mark.parametrize(
    "form",
    [
        "There are 33 records.",
        "No: the plant has no such machine.",
        "The codes 'MT010' and 'MT013', the former three times.",
        "At least one recommendation that names a primary failure code and explains which anomaly it addresses.",
    ],
)
def test_specific_expectations_are_not(form):
    assert findings({**SOUND, "characteristic_form": form}) == ()


def test_a_deterministic_scenario_needs_an_exact_answer_somewhere():
    form = "The arithmetic average over every quarter-hourly reading, gaps left out, in tons."
    assert findings({**SOUND, "characteristic_form": form}) == ()
    assert one_warning({**SOUND, "characteristic_form": form, "final_out": None}).rule == "G16"
    (found,) = findings({**SOUND, "characteristic_form": " "})
    assert (found.level, found.rule) == (Level.ERROR, "G16")


def test_a_condition_whose_ways_lead_nowhere_is_warned_of():
    arguments = {"condition": "readings > 3", "then_action": "finish", "else_action": "wait"}
    row = changed(steps_1_action="if_then_else", steps_1_arguments=arguments)
    found = [each for each in findings(row) if each.rule == "G7"]
    assert [each.path for each in found] == ["execution_steps[1].arguments.else_action"]


def test_nothing_follows_finish():
    row = changed()
    row["execution_links"].append({"source": "finish", "target": "read_rows"})
    assert "G18" in {each.rule for each in findings(row) if each.level is Level.ERROR}


def test_a_reference_without_its_sign_is_warned_of_only_where_it_comes_too_early():
    row = changed(steps_0_arguments={**HISTORY, "final": "readings"})
    (found,) = findings(row)
    assert (found.level, found.rule) == (Level.WARNING, "G14")
    assert findings(changed(steps_1_arguments={"file_name": "history_file"})) == ()
    inside = changed(steps_1_arguments={"file_name": "file://@history_file", "offset": "mail@readings.org"})
    assert findings(inside) == ()


def test_a_vocabulary_of_ones_own_is_read_from_its_file(tmp_path):
    path = tmp_path / "vocabulary.json"
    own = {"agents": {"PumpAgent": {"type": "Pumps", "server": "pumps", "tools": {"count": {"required": ["pump"]}}}}}
    path.write_text(json.dumps(own))
    found = read_vocabulary(path)
    assert found == Vocabulary.model_validate(own)
    assert {each.path for each in findings(SOUND, found) if each.rule == "G15"} >= {"type", "execution_steps[0].agent"}
