"""The failure modes program, run as its own process against a scripted judge.

With the model that compares titles it is run in `tests/gauntlet/evaluation/test_judged.py`, in the scorer's image.
"""

from __future__ import annotations

import json

import pytest
from model_server import model_server

from gauntlet_scoring.failure_modes import MODES

CALL = ("get_work_orders", {"year": 2017}, False)


def found(*codes, new=()):
    modes = [{"title": title, "description": f"{title}, because."} for title in new]
    return json.dumps({"modes": {code: code in codes for code in MODES}, "new_modes": modes})


@pytest.fixture
def examine(run_program, evaluation):
    """Run the program; ``says`` is the judge's answer by the question's number, or to all."""

    def run(says, **given):
        def answer(body, _):
            text = body["messages"][1]["content"]
            return says if isinstance(says, str) else next(said for mark, said in says.items() if mark in text)

        with model_server() as server:
            server.wants_key, server.says = False, answer
            door = {"GAUNTLET_JUDGE_URL": server.url, "GAUNTLET_JUDGE_MODEL": "wise"}
            return run_program("failure_modes", evaluation, **door, **given), server

    return run


def test_modes_are_counted_and_told(evaluation, examine):
    for key in (1, 2, 3, 4):
        evaluation.truth(key, text=f"question {key}!", checks=None)
    evaluation.answered(1, calls=[CALL])
    evaluation.answered(2, calls=[CALL])
    evaluation.failed(3, failure="time_limit")  # nothing was recorded of it
    evaluation.failed(4, failure="infrastructure")
    run, server = examine(
        {"question 1!": found("3.1", "1.3", new=["Overstated <b>completion</b>"]), "question 2!": found("3.1")}
    )
    assert run.status == 0, run.stderr
    assert len(server.seen) == 2
    scores = run.scores
    assert (scores["modes"], scores["new_modes"], scores["mode_3_1"], scores["mode_1_3"]) == (1.5, 0.5, 1.0, 0.5)
    assert (scores["mode_2_2"], scores["judged"]) == (0.0, 0.5)
    assert [row["scores"]["judged"] for row in run.scenarios] == [1.0, 1.0, 0.0]
    assert run.scenarios[0]["detail"]["modes"] == ["1.3", "3.1"]
    assert "nothing was recorded" in run.scenarios[2]["detail"]["reason"]
    assert run.scenarios[2]["scores"] == {"judged": 0.0}
    report = (run.output / "detailed_results.html").read_text()
    assert "3.1 Premature termination" in report
    assert "100.0 %" in report
    assert "Overstated &lt;b&gt;completion&lt;/b&gt;" in report
    assert "<b>completion" not in report
    assert run.provenance["judge_model"] == "wise"


def test_a_failed_episode_that_left_a_trace_is_examined(evaluation, examine):
    evaluation.truth(1)
    call = {"call": "c1", "tool": "get_work_orders"}
    evaluation.record(
        "e-1-1",
        [
            {"kind": "scenario", "scenario": "opaque", "trial": 1, "seed": 1, "text": "question"},
            {"kind": "tool_call", **call, "arguments": {}},
            {"kind": "end", "outcome": "failed", "failure": "time_limit", "seconds": 1.0},
        ],
    )
    evaluation.row(1, trial=1, outcome="failed", failure="time_limit", trajectory="trajectories/e-1-1.jsonl")
    run, server = examine(found("1.5"))
    assert run.status == 0, run.stderr
    assert run.scores["mode_1_5"] == 1.0
    assert "ended_with" in server.seen[0]["messages"][1]["content"]
    assert "time_limit" in server.seen[0]["messages"][1]["content"]


def test_what_cannot_be_read_is_left_out_and_ends_nothing(evaluation, examine):
    """It is a diagnosis: the scores of other programs do not wait for it."""
    evaluation.truth(1)
    evaluation.answered(1)
    run, server = examine("These agents are hopeless.")
    assert run.status == 0, run.stderr
    assert run.scores == {"judged": 0.0}
    assert len(server.seen) == 3
    assert "could not be read" in run.scenarios[0]["detail"]["reason"]


def test_without_a_judge_it_says_what_is_missing(evaluation, run_program):
    evaluation.truth()
    evaluation.answered()
    run = run_program("failure_modes", evaluation)
    assert run.status == 1
    assert "the task names one under `judge`" in run.stderr
