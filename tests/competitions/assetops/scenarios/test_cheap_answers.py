"""Answers without work are worth little, in the column that ranks the board; the right answer is worth all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from assetops_scenarios.question import show_answer

from gauntlet_scoring.checks import judge
from gauntlet_scoring.episode_files import EpisodeRow
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.reading import RecordedCall, RecordedEpisode
from gauntlet_scoring.trajectory import AnswerEvent, Outcome, ToolCallEvent, ToolResultEvent

AT = datetime(2026, 1, 1, tzinfo=UTC)
Calls = list[tuple[str, dict[str, Any]]]


def judged(truth: GroundTruth, data: dict[str, Any], calls: Calls) -> dict[str, float]:
    """The three criteria of an episode with these successful calls and this answer."""
    recorded = []
    for seq, (tool, arguments) in enumerate(calls):
        place = {"seq": seq, "at": AT, "episode": "direct", "turn": seq, "call": str(seq), "tool": tool}
        recorded.append(
            RecordedCall(
                call=ToolCallEvent(**place, arguments=arguments),
                result=ToolResultEvent(**place, is_error=False, seconds=0.0),
            )
        )
    episode = RecordedEpisode(
        row=EpisodeRow(episode="direct", scenario=truth.key, trial=1, outcome=Outcome.ANSWERED),
        failure=None,
        calls=tuple(recorded),
        answer=AnswerEvent(seq=99, at=AT, episode="direct", turn=99, text="", data=data),
    )
    assert truth.checks is not None
    return {name: criterion.value for name, criterion in judge(truth.checks, episode).items()}


def reference_calls(truth: GroundTruth) -> Calls:
    return [(step.action, step.arguments) for step in truth.execution_steps[:-1] if isinstance(step.arguments, dict)]


def test_the_reference_solution_is_worth_all(whole: Any) -> None:
    for one, truth in zip(whole.asked, whole.truths, strict=True):
        unknown = {} if one.question.declined else dict.fromkeys(one.question.fields, "made.json")
        found = judged(truth, {**unknown, **one.question.answer()}, reference_calls(truth))
        assert set(found.values()) == {1.0}, (truth.text, found)


def declines(fields: list[str]) -> dict[str, Any]:
    return {"abstain": True}


def says_zero(fields: list[str]) -> dict[str, Any]:
    return dict.fromkeys(fields, 0)


def says_true(fields: list[str]) -> dict[str, Any]:
    return dict.fromkeys(fields, True)


def says_both(fields: list[str]) -> dict[str, Any]:
    return {**says_zero(fields), "abstain": True}


@pytest.mark.parametrize("cheat", [declines, says_zero, says_true, says_both], ids=lambda one: str(one.__name__))
@pytest.mark.parametrize(("calls", "most"), [([], 0.35), ([("list_equipment", {}), ("sites", {})], 0.35)])
def test_answers_without_work_are_worth_little(
    whole: Any, cheat: Callable[[list[str]], dict[str, Any]], calls: Calls, most: float
) -> None:
    scores = []
    for one, truth in zip(whole.asked, whole.truths, strict=True):
        fields = list(show_answer(one.question)["answer_format"])
        scores.append(judged(truth, cheat(fields), calls)["task_completion"])
    assert sum(scores) / len(scores) < most


def test_a_wrong_value_costs_the_column_that_ranks(whole: Any) -> None:
    for one, truth in zip(whole.asked, whole.truths, strict=True):
        if one.question.declined or not one.question.answer():
            continue
        data = {**dict.fromkeys(one.question.fields, "made.json"), **one.question.answer()}
        spoiled = {**data, next(iter(one.question.answer())): "something else"}
        assert judged(truth, spoiled, reference_calls(truth))["task_completion"] < 1.0, truth.text
