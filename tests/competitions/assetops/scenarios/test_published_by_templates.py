"""The published questions on the real records: templates, oracle and tools find what was published."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assetops_scenarios.published import published_questions
from assetops_scenarios.truth import ground_truth_of

from gauntlet_scoring.validation import ASSETOPS, Strength, check_text

pytestmark = pytest.mark.real_input
# Published answers; see the README of the data.
ANSWERS = {
    "400": {"work_orders": 33},
    "402": {"work_orders": 31},
    "403": {"work_orders": 2},
    "404": {"work_orders": 14, "alerts": 0, "anomalies": 0},
    "405": {"work_orders": 3, "alerts": 30, "anomalies": 30},
    "406": {"work_orders": 3, "alerts": 30, "anomalies": 30},
    "407": {"days_with_events": 82},
    "408": {"days_with_events": 26},
    "410": {"work_orders": 0, "alerts": 6, "anomalies": 0},
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("public")
    return folder


@pytest.fixture(scope="module")
def asked(imported: Path, shared: Path) -> dict[str, Any]:
    return {one.key: one.question for one in published_questions(shared / "data" / "assetops", imported)}


def test_the_oracle_finds_the_published_answers(asked: dict[str, Any]) -> None:
    assert {key: question.answer() for key, question in asked.items()} == ANSWERS


def test_the_texts_are_the_published_ones(asked: dict[str, Any], shared: Path) -> None:
    lines = (shared / "data" / "assetops" / "scenarios_152.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {str(row["id"]): row["text"] for row in map(json.loads, lines)}
    assert {key: question.text for key, question in asked.items()} == {key: texts[key] for key in ANSWERS}


def test_the_tools_find_them_too(asked: dict[str, Any], imported: Path, open_tools: Callable[[Path], Any]) -> None:
    tools = open_tools(imported)
    tools.begin("published")
    for key, question in asked.items():
        call = question.calls[-1]
        answer = tools.call(call.tool, **call.arguments)
        if call.tool == "list_workorders":
            assert {"work_orders": answer["total"]} == ANSWERS[key]
        elif call.tool == "list_events":
            assert list(answer["by_group"].values()) == list(ANSWERS[key].values())
        else:
            watched = [day for day in answer["days"] if day["ALERT"] or day["ANOMALY"]]
            assert {"days_with_events": len(watched)} == ANSWERS[key]


def test_their_ground_truth_is_valid(asked: dict[str, Any]) -> None:
    rows = [ground_truth_of(question, key).model_dump_json(exclude_none=True) + "\n" for key, question in asked.items()]
    report = check_text("".join(rows), name="ground_truth.jsonl", strength=Strength.STRICT, vocabulary=ASSETOPS)
    assert [str(finding) for finding in report.findings if finding.level == "error"] == []


def test_a_missing_source_is_an_error_and_not_an_empty_competition(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        published_questions(tmp_path / "nowhere", tmp_path / "data")
