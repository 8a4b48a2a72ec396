"""The faults of the guide's own examples (seed-systems, section 7, items 3 to 5), written anew.

Strict refuses each and says where; lenient reads each as what it means and says what it read as what.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from gauntlet_scoring.validation import OPEN, FindingClass, Level, Strength, check_text

FLAGS = dict.fromkeys(("name", "action", "arguments", "outputs"), True)


def step(name: str, action: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "action": action, "agent": "WOAgent", "deterministic": FLAGS, **fields}


def links(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"source": source, "target": target} for source, target in pairs]


def scenario(**fields: Any) -> dict[str, Any]:
    """Two pumps' overhauls are counted and compared: sound until a test spoils it."""
    return {
        "id": 900,
        "text": "Which of the pumps P1 and P2 was overhauled more often in 2021?",
        "type": "WO",
        "category": "Knowledge Query",
        "deterministic": True,
        "characteristic_form": "P2, with 7 overhauls against 4.",
        "planning_steps": [{"agent": "WOAgent", "instruction": "Count both pumps' overhauls and compare them."}],
        "execution_steps": [
            step("count_first", "count_overhauls", arguments={"pump": "P1"}, outputs=["first_count"]),
            step("count_second", "count_overhauls", arguments={"pump": "P2"}, outputs=["second_count"]),
            step("compare", "compare_counts", arguments={"of": ["@first_count", "@second_count"]}, outputs=["winner"]),
            step("finish", "Finish", arguments={"answer": "@winner"}),
        ],
        "execution_links": links(("count_first", "compare"), ("count_second", "compare"), ("compare", "finish")),
        "final_out": {"pump": "P2"},
        **fields,
    }


def check(row: Any, strength: Strength) -> Any:
    return check_text(json.dumps(row, indent=1), strength=strength, vocabulary=OPEN)


def spoil(change: Any) -> dict[str, Any]:
    row = copy.deepcopy(scenario())
    change(row)
    return row


def _without_agent(row: dict[str, Any]) -> None:
    del row["execution_steps"][3]["agent"]


def _argument(row: dict[str, Any]) -> None:
    row["execution_steps"][3]["argument"] = row["execution_steps"][3].pop("arguments")


def _outputs_as_text(row: dict[str, Any]) -> None:
    row["execution_steps"][3]["outputs"] = "P2 was overhauled more often."


def _outputs_as_object(row: dict[str, Any]) -> None:
    row["execution_steps"][2]["outputs"] = {"winner": "P2", "margin": 3}


def _outputs_empty(row: dict[str, Any]) -> None:
    row["execution_steps"][3]["outputs"] = ""


def _final_output(row: dict[str, Any]) -> None:
    row["final_output"] = row.pop("final_out")


def _no_form(row: dict[str, Any]) -> None:
    row["final_out_description"] = ["P2, with 7 overhauls against 4."]
    del row["characteristic_form"]


def _no_finish(row: dict[str, Any]) -> None:
    row["execution_steps"].pop()
    row["execution_links"].pop()


def _same_name(row: dict[str, Any]) -> None:
    row["execution_steps"][1]["name"] = "count_first"
    row["execution_links"] = links(("count_first", "count_first"), ("count_first", "compare"), ("compare", "finish"))


ITEM_3_TO_5 = [
    (_without_agent, FindingClass.STRUCTURAL, "execution_steps[3].agent", "read as 'WOAgent'"),
    (_argument, FindingClass.STRUCTURAL, "execution_steps[3].argument", "read as 'arguments'"),
    (_outputs_as_text, FindingClass.STRUCTURAL, "execution_steps[3].outputs", "one output"),
    (_outputs_as_object, FindingClass.STRUCTURAL, "execution_steps[2].outputs", "winner, margin"),
    (_outputs_empty, FindingClass.STRUCTURAL, "execution_steps[3].outputs", "no outputs"),
    (_final_output, FindingClass.STRUCTURAL, "final_output", "read as 'final_out'"),
    (_no_form, FindingClass.STRUCTURAL, "characteristic_form", "final_out_description is read in its place"),
    (_no_finish, FindingClass.LOGICAL, "execution_steps", "one is read after every step that nothing follows"),
    (_same_name, FindingClass.STRUCTURAL, "execution_steps[1].name", "read as 'count_first_2'"),
]


