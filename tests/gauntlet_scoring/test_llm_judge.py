"""The rubric judged by a language model: its answer's form, five runs as one, and what happens where it fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest
from model_server import ModelServer, model_server

from gauntlet_scoring.checks import CRITERIA
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.judge_door import JudgeSettings, JudgeUnavailable, UnreadableAnswer
from gauntlet_scoring.llm_judge import LlmJudge, Verdict, judgement_of, pairwise_agreement, read_verdict
from gauntlet_scoring.model_names import same_model
from gauntlet_scoring.program import Case
from gauntlet_scoring.rubric import ChecksJudge, exact_match, open_judge

KEYS = ("task_completion", "data_retrieval_accuracy", "generalized_result_verification")


def answer(*holds: bool, **more: Any) -> str:
    return json.dumps({**dict(zip(KEYS, holds, strict=True)), **more})


@pytest.fixture(scope="module")
def process() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def server(process: ModelServer) -> ModelServer:
    process.reset()
    process.wants_key = False
    process.says = lambda body, number: answer(True, True, True)
    return process


@pytest.fixture
def judge(server: ModelServer) -> Callable[..., LlmJudge]:
    def make(**settings: Any) -> LlmJudge:
        return LlmJudge(JudgeSettings(**{"url": server.url, "model": "wise", "concurrency": 1, **settings}))

    return make


@pytest.mark.parametrize("more", [{}, {"suggestions": ""}, {"suggestions": None}, {"suggestions": ["a", "b"]}])
def test_three_booleans_are_a_verdict(more: dict[str, Any]) -> None:
    verdict = read_verdict(f"\n {answer(True, False, True, **more)}\n")
    assert verdict.holds == dict(zip(CRITERIA, (True, False, True), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "[]",
        "{}",
        f"```json\n{answer(True, True, True)}\n```",
        f"Here it is: {answer(True, True, True)}",
        f"{answer(True, True, True)} I hope this helps.",
        f"{answer(False, False, False)}{answer(True, True, True)}",
        answer(True, True, True, clarity=True),
        answer(True, True, True, suggestions={"x": 1}),
        answer(True, True, True).replace("true", "1"),
        answer(True, True, True).replace("true", '"true"'),
        answer(True, True, True).replace("true", "null"),
        answer(True, True, True).replace('"task_completion": true, ', ""),
        answer(True, True, True).replace('"task_completion"', '"Task_Completion"'),
        answer(False, True, True).replace("{", '{"task_completion": true, '),  # twice
        answer(True, True, True).replace("true", "NaN", 1),
        answer(True, True, True)[:-1],
        "[" * 100_000,
    ],
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(UnreadableAnswer):
        read_verdict(text)


def test_long_suggestions_are_cut() -> None:
    assert len(read_verdict(answer(True, True, True, suggestions="x" * 10_000)).suggestions) == 1000


@pytest.mark.parametrize("votes", [[True], [False, True], [True] * 5, [True, False, True, True, False]][1:])
def test_agreement_is_the_mean_over_pairs(votes: list[bool]) -> None:
    pairs = [one == other for one, other in combinations(votes, 2)]
    assert pairwise_agreement(votes) == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)


def test_five_runs_as_one() -> None:
    """The worked example of docs/scoring.md: y1 5 of 5, y2 3 of 5, y3 2 of 5."""
    rows = [(True, at < 3, at < 2) for at in range(5)]
    verdicts = [Verdict(holds=dict(zip(CRITERIA, row, strict=True))) for row in rows]
    scores = judgement_of(verdicts, exact=None, detail={}).scores
    assert [scores[name] for name in CRITERIA] == [1.0, 0.6, 0.4]
    assert scores["score"] == pytest.approx(2 / 3)
    assert [scores[f"{name}_majority"] for name in CRITERIA] == [1.0, 1.0, 0.0]
    assert scores["majority"] == pytest.approx(2 / 3)
    assert scores["agreement"] == pytest.approx((1 + 4 / 10 + 4 / 10) / 3)
    assert scores["uncertainty"] == pytest.approx(1 - scores["agreement"])


def test_an_exact_result_is_compared_and_not_judged() -> None:
    """G24; the model's opinion of y3 counts neither for the score nor for the agreement."""
    verdicts = [Verdict(holds=dict(zip(CRITERIA, (True, True, at % 2 == 0), strict=True))) for at in range(4)]
    scores = judgement_of(verdicts, exact=False, detail={}).scores
    assert (scores["result_verification"], scores["result_verification_majority"], scores["agreement"]) == (0, 0, 1)
    assert judgement_of(verdicts, exact=True, detail={}).scores["score"] == 1.0


