"""The hybrid program: with ROUGE-L as its own process anywhere, with S in an environment that has torch."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from gauntlet_scoring.checks import CRITERIA
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.hybrid import WEIGHTS, Hybrid, Planning, final_score, planning_of
from gauntlet_scoring.program import Folders, score
from gauntlet_scoring.program_metadata import read_program_metadata
from gauntlet_scoring.rubric import Judge, Judgement

CALL = ("get_work_orders", {"year": 2017}, False)
PLAN = [("WOAgent", "get the work orders")]
OTHER_PLAN = [("WOAgent", "get work orders")]


@pytest.mark.oracle
def test_the_guides_example_gives_what_its_formula_says():
    """G27: 0.5 * 0.87 + 0.3 * 0.68 + 0.2 * 0.65 = 0.435 + 0.204 + 0.13; in print 0.78."""
    found = final_score(rubric=0.87, execution=0.68, planning=0.65)
    assert found == pytest.approx(0.769, abs=1e-12)
    assert found != pytest.approx(0.78, abs=1e-3)


def test_the_weights_add_up_to_one():
    assert sum(WEIGHTS.values()) == pytest.approx(1.0, abs=1e-15)


@pytest.fixture
def with_settings(tmp_path, programs):
    """A copy of the program whose settings are replaced."""

    def make(*, low="0", **settings):
        folder = tmp_path / "hybrid"
        shutil.copytree(programs / "hybrid", folder, dirs_exist_ok=True)
        lines = (folder / "metadata.yaml").read_text().splitlines()
        for name, value in settings.items():
            lines = [f"  {name}: {value}" if line.startswith(f"  {name}:") else line for line in lines]
        text = "\n".join(lines).replace("planning_score: {low: 0", f"planning_score: {{low: {low}")
        (folder / "metadata.yaml").write_text(text)
        return folder

    return make


@pytest.fixture
def rouge_only(with_settings):
    return str(with_settings(planning="rougeL"))


def test_everything_right_is_one(evaluation, run_program, rouge_only):
    evaluation.truth()
    evaluation.answered(calls=[CALL], plan=PLAN, data={"count": 33})
    run = run_program(rouge_only, evaluation)
    assert (run.status, run.stderr) == (0, "")
    assert run.scores == dict.fromkeys(("final_score", "rubric_score", "execution_score", "planning_score"), 1.0)
    assert run.provenance["hybrid_planning"] == "rougeL"
    assert run.provenance["judge"] == "checks"
    assert "bertscore_model" not in run.provenance
    assert run.scenarios[0]["detail"]["failure_analysis"] == {"missing_steps": [], "output_issues": []}


@pytest.mark.oracle
def test_the_worked_example_of_the_documentation(evaluation, run_program, rouge_only):
    """docs/scoring.md: the right answer without the call, and a plan with one word less; a second one timed out."""
    evaluation.truth()
    evaluation.answered(plan=OTHER_PLAN, data={"count": 33})
    evaluation.failed(trial=2, failure="time_limit")
    run = run_program(rouge_only, evaluation)
    rubric = (1 + 0 + 1) / 3
    execution = (1 / 2 + 2 / 3 + 0 + 1 / 2 + 0) / 5  # of call and answer only the answer; its edge is missing
    planning = 8 / 9
    first = run.scenarios[0]
    assert first["scores"]["rubric_score"] == pytest.approx(rubric)
    assert first["scores"]["execution_score"] == pytest.approx(execution)
    assert first["scores"]["planning_score"] == pytest.approx(planning)
    assert first["scores"]["final_score"] == pytest.approx(0.5 * rubric + 0.3 * execution + 0.2 * planning)
    assert run.scores["final_score"] == pytest.approx(first["scores"]["final_score"] / 2)
    assert first["detail"]["failure_analysis"]["missing_steps"] == ["step s1 (get_work_orders) is missing"]


def test_issues_of_the_output_are_named_once(evaluation, run_program, rouge_only):
    evaluation.truth()
    evaluation.answered(calls=[CALL], plan=PLAN, data={"count": "33"})
    analysis = run_program(rouge_only, evaluation).scenarios[0]["detail"]["failure_analysis"]
    assert analysis["output_issues"] == [
        "count: expected a number, found a text",
        "count: expected the number 33, found '33'",
    ]


def test_the_batch_report_says_how_many_completed(evaluation, run_program, rouge_only):
    for key in range(1, 5):
        evaluation.truth(key)
    evaluation.answered(1, calls=[CALL], plan=PLAN, data={"count": 33})
    evaluation.answered(2, calls=[CALL], plan=PLAN, data={})
    evaluation.failed(3, failure="agent_error")
    evaluation.failed(4, failure="infrastructure")
    run = run_program(rouge_only, evaluation)
    page = (run.output / "detailed_results.html").read_text()
    assert "Completion rate: 0.333" in page  # one of three that count
    assert "The planning score is ROUGE-L." in page
    assert "Failure patterns" in page
    assert "agent_error" in page


def test_s_is_what_it_is_by_default(evaluation, run_program, scorer_python):
    evaluation.truth()
    evaluation.answered(calls=[CALL], plan=OTHER_PLAN, data={"count": 33})
    hybrid = run_program("hybrid", evaluation, python=scorer_python)
    assert (hybrid.status, hybrid.stderr) == (0, "")
    found, made_by = hybrid.scores["planning_score"], hybrid.provenance
    bert = run_program("bertscore", evaluation, python=scorer_python)
    assert found == pytest.approx(bert.scores["s_combined"], abs=1e-12)
    assert found < 1
    assert made_by["hybrid_planning"] == "s"
    assert made_by["bertscore_model_sha256"] == bert.provenance["bertscore_model_sha256"]


def test_without_the_model_s_is_refused_and_not_replaced(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(calls=[CALL], plan=PLAN, data={"count": 33})
    run = run_program("hybrid", evaluation)  # by the platform's own interpreter, which has no torch
    assert run.status == 1
    assert "which makes the scores, is not installed here" in run.stderr
    assert not run.output.exists()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"planning": "bleu"}, "`planning` must be one of s, rougeL, not 'bleu'"),
        ({"parts": "completeness order_violations"}, "`order_violations` is no score in [0, 1] of which more"),
        ({"low": "-1"}, "the part `planning_score` is in [-1, 1]"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(with_settings, settings, said):
    metadata = read_program_metadata(with_settings(**settings))
    with pytest.raises(ScoringInputError) as refused:
        Hybrid.of(metadata, {})
    assert said in str(refused.value)


def test_silent_settings_mean_s():
    assert planning_of({}) is Planning.S


class HalfBlind(Judge):
    """Judges every other episode."""

    name = "half blind"

    def read(self, case):
        return case.episode.row.scenario

    def finish(self, parts):
        right = {"score": 1.0, **dict.fromkeys(CRITERIA, 1.0)}
        return [Judgement(unverified="no verdict") if at % 2 else Judgement(scores=right) for at, _ in enumerate(parts)]


def test_what_the_judge_could_not_verify_has_no_final_score(evaluation, with_settings):
    for key in (1, 2):
        evaluation.truth(key)
        evaluation.answered(key, calls=[CALL], plan=PLAN, data={"count": 33})
    metadata = read_program_metadata(with_settings(planning="rougeL"))
    hybrid = replace(Hybrid.of(metadata, {}), judge=HalfBlind())
    folders = Folders(evaluation.write())
    score(folders, metadata, measure=hybrid.measure())
    first, second = (json.loads(line) for line in (folders.output / "scenarios.jsonl").read_text().splitlines())
    assert first["scores"]["final_score"] == 1.0
    assert second["scores"] == {"execution_score": 1.0, "planning_score": 1.0}
    assert second["detail"]["unverified"] == "no verdict"
    assert json.loads((folders.output / "scores.json").read_text())["final_score"] == 1.0  # a mean of what is known
    page = (folders.output / "detailed_results.html").read_text()
    assert "not verified" in page
    assert "Completion rate: 1.000" in page  # of the one that was judged