def test_the_example_is_sound_until_it_is_spoilt():
    assert check(scenario(), Strength.STRICT).findings == ()
    assert check(scenario(), Strength.LENIENT).findings == ()


@pytest.mark.parametrize(("change", "finding_class", "path", "words"), ITEM_3_TO_5)
def test_strict_refuses_each_fault_of_the_guide(change, finding_class, path, words):
    report = check(spoil(change), Strength.STRICT)
    assert not report.ok
    assert (finding_class, path) in {(found.finding_class, found.path) for found in report.of_level(Level.ERROR)}
    assert report.of_level(Level.REPAIR) == []


@pytest.mark.parametrize(("change", "finding_class", "path", "words"), ITEM_3_TO_5)
def test_lenient_reads_each_fault_of_the_guide_and_says_so(change, finding_class, path, words):
    report = check(spoil(change), Strength.LENIENT)
    assert report.ok, report.findings
    assert len(report.truths) == 1
    assert any(words in found.message for found in report.of_level(Level.REPAIR)), report.findings
    assert check(json.loads(report.truths[0].model_dump_json()), Strength.STRICT).ok


def test_a_missing_finish_follows_every_leaf():
    """The guide's 400 ends in two leaves and no Finish (item 4)."""
    row = spoil(_no_finish)
    row["execution_links"] = row["execution_links"][:1]  # count_second leads nowhere now
    (truth,) = check(row, Strength.LENIENT).truths
    assert truth.execution_steps[-1].action == "Finish"
    ends = {link.source for link in truth.execution_links if link.target == truth.execution_steps[-1].name}
    assert ends == {"compare", "count_second"}


def test_a_name_used_twice_becomes_a_chain_and_a_self_loop_its_link():
    """The guide's 502 repeats `history` and links it to itself (item 5)."""
    (truth,) = check(spoil(_same_name), Strength.LENIENT).truths
    assert [each.name for each in truth.execution_steps][:2] == ["count_first", "count_first_2"]
    assert [(link.source, link.target) for link in truth.execution_links] == [
        ("count_first", "count_first_2"),
        ("count_first_2", "compare"),
        ("compare", "finish"),
    ]


def test_an_id_used_for_two_scenarios_is_told_apart():
    """The guide has two scenarios 502 (item 5)."""
    rows = [scenario(id=502), scenario(id=502), scenario(id="502-2")]
    strict = check(rows, Strength.STRICT)
    assert [(found.path, found.scenario) for found in strict.of_level(Level.ERROR)] == [("id", "502")]
    lenient = check(rows, Strength.LENIENT)
    assert lenient.ok
    assert [truth.key for truth in lenient.truths] == ["502", "502-2", "502-2-2"]
    assert all("read as" in found.message for found in lenient.of_level(Level.REPAIR))
    assert len(lenient.of_level(Level.REPAIR)) == 2


def test_two_roots_are_right_and_a_step_that_no_link_touches_is_not():
    row = scenario()
    row["execution_steps"].append(step("log", "write_log"))
    (found,) = check(row, Strength.STRICT).findings
    assert (found.finding_class, found.rule, found.path) == (FindingClass.LOGICAL, "G13", "execution_steps[4]")


def test_every_finding_of_a_pretty_printed_array_has_its_own_line():
    rows = [scenario(id=1), spoil(_outputs_as_text)]
    text = json.dumps(rows, indent=1)
    expected = next(number for number, line in enumerate(text.split("\n"), start=1) if '"outputs": "P2 was' in line)
    (found,) = check(rows, Strength.STRICT).findings
    assert found.line == expected
    assert text.split("\n")[found.line - 1][found.column - 1 :].startswith('"P2 was')
