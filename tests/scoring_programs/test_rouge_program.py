"""The ROUGE program, run as its own process."""

from __future__ import annotations

import pytest

PLAN = [("WOAgent", "get the work orders")]


def test_the_reference_itself_scores_one(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(calls=[("get_work_orders", {"year": 2017}, False)], plan=PLAN)
    run = run_program("rouge", evaluation)
    assert run.status == 0, run.stderr
    measured = {key: value for key, value in run.scores.items() if "rouge" in key}
    assert len(measured) == 8
    assert set(measured.values()) == {1.0}
    assert run.provenance["package_rouge-score"]


@pytest.mark.oracle
def test_the_worked_example_of_the_documentation(evaluation, run_program):
    """docs/scoring.md: reference of 5 tokens, plan of 4, 3 in common and in order, one bigram in common."""
    evaluation.truth()
    evaluation.answered(plan=[("WOAgent", "get work orders")])
    evaluation.row(1, trial=2, outcome="failed", failure="agent_error")
    scores = run_program("rouge", evaluation)
    first = scores.scenarios[0]["scores"]
    assert first["plan_rouge1"] == pytest.approx(2 * (4 / 4) * (4 / 5) / (4 / 4 + 4 / 5))  # 8/9
    assert first["plan_rouge2"] == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))  # 4/7
    assert first["plan_rougeL"] == pytest.approx(8 / 9)
    assert first["plan_rougeLsum"] == pytest.approx(8 / 9)
    assert first["execution_rouge1"] == pytest.approx(2 * 1 * (1 / 6) / (1 + 1 / 6))  # Finish alone: 2/7
    assert scores.scores["plan_rouge1"] == pytest.approx(4 / 9)  # the second trial failed: 0


def test_no_plan_scores_zero_and_says_so(evaluation, run_program):
    evaluation.truth()
    evaluation.answered()
    run = run_program("rouge", evaluation)
    assert run.scores["plan_rougeL"] == 0.0
    assert run.scenarios[0]["detail"]["plan_reason"] == "no plan was recorded: 0"


def test_failed_calls_are_no_part_of_the_execution(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(calls=[("get_work_orders", {"year": 2017}, True)])
    assert run_program("rouge", evaluation).scenarios[0]["detail"]["execution_steps"] == 1  # Finish


def test_a_huge_plan_is_cut_and_the_detail_says_so(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(plan=[("WOAgent", "get the work orders " * 40_000)])
    run = run_program("rouge", evaluation)
    assert run.status == 0, run.stderr
    assert "20000 characters" in run.scenarios[0]["detail"]["plan_reason"]


def test_a_plan_in_another_script_is_compared(evaluation, run_program):
    instruction = "получить заказы на работу"
    evaluation.truth(planning_steps=[{"agent": "WOAgent", "instruction": instruction}])
    evaluation.answered(plan=[("WOAgent", instruction.upper())])
    assert run_program("rouge", evaluation).scores["plan_rouge2"] == 1.0


@pytest.mark.oracle
def test_plan_lengths_by_hand(evaluation, run_program):
    """A36 of the lengths 1, 4, 1, 0 and, of an episode that failed, 0: mean 1.2, squares 0.04 + 7.84 + 0.04 + 2.88."""
    for key, count in enumerate((1, 4, 1, 0), start=1):
        evaluation.truth(key)
        evaluation.answered(key, plan=PLAN * count)
    evaluation.truth(5)
    evaluation.failed(5, failure="agent_error")
    run = run_program("rouge", evaluation)
    assert run.scores["plan_length"] == pytest.approx(1.2)
    assert run.scores["plan_length_std"] == pytest.approx((10.8 / 4) ** 0.5)
    assert (run.scores["plan_length_min"], run.scores["plan_length_max"], run.scores["plan_length_zero"]) == (0, 4, 2)
    assert [row["scores"]["plan_length"] for row in run.scenarios] == [1, 4, 1, 0, 0]
    assert "plan_length_std" not in run.scenarios[0]["scores"]  # one episode has no spread