def test_one_run_has_no_agreement() -> None:
    scores = judgement_of([Verdict(holds=dict.fromkeys(CRITERIA, True))], exact=None, detail={}).scores
    assert not {"agreement", "uncertainty"} & scores.keys()


@pytest.mark.parametrize(
    ("fields", "given", "expected"),
    [
        ({"deterministic": True, "final_out": {"count": 33}}, {"data": {"count": 33.0}}, True),
        ({"deterministic": True, "final_out": {"a": "X ", "b": [1]}}, {"data": {"b": [1], "a": "x"}}, True),
        ({"deterministic": True, "final_out": {"count": 33}}, {"data": {"count": 33, "more": 1}}, False),
        ({"deterministic": True, "final_out": {"count": 33}}, {"data": {"count": "33"}}, False),
        ({"deterministic": True, "final_out": {"count": 33}}, {"text": '{"count": 33}'}, True),
        ({"deterministic": True, "final_out": {"count": 33}}, {"text": "33"}, False),
        ({"deterministic": True, "final_out": None}, {"data": {"count": 33}}, None),
        ({"deterministic": False, "final_out": {"count": 33}}, {"data": {"count": 33}}, None),
    ],
)
def test_what_has_to_match_exactly(recorded_case: Any, fields: Any, given: Any, expected: bool | None) -> None:
    case = recorded_case(**fields, **given)
    assert exact_match(case.reference.truth, case.episode) is expected


def test_it_is_asked_five_times_at_temperature_0_3_and_each_time_at_a_place_of_its_own(
    judge: Any, server: ModelServer, recorded_case: Any
) -> None:
    one = judge()
    (judgement,) = one.finish([one.read(recorded_case())])
    assert judgement.mean == 1.0
    assert len(server.seen) == 5
    assert {json.dumps(body) for body in server.seen} == {json.dumps(server.seen[0])}
    body = server.seen[0]
    assert (body["model"], body["temperature"], body["response_format"]) == ("wise", 0.3, {"type": "json_object"})
    assert one.facts()["judge_runs"] == "5"


def test_an_answer_that_cannot_be_read_is_asked_for_again(judge: Any, server: ModelServer, recorded_case: Any) -> None:
    server.says = lambda body, number: answer(True, True, False) if number % 3 == 0 else "I think it is fine."
    one = judge()
    (judgement,) = one.finish([one.read(recorded_case(final_out=None))])
    assert judgement.criteria == dict(zip(CRITERIA, (1.0, 1.0, 0.0), strict=True))
    assert len(server.seen) == 15


@pytest.mark.parametrize(("readable", "verified"), [(2, False), (3, True)])
def test_most_runs_have_to_give_a_verdict(
    judge: Any, server: ModelServer, recorded_case: Any, readable: int, verified: bool
) -> None:
    server.says = lambda body, number: answer(True, True, True) if number <= readable else "no"
    one = judge()
    (judgement,) = one.finish([one.read(recorded_case())])
    assert (judgement.unverified == "") is verified
    assert judgement.scores["verified"] == float(verified)
    assert judgement.detail["runs"] == readable
    if not verified:
        assert judgement.mean is judgement.criteria is None
        assert judgement.unverified.startswith("3 of 5 runs of the judge gave no verdict")
        assert judgement.scores.keys() == {"verified"}


@pytest.mark.parametrize("status", ["400", "403", "413", "422", "501"])
def test_a_question_that_is_refused_leaves_its_episode_unverified(
    judge: Any, server: ModelServer, recorded_case: Any, status: str
) -> None:
    server.always = status
    one = judge()
    (judgement,) = one.finish([one.read(recorded_case())])
    assert "does not take this question" in judgement.unverified


def test_a_provider_without_json_mode_is_asked_without_it(judge: Any, server: ModelServer, recorded_case: Any) -> None:
    server.faults += ["400"]
    one = judge()
    (judgement,) = one.finish([one.read(recorded_case())])
    assert judgement.mean == 1.0
    assert ["response_format" in body for body in server.seen] == [True] + [False] * 5


