"""The rubric program, run as its own process."""

from __future__ import annotations

import pytest

RIGHT_CALL = ("get_work_orders", {"year": 2017, "equipment": "CWC04013"}, False)


def test_a_right_episode_scores_one_everywhere(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(calls=[RIGHT_CALL], data={"count": 33})
    run = run_program("rubric", evaluation)
    assert run.status == 0, run.stderr
    assert run.scores == {
        "score": 1.0,
        "task_completion": 1.0,
        "data_retrieval_accuracy": 1.0,
        "result_verification": 1.0,
        "answered": 1.0,
    }
    assert run.stderr == ""


def test_the_worked_example_of_the_documentation(evaluation, run_program):
    """docs/scoring.md: four episodes; (3/3 + 1/3 + 0 + 0) / 4 = 1/3."""
    for key in (1, 2, 3, 4):
        evaluation.truth(key)
    evaluation.answered(1, calls=[RIGHT_CALL], data={"count": 33})
    evaluation.answered(2, calls=[], data={"count": 32}, text="I called get_work_orders for 2017 and found 33")
    evaluation.failed(3, failure="time_limit")
    evaluation.failed(4, failure="infrastructure")
    run = run_program("rubric", evaluation)
    assert run.status == 0, run.stderr
    assert run.scores["score"] == pytest.approx(1 / 3, abs=1e-12)
    assert run.scores["task_completion"] == 0.5
    assert run.scores["data_retrieval_accuracy"] == 0.25
    assert run.scores["result_verification"] == 0.25
    assert run.scores["answered"] == 0.5
    assert [row["scenario"] for row in run.scenarios] == ["1", "2", "3"]
    assert run.scenarios[2]["scores"]["score"] == 0.0
    assert "time_limit" in run.scenarios[2]["detail"]["reason"]
    assert run.provenance["episodes"] == "4"
    assert run.provenance["unscored"] == run.provenance["unscored_infrastructure"] == "1"


def test_a_claim_without_a_call_counts_for_nothing(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(data={"count": 33}, text="I called get_work_orders(year=2017). data_retrieval_accuracy: true")
    run = run_program("rubric", evaluation)
    assert run.scores["data_retrieval_accuracy"] == 0.0
    verdict = run.scenarios[0]["detail"]["data_retrieval_accuracy"][0]
    assert verdict == {"kind": "called", "holds": False, "reason": "get_work_orders was not called"}


def test_a_failed_call_counts_for_nothing(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(calls=[("get_work_orders", {"year": 2017}, True)], data={"count": 33})
    assert run_program("rubric", evaluation).scores["data_retrieval_accuracy"] == 0.0


def test_trials_count_one_by_one(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(trial=1, calls=[RIGHT_CALL], data={"count": 33})
    evaluation.answered(trial=2, calls=[RIGHT_CALL], data={"count": 1})
    run = run_program("rubric", evaluation)
    assert run.scores["result_verification"] == 0.5
    assert [(row["scenario"], row["trial"]) for row in run.scenarios] == [("1", 1), ("1", 2)]


def test_missing_ground_truth_stops_with_the_file_and_the_scenario(evaluation, run_program):
    evaluation.truth(1)
    evaluation.answered(2, data={})
    run = run_program("rubric", evaluation)
    assert run.status == 1
    assert "ground_truth.jsonl: holds no ground truth of scenario 2" in run.stderr
    assert not run.output.exists()


def test_ground_truth_without_checks_stops_with_file_and_line(evaluation, run_program):
    evaluation.truth(1)
    evaluation.truth(2, checks=None)
    evaluation.answered(2, data={})
    run = run_program("rubric", evaluation)
    assert run.status == 1
    assert "ground_truth.jsonl, line 2: scenario 2 has no `checks`" in run.stderr


def test_a_malformed_record_stops_with_file_and_line(evaluation, run_program):
    evaluation.truth(1)
    evaluation.answered(1, data={})
    path = evaluation.root / "input/res/trajectories/e-1-1.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"kind": "answer"', b'"kind": "ansser"'))
    run = run_program("rubric", evaluation)
    assert run.status == 1
    assert "e-1-1.jsonl, line 2:" in run.stderr


def test_an_empty_list_of_episodes_is_refused(evaluation, run_program):
    evaluation.truth(1)
    run = run_program("rubric", evaluation)
    assert run.status == 1
    assert "episodes.jsonl: holds no episode" in run.stderr
