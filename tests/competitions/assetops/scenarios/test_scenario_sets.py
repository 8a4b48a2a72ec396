"""Sets of questions: of the public sizes, over all categories and stages, valid, and silent about their answers."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from assetops_data import Size, write_site
from assetops_scenarios import iot_questions, scenario_set
from assetops_scenarios.bundle import picker_of
from assetops_scenarios.question import scenario_of, show_agents, show_answer
from assetops_scenarios.scenario_set import MIX, SIZES, NotEnough, draw_set
from assetops_scenarios.truth import type_of

from gauntlet_scoring.ground_truth import AbstainsCheck
from gauntlet_scoring.validation import ASSETOPS, Strength, check_text
from gauntlet_scoring.validation.leaks import check_scenarios_text
from gauntlet_scoring.validation.vocabulary import CATEGORIES

GENERATOR = Path(__file__).resolve().parents[4] / "competitions" / "assetops" / "generator" / "assetops_scenarios"


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_whole_set_has_the_public_sizes(whole: Any) -> None:
    assert Counter(type_of(one.question) for one in whole.asked) == SIZES
    assert sum(SIZES.values()) == 141
    assert len({one.question.text.casefold() for one in whole.asked}) == 141


def test_every_category_stage_and_capability_is_there(whole: Any) -> None:
    questions = [one.question for one in whole.asked]
    assert {one.category for one in questions} == set(CATEGORIES)
    assert {one.stage for one in questions} == {1, 2, 3, 4}
    assert {flag for one in questions for flag in one.capabilities} == {
        "temporal",
        "disambiguation",
        "operation_on_output",
        "repeated_tool",
    }


def test_the_strict_validator_finds_nothing(whole: Any) -> None:
    rows = [truth.model_dump(mode="json", exclude_none=True) for truth in whole.truths]
    report = check_text(lines(rows), name="ground_truth.jsonl", strength=Strength.STRICT, vocabulary=ASSETOPS)
    assert [str(finding) for finding in report.findings] == []


@pytest.mark.parametrize("track", ["planning", "execution"])
def test_no_scenario_gives_its_answer_away(whole: Any, track: str) -> None:
    rows = [
        scenario_of(
            one.question,
            one.key,
            public=False,
            show=show_answer(one.question) if track == "execution" else show_agents(distractors=True),
        )
        for one in whole.asked
    ]
    assert [str(finding) for finding in check_scenarios_text(lines(rows), truths=whole.truths).findings] == []


def test_questions_speak_as_operators_and_not_as_tables(whole: Any) -> None:
    names = set()
    for table in whole.folder.glob("*.csv"):
        names |= set(table.read_text(encoding="utf-8").splitlines()[0].split(","))
    schema = {name for name in names if "_" in name} | {"assetnum", "WORK_ORDER", "ALERT", "ANOMALY"}
    for one in whole.asked:
        text = one.question.text
        for dataset in one.question.datasets:
            text = text.replace(dataset.name, "")
        assert not [name for name in schema if re.search(rf"\b{re.escape(name)}\b", text)], one.question.text
        assert "_" not in text, one.question.text


def test_every_declined_question_has_a_near_twin_that_can_be_answered(whole: Any) -> None:
    by_key = {one.key: one for one in whole.asked}
    declined = [one for one in whole.asked if one.question.declined]
    assert len({one.question.template for one in declined}) >= 7
    for one in declined:
        twin = by_key[one.twin]
        assert twin.twin == one.key
        assert not twin.question.declined
        assert show_answer(one.question).keys() == show_answer(twin.question).keys()


def test_what_is_declined_and_what_is_answered_are_checked_apart(whole: Any) -> None:
    for one, truth in zip(whole.asked, whole.truths, strict=True):
        assert truth.checks is not None
        wanted = [check.value for check in truth.checks.task_completion if isinstance(check, AbstainsCheck)]
        assert wanted == [one.question.declined]
        assert (truth.final_out == {"abstain": True}) == one.question.declined


def test_the_long_horizon_questions_span_the_whole_record(whole: Any) -> None:
    found = {one.question.template: one.question for one in whole.asked}
    for template in ("repair_or_replace", "top_descriptions", "yearly_outlook"):
        years = [int(year) for year in re.findall(r"\b20\d\d\b", found[template].text)]
        assert max(years) - min(years) >= 9, found[template].text
    assert {"alert_to_repair", "alert_and_repair_months", "steepest_rule", "next_job"} <= set(found)


def test_a_part_of_the_set_keeps_its_proportions_and_its_twins(tmp_path: Path) -> None:
    recorded = write_site(tmp_path / "data", seed=b"a third site", size=Size(telemetry_days=365))
    picker = picker_of(tmp_path / "data", key=b"k", injected=recorded.injected)
    asked = draw_set(picker, size=24, prefix="q")
    assert Counter(type_of(one.question) for one in asked) == {
        "IoT": 3,
        "FMSR": 3,
        "TSFM": 4,
        "WO": 6,
        "multiagent": 7,
    } | {"IoT": 4}
    keys = {one.key for one in asked}
    assert all(one.twin in keys for one in asked if one.twin)


def test_a_kind_without_further_questions_is_replaced_and_a_type_without_them_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_site(tmp_path / "data", seed=b"a short record", size=Size(telemetry_days=30))
    picker = picker_of(tmp_path / "data", key=b"k")  # nothing is known of anomalies: none can be asked about
    monkeypatch.setattr(
        scenario_set, "MIX", {**MIX, "IoT": ((iot_questions.sites, 6), (iot_questions.asset_details, 0))}
    )
    asked = draw_set(picker, size=40, prefix="q")
    assert len(asked) == 40
    assert "anomalies_of_days" not in {one.question.template for one in asked}
    monkeypatch.setattr(scenario_set, "MIX", {**MIX, "IoT": ((iot_questions.sites, 6),)})
    with pytest.raises(NotEnough, match="different questions of a type"):
        draw_set(picker, size=40, prefix="q")


def test_the_oracle_knows_nothing_of_the_tools() -> None:
    for name in ("records", "work_oracle", "sensor_oracle"):
        tree = ast.parse((GENERATOR / f"{name}.py").read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
        allowed = {"__future__", "dataclasses", "datetime", "functools", "json", "pathlib", "re", "typing", "pandas"}
        assert imported <= allowed | {"assetops_scenarios.records"}, name