@pytest.mark.parametrize("fault", ["500", "503", "401", "reset", "empty:"])
def test_a_judge_that_cannot_be_had_is_no_verdict_about_anybody(
    judge: Any, server: ModelServer, recorded_case: Any, fault: str
) -> None:
    server.always = fault.rstrip(":")
    one = judge()
    if fault == "empty:":  # it answers, and says nothing
        (judgement,) = one.finish([one.read(recorded_case())])
        assert "holds no text" in judgement.unverified
        return
    with pytest.raises(JudgeUnavailable):
        one.finish([one.read(recorded_case())])


@pytest.mark.parametrize(
    ("used", "same"),
    [("wise", True), ("Wise-2026-01-31", True), ("ours/wise", True), ("wise:latest", True), ("wise-mini", False)],
)
def test_a_model_does_not_judge_an_agent_that_used_it(
    judge: Any, server: ModelServer, recorded_case: Any, used: str, same: bool
) -> None:
    call = {"kind": "model_call", "call": "m1", "model": used, "endpoint": "chat/completions", "request": {}}
    one = judge()
    (judgement,) = one.finish([one.read(recorded_case(call))])
    assert ("may not judge its own work" in judgement.unverified) is same
    assert (server.seen == []) is same
    assert same_model(used, "wise") is same


def test_the_prompt_holds_all_that_the_judge_has_to_know(judge: Any, recorded_case: Any) -> None:
    call = {"call": "c1", "tool": "history"}
    case = recorded_case(
        {"kind": "note", "text": "I look at the Chiller first"},
        {"kind": "tool_call", **call, "arguments": {"assetnum": "Chiller 6"}},
        {"kind": "tool_result", **call, "is_error": True, "seconds": 0.1, "text": "no such sensor"},
        {"kind": "tool_call", "call": "c2", "tool": "sensors", "arguments": {}},
        {"kind": "plan", "steps": [{"agent": "IoTAgent", "instruction": "read the sensors"}]},
        text="It is 33.",
        data={"count": 33},
    )
    question = judge().read(case).question
    assert question is not None
    assert question.place == "rubric/400/1"
    for part in ("Get the work orders", "read the sensors", "I look at the Chiller first", "Chiller 6", "It is 33."):
        assert part in question.user
    places = [question.user.index(part) for part in ("read the sensors", "look at the", "no such sensor", "no result")]
    assert places == sorted(places)
    assert "task_completion" in question.system


@pytest.mark.parametrize("size", [10, 10_000, 1_000_000])
@pytest.mark.parametrize("sign", ["x ", "\N{FIRE}", "\u200b", "\U000e0041", "<"])
def test_the_prompt_is_bounded_whatever_an_agent_writes(judge: Any, recorded_case: Any, size: int, sign: str) -> None:
    text = sign * (size // len(sign))
    case = recorded_case(*({"kind": "note", "text": text[: size // 20]} for _ in range(40)), text=text, data=[text])
    question = judge().read(case).question
    assert question is not None
    assert len(question.user) < 85_000


def test_the_door_decides_which_judge_it_is() -> None:
    door = {"GAUNTLET_JUDGE_URL": "http://127.0.0.1:1/v1", "GAUNTLET_JUDGE_MODEL": "wise"}
    assert isinstance(open_judge({}, {}), ChecksJudge)
    assert isinstance(open_judge({"judge": "checks"}, {**door, "GAUNTLET_JUDGE": "llm"}), LlmJudge)
    assert isinstance(open_judge({"judge": "llm"}, door), LlmJudge)
    with pytest.raises(JudgeUnavailable, match="none is offered here"):
        open_judge({"judge": "llm"}, {})
    with pytest.raises(ScoringInputError, match="must be one of checks, llm"):
        open_judge({"judge": "me"}, {})
    with pytest.raises(ScoringInputError, match="no number"):
        open_judge({"judge": "llm"}, {**door, "GAUNTLET_JUDGE_RUNS": "many"})


def test_a_case_is_what_the_files_say(recorded_case: Any) -> None:
    case = recorded_case({"kind": "note", "text": "hm"}, {"kind": "message", "role": "user", "text": "hi"})
    assert isinstance(case, Case)
    assert [said.text for said in case.episode.said] == ["hm", "hi"]
