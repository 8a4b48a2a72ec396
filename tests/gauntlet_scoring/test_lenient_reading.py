"""The spellings of real files: what lenient reading makes of each, and what it leaves alone."""

from __future__ import annotations

import json

import pytest

from gauntlet_scoring.validation import ASSETOPS, FindingClass, Level, Strength, check_text

FLAGS = dict.fromkeys(("name", "action", "arguments", "outputs"), True)


def row(**fields):
    return {
        "id": 103,
        "text": "List all failure modes of the asset Chiller 6.",
        "type": "FMSR",
        "category": "Knowledge Query",
        "deterministic": True,
        "characteristic_form": "The 7 failure modes of a chiller, 'Purge unit excessive purge' among them.",
        "planning_steps": [{"agent": "FMSRAgent", "instruction": "List the failure modes."}],
        "execution_steps": [
            {
                "name": "list_modes",
                "action": "get_failure_modes",
                "agent": "FMSRAgent",
                "arguments": {"asset_name": "Chiller 6"},
                "outputs": ["failure_modes"],
                "deterministic": FLAGS,
            },
            {"name": "finish", "action": "Finish", "agent": "FMSRAgent", "arguments": "", "outputs": []},
        ],
        "execution_links": [{"source": "list_modes", "target": "finish"}],
        **fields,
    }


def spoilt(change):
    content = row()
    change(content)
    return content


def check(content, strength=Strength.LENIENT):
    return check_text(json.dumps(content), strength=strength, vocabulary=ASSETOPS)


def setter(*location_and_value):
    *location, value = location_and_value

    def change(content):
        for part in location[:-1]:
            content = content[part]
        content[location[-1]] = value

    return change


def test_what_is_right_needs_no_repair():
    assert check(row()).findings == ()
    assert check(row(), Strength.STRICT).findings == ()


@pytest.mark.parametrize(
    ("change", "read"),
    [
        (setter("type", "FMSA"), ("type", "FMSR")),
        (setter("type", "FMSRAgent"), ("type", "FMSR")),
        (setter("type", ""), ("type", "FMSR")),
        (setter("category", "knowledge_query"), ("category", "Knowledge Query")),
        (setter("deterministic", "yes"), ("deterministic", True)),
        (setter("group", "retrospective;predictive"), ("group", "predictive")),
        (setter("final_out", ["a"]), ("final_out", {"answer": ["a"]})),
        (setter("final_out_description", "seven"), ("final_out_description", ["seven"])),
        (setter("planning_steps", 0, "agent", "FMSAAgent"), ("planning_steps", 0, "agent", "FMSRAgent")),
        (setter("execution_steps", 0, "agent", "FMSA"), ("execution_steps", 0, "agent", "FMSRAgent")),
        (
            setter("execution_steps", 0, "action", "Get Failure Modes"),
            ("execution_steps", 0, "action", "get_failure_modes"),
        ),
        (setter("execution_steps", 1, "action", "finish"), ("execution_steps", 1, "action", "Finish")),
        (setter("execution_steps", 1, "arguments", None), ("execution_steps", 1, "arguments", {})),
        (setter("execution_steps", 0, "deterministic", False), ("execution_steps", 0, "deterministic", "name", False)),
        (setter("execution_links", [["list_modes", "finish"]]), ("execution_links", 0, "target", "finish")),
        (
            setter("execution_links", [{"from": "list_modes", "to": "finish"}]),
            ("execution_links", 0, "source", "list_modes"),
        ),
    ],
)
def test_each_spelling_is_read_as_what_it_means(change, read):
    content = spoilt(change)
    report = check(content)
    assert report.ok, report.findings
    (repair,) = report.of_level(Level.REPAIR)
    assert "read as" in repair.message or "are read as" in repair.message
    *location, expected = read
    value = json.loads(report.truths[0].model_dump_json())
    for part in location:
        value = value[part]
    assert value == expected
    strict = check(content, Strength.STRICT)
    assert not strict.ok
    assert strict.of_level(Level.REPAIR) == []


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("Workorder", "WO"),
        ("WorkOrder", "WO"),
        ("WOAgent", "WO"),
        ("FMSA", "FMSR"),
        ("IoTAgent", "IoT"),
        ("E2E", "multiagent"),
    ],
)
def test_every_type_has_one_spelling_and_the_others_are_repairs_of_the_domain(spelling, meant):
    report = check(row(type=spelling, planning_steps=[], execution_steps=[], execution_links=[]))
    (repair,) = report.of_level(Level.REPAIR)
    assert (repair.finding_class, repair.path) == (FindingClass.DOMAIN, "type")
    assert f"{spelling!r} is read as {meant!r}" in repair.message


def test_what_the_competitions_files_call_an_utterance_is_the_text():
    content = row()
    content["utterance"] = content.pop("text")
    report = check(content)
    assert report.truths[0].text == row()["text"]


def test_an_unknown_field_is_left_out_with_a_warning():
    report = check(row(paired_with=3))
    (found,) = report.of_level(Level.WARNING)
    assert (found.path, report.ok, len(report.truths)) == ("paired_with", True, 1)
    assert not check(row(paired_with=3), Strength.STRICT).ok


def test_nothing_is_invented_where_there_is_nothing_to_read():
    content = row()
    for field in ("planning_steps", "execution_steps", "execution_links"):
        del content[field]
    report = check(content)
    assert report.truths == ()
    assert {(found.path, found.rule) for found in report.of_level(Level.ERROR)} == {
        ("planning_steps", "G11"),
        ("execution_steps", "G11"),
        ("execution_links", "G11"),
    }


def test_a_step_whose_agent_could_be_any_of_several_stays_without():
    content = row(
        planning_steps=[{"agent": "IoTAgent", "instruction": "a"}, {"agent": "FMSRAgent", "instruction": "b"}]
    )
    del content["execution_steps"][0]["agent"]
    report = check(content)
    assert any(found.path == "execution_steps[0].agent" for found in report.of_level(Level.ERROR))


def test_the_file_that_was_given_is_not_changed():
    content = row(type="FMSA")
    text = json.dumps(content)
    check_text(text, strength=Strength.LENIENT)
    assert json.dumps(content) == text
