"""A scenario file, which agents see, gives away nothing of what is expected."""

from __future__ import annotations

import json

import pytest

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation.findings import FindingClass, Level
from gauntlet_scoring.validation.leaks import check_scenarios_text

TRUTH = GroundTruth.model_validate(
    {
        "id": "s-1",
        "text": "How many orders did pump P1 have in 2021, and which code most often?",
        "type": "WO",
        "category": "Data Query",
        "deterministic": True,
        "characteristic_form": "There are 33 orders, most of them for sealing.",
        "planning_steps": [{"agent": "WOAgent", "instruction": "Count the orders of the pump by code."}],
        "execution_steps": [{"name": "finish", "action": "Finish", "agent": "WOAgent"}],
        "execution_links": [],
        "final_out": {"orders": 33, "code": "MT010", "share": 0.25, "pumps": {"name": "P1"}, "few": 2, "exact": True},
    }
)
SCENARIO = {
    "id": "s-1",
    "text": TRUTH.text,
    "category": "Data Query",
    "public": True,
    "show": {"answer_format": {"orders": "a whole number", "code": "a code"}, "pump": "P1", "limit": 2},
}


def check(row, *, truths=(TRUTH,)):
    return check_scenarios_text(json.dumps(row), truths=truths)


def shown(**fields):
    return {**SCENARIO, "show": {**SCENARIO["show"], **fields}}


def test_a_scenario_that_says_only_the_form_of_the_answer_is_fine():
    assert check(SCENARIO).findings == ()


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({**SCENARIO, "final_out": {"orders": 1}}, "final_out"),
        ({**SCENARIO, "characteristic_form": "x"}, "characteristic_form"),
        (shown(planning_steps=[]), "show.planning_steps"),
        (shown(hints={"deep": [{"Expected-Answer": 1}]}), "show.hints.deep[0].Expected-Answer"),
        (shown(meta={"executionSteps": []}), "show.meta.executionSteps"),
        (shown(answer=3), "show.answer"),
        (shown(steps=["a"]), "show.steps"),
        (shown(ground_truth=None), "show.ground_truth"),
    ],
)
def test_a_field_of_the_ground_truth_is_found_at_any_depth(row, path):
    (found,) = check(row, truths=()).findings
    assert (found.level, found.finding_class, found.path) == (Level.ERROR, FindingClass.STRUCTURAL, path)


@pytest.mark.parametrize(
    ("row", "path", "level", "words"),
    [
        (shown(hint="Hint: there are 33 orders, most of  them for SEALING!"), "show.hint", Level.ERROR, "form"),
        ({**SCENARIO, "text": "q? " + TRUTH.characteristic_form}, "text", Level.ERROR, "form"),
        (shown(todo=["first", "Count the orders of the pump by code"]), "show.todo[1]", Level.ERROR, "plan"),
        (shown(defaults={"orders": 33.0}), "show.defaults.orders", Level.ERROR, "final_out.orders"),
        (shown(defaults={"Code": "mt010 "}), "show.defaults.Code", Level.ERROR, "final_out.code"),
        (shown(few=2), "show.few", Level.ERROR, "final_out.few"),
        (shown(hint="MT010"), "show.hint", Level.WARNING, "final_out.code"),
        (shown(batch=33), "show.batch", Level.WARNING, "final_out.orders"),
        (shown(ratio=0.25), "show.ratio", Level.WARNING, "final_out.share"),
    ],
)
def test_what_the_ground_truth_says_is_found(row, path, level, words):
    (found,) = check(row).findings
    assert (found.level, found.finding_class, found.path) == (level, FindingClass.SEMANTIC, path)
    assert words in found.message


@pytest.mark.parametrize(
    "row",
    [
        shown(choices=["MT010", "MT013", "MT001"]),  # to choose from
        shown(rounding=2),  # a small number may stand anywhere
        shown(asset="P1"),  # the question says it itself
        shown(exact_numbers=True),
        {**SCENARIO, "text": TRUTH.text + " Count the orders of the pump."},
    ],
)
def test_what_may_stand_there_by_chance_is_left_alone(row):
    assert check(row).findings == ()


def test_findings_have_line_and_column():
    rows = [SCENARIO, shown(answer=3)]
    report = check_scenarios_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]", truths=[TRUTH])
    (found,) = report.findings
    assert (found.line, found.scenario, report.scenarios) == (3, "s-1", 2)
    assert json.dumps(rows[1])[found.column - 1 :].startswith("3}")


def test_a_file_that_is_no_scenario_file_is_told():
    assert not check_scenarios_text("[3]").ok
    assert not check_scenarios_text("{").ok
