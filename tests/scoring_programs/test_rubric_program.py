"""The rubric program, run as its own process."""

from __future__ import annotations

import json

import pytest
from model_server import model_server

from gauntlet_scoring.llm_judge import PROMPT_SHA256
from gauntlet_scoring.trials import TrialOutcome, trial_outcome

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


@pytest.mark.oracle
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


VERDICT = {"task_completion": True, "data_retrieval_accuracy": True, "generalized_result_verification": False}


@pytest.fixture
def run_judged(run_program, evaluation):
    """Run the rubric with a language model as its judge, which says this."""

    def run(says, **environment):
        with model_server() as server:
            server.wants_key, server.says = False, says
            door = {"GAUNTLET_JUDGE": "llm", "GAUNTLET_JUDGE_URL": server.url, "GAUNTLET_JUDGE_MODEL": "wise"}
            return run_program("rubric", evaluation, **door, **environment)

    return run


def test_a_language_model_judges_without_checks(evaluation, run_judged):
    for key in (1, 2, 3):
        evaluation.truth(key, checks=None, final_out=None)
    evaluation.answered(1, calls=[RIGHT_CALL], text="33")
    evaluation.answered(2, text="33")
    evaluation.failed(3, failure="time_limit")
    run = run_judged(lambda body, number: json.dumps({**VERDICT, "suggestions": "say which"}))
    assert run.status == 0, run.stderr
    assert run.scores["score"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert run.scores["task_completion"] == run.scores["task_completion_majority"] == pytest.approx(2 / 3)
    assert (run.scores["agreement"], run.scores["uncertainty"], run.scores["verified"]) == (1.0, 0.0, 1.0)
    assert "agreement" not in run.scenarios[2]["scores"]  # nobody was asked about the one that failed
    assert run.scenarios[0]["detail"]["votes"]["result_verification"] == [False] * 5
    assert run.scenarios[0]["detail"]["suggestions"] == ["say which"] * 5
    made_by = {key: run.provenance[key] for key in ("judge", "judge_model", "judge_runs", "judge_temperature")}
    assert made_by == {"judge": "llm", "judge_model": "wise", "judge_runs": "5", "judge_temperature": "0.3"}
    assert run.provenance["judge_prompt_sha256"] == PROMPT_SHA256


def test_what_nobody_could_verify_is_no_zero(evaluation, run_judged):
    """Of three scenarios the judge can speak of two; the third has a row that says so, and is in no mean."""
    for key in (1, 2, 3):
        evaluation.truth(key, text=f"question {key}", final_out=None)
        evaluation.answered(key, text="33")
    run = run_judged(lambda body, _: "hm" if "question 2" in body["messages"][1]["content"] else json.dumps(VERDICT))
    assert run.status == 0, run.stderr
    assert run.scores["score"] == pytest.approx(2 / 3)
    assert (run.scores["verified"], run.scores["answered"]) == (pytest.approx(2 / 3), 1.0)
    assert run.provenance["unverified"] == "1"
    unverified = run.scenarios[1]
    assert unverified["scores"] == {"verified": 0.0, "answered": 1.0}
    assert "gave no verdict" in unverified["detail"]["unverified"]
    value = unverified["scores"].get("score")
    assert trial_outcome(value, pass_at=1.0, failure=None) is TrialOutcome.UNVERIFIED


def test_where_nobody_could_verify_anything_there_are_no_scores(evaluation, run_judged):
    evaluation.truth(1)
    evaluation.truth(2)
    evaluation.answered(1)
    evaluation.failed(2, failure="time_limit")
    run = run_judged(lambda body, number: "I would rather not say.")
    assert run.status == 1
    assert run.stderr.startswith("none of 1 answered episodes could be verified: 5 of 5 runs of the judge")
    assert not (run.output / "scores.json").exists()


def test_a_judge_that_is_not_there_is_said_in_a_sentence(evaluation, run_program):
    evaluation.truth()
    evaluation.answered()
    run = run_program("rubric", evaluation, GAUNTLET_JUDGE="llm")
    assert run.status == 1
    assert "needs a model, and none is offered here" in run.stderr
    assert run.stderr.count("\n") == 1
