"""The execution program, run as its own process."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser

import pytest

CALL = ("get_work_orders", {"year": 2017}, False)
PLAN = [("WOAgent", "get the work orders")]
PATTERNS = ("tool_selection", "parameter", "missing_steps", "incorrect_sequencing", "premature_termination")


def shown(row):
    """The patterns that a scenario's detail shows."""
    return [name for name in PATTERNS if not all(check["holds"] for check in row["detail"][name])]


def test_the_reference_itself_is_best_everywhere_and_shows_no_pattern(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(calls=[CALL], plan=PLAN, data={"count": 33})
    run = run_program("execution", evaluation)
    assert (run.status, run.stderr) == (0, "")
    assert len(run.scores) == 15
    assert run.scores.pop("order_violations") == 0.0
    assert {value for key, value in run.scores.items() if key != "order_violations"} == {1.0}
    assert shown(run.scenarios[0]) == []
    assert run.provenance["execution_parts"] == "action_sequence node_f1 edge_f1 completeness argument_accuracy"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, new_evaluation, run_program):
    """docs/scoring.md, worked example: five episodes of one call and the answer."""
    evaluation = new_evaluation(tmp_path_factory.mktemp("execution") / "app")
    for key in range(1, 6):
        evaluation.truth(key)
    evaluation.answered(1, calls=[CALL], plan=PLAN, data={"count": 33})
    evaluation.answered(2, calls=[("echo_agent", {}, False)], plan=[], data={"count": 33})
    evaluation.answered(
        3, calls=[("get_work_orders", {"year": 2016}, False), ("get_work_orders", {"year": 2018}, True)], data={}
    )
    evaluation.failed(4, failure="time_limit", calls=["get_work_orders"])
    evaluation.failed(5, failure="infrastructure")
    run = run_program("execution", evaluation)
    assert run.status == 0, run.stderr
    return run


@pytest.mark.oracle
def test_the_worked_example_of_the_documentation(mixed):
    rows = {row["scenario"]: row["scores"] for row in mixed.scenarios}
    second = rows["2"]  # echo_agent and the answer, of the reference's call and answer
    assert second["action_sequence"] == 0.5
    assert second["node_f1"] == 0.5
    assert second["edge_f1"] == 0.0
    assert second["completeness"] == 0.5
    assert second["argument_accuracy"] == 0.0
    assert second["score"] == pytest.approx(1.5 / 5)
    assert second["tool_accuracy"] == 0.0
    third = rows["3"]  # the right tool with another year; the call that failed is no action
    assert third["score"] == pytest.approx((1 + 1 + 1 + 1 + 0) / 5)
    assert third["tool_accuracy"] == 0.5
    assert third["step_count_ratio"] == 0.5


def test_an_order_violation_is_worst_at_one(mixed):
    failed = next(row for row in mixed.scenarios if row["scenario"] == "4")
    assert failed["scores"].pop("order_violations") == 1.0
    assert set(failed["scores"].values()) == {0.0}


def test_every_pattern_is_told_with_its_reason(mixed):
    rows = {row["scenario"]: row for row in mixed.scenarios}
    assert shown(rows["1"]) == []
    assert shown(rows["2"]) == ["tool_selection", "missing_steps"]
    reason = rows["2"]["detail"]["tool_selection"][0]["reason"]
    assert reason == "echo_agent was called, which the reference does not use"
    assert "premature_termination" in shown(rows["3"])
    assert shown(rows["4"]) == ["parameter", "missing_steps", "premature_termination"]
    assert rows["4"]["detail"]["premature_termination"][0]["reason"] == (
        "the episode ended with time_limit and without an answer"
    )
    assert rows["4"]["detail"]["failure"] == "time_limit"


class _Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_counts_patterns_and_tools(mixed):
    counted = json.loads((mixed.output / "failure_patterns.json").read_text())
    assert counted["episodes"] == 4  # the platform's own failure says nothing about the agent
    assert counted["without_any"] == 1
    assert counted["patterns"]["missing_steps"] == 2
    assert counted["patterns"]["premature_termination"] == 2
    tools = {use["tool"]: use for use in counted["tools"]}
    assert (tools["get_work_orders"]["calls"], tools["get_work_orders"]["errors"]) == (4, 1)
    assert tools["get_work_orders"]["unanswered"] == 1
    page = (mixed.output / "detailed_results.html").read_text()
    found = _Text()
    found.feed(page)
    assert {"html", "main", "caption", "th", "table"} <= set(found.tags)
    assert "script" not in found.tags
    assert "Premature termination" in found.text


def test_names_in_a_report_are_no_html(evaluation, run_program):
    evaluation.truth("<script>")
    evaluation.answered("<script>", calls=[("<b>tool</b>", {}, False)])
    page = (run_program("execution", evaluation).output / "detailed_results.html").read_text()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;tool" in page


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ("completeness order_violations", "the part `order_violations` is in [0, 1] with less being better"),
        ("completeness speed", "declares no score `speed`"),
        ("completeness completeness", "names `completeness` twice"),
        ("score", "is a part of itself"),
        ('""', "needs at least one part"),
    ],
)
def test_a_composite_of_what_does_not_fit_is_refused_by_name(evaluation, tmp_path, parts, said, run_program, programs):
    folder = tmp_path / "execution"
    shutil.copytree(programs / "execution", folder)
    metadata = folder / "metadata.yaml"
    lines = metadata.read_text().splitlines()
    metadata.write_text("\n".join(f"  parts: {parts}" if line.startswith("  parts:") else line for line in lines))
    evaluation.truth()
    evaluation.answered(calls=[CALL])
    run = run_program(str(folder), evaluation)
    assert run.status == 1
    assert said in run.stderr
    assert not run.output.exists()


def test_other_parts_make_another_composite(evaluation, tmp_path, run_program, programs):
    folder = tmp_path / "execution"
    shutil.copytree(programs / "execution", folder)
    metadata = folder / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("parts: action_sequence node_f1 edge_f1", "parts: edge_f1"))
    evaluation.truth()
    evaluation.answered(calls=[("echo_agent", {}, False)])
    run = run_program(str(folder), evaluation)
    assert run.scores["score"] == pytest.approx((0 + 0.5 + 0) / 3)
