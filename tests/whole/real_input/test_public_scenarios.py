"""The validator on the 152 public scenarios: they lack plans, and two expect another thing than they ask for."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from gauntlet_scoring.validation import FindingClass, Level, Strength, check_file
from gauntlet_scoring.validation.findings import Report

pytestmark = pytest.mark.real_input
SHARED = Path(os.environ.get("GAUNTLET_SHARED", Path(__file__).resolve().parents[4] / "shared"))
FILE = SHARED / "data" / "assetops" / "scenarios_152.jsonl"
PLANS = ("planning_steps", "execution_steps", "execution_links")


def read(strength: Strength) -> Report:
    return check_file(FILE, strength=strength)


def scenarios(report: Report, rule: str) -> list[str | None]:
    return [found.scenario for found in report.findings if found.rule == rule]


@pytest.mark.parametrize("strength", Strength)
def test_every_scenario_lacks_its_plan_steps_and_links(strength: Strength) -> None:
    report = read(strength)
    missing = Counter(found.path for found in report.of_class(FindingClass.STRUCTURAL) if found.path in PLANS)
    assert missing == dict.fromkeys(PLANS, 152)
    assert (report.scenarios, report.truths, report.ok) == (152, (), False)


def test_lenient_reading_finds_nothing_wrong_but_the_missing_plans() -> None:
    counts = read(Strength.LENIENT).counts()
    assert {each: levels[Level.ERROR] for each, levels in counts.items()} == {
        FindingClass.STRUCTURAL: 456,
        FindingClass.SEMANTIC: 0,
        FindingClass.LOGICAL: 0,
        FindingClass.DOMAIN: 0,
    }
    assert counts[FindingClass.DOMAIN][Level.REPAIR] == 67  # 47 Workorder, 20 FMSA
    assert counts[FindingClass.STRUCTURAL][Level.REPAIR] == 9  # several groups in one


def test_strict_refuses_the_spellings_that_lenient_repairs() -> None:
    counts = read(Strength.STRICT).counts()
    assert counts[FindingClass.DOMAIN][Level.ERROR] == 67
    assert counts[FindingClass.STRUCTURAL][Level.ERROR] == 456 + 9


def test_the_two_questions_of_issue_311_are_found_and_no_other_is() -> None:
    assert scenarios(read(Strength.LENIENT), "noun") == ["111", "609"]


def test_four_scenarios_speak_of_another_year_than_their_question() -> None:
    assert sorted(scenarios(read(Strength.LENIENT), "year"), key=str) == ["42", "43", "45", "48"]


def test_vague_expectations_are_told() -> None:
    assert scenarios(read(Strength.LENIENT), "G19") == [
        *("103", "105", "115", "116", "117", "120"),  # repeat the question
        *("409", "427", "428", "431", "432"),  # "depends on the LLM"
        *("613", "614", "615", "617", "620"),
    ]
    assert len(scenarios(read(Strength.LENIENT), "G16")) == 19  # deterministic, and no exact answer anywhere
