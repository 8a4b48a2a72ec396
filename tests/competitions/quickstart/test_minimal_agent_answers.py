"""What the starter kit's rules reach: asked directly over MCP, judged by the ground truth's checks."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from quickstart_generator.published import make_published
from quickstart_generator.question import ABSTAIN

from gauntlet_agent import ToolError
from gauntlet_scoring.checks import judge
from gauntlet_scoring.episode_files import EpisodeRow
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.reading import RecordedCall, RecordedEpisode
from gauntlet_scoring.trajectory import AnswerEvent, Outcome, ToolCallEvent, ToolResultEvent

ROOT = Path(__file__).resolve().parents[3]
ReadTruths = Callable[[Path, str], list[GroundTruth]]
AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class DirectEpisode:
    """An episode without a gateway: calls go straight to the environment and are written down."""

    text: str
    show: dict[str, Any]
    plant: Any
    calls: list[RecordedCall] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)

    def call(self, name: str, /, **arguments: Any) -> Any:
        found = self.plant.either(name, **arguments)
        self._record(name, arguments, is_error="refused" in found)
        if "refused" in found:
            raise ToolError(found["refused"])
        return found

    def _record(self, name: str, arguments: dict[str, Any], *, is_error: bool) -> None:
        seq = len(self.calls)
        place = {"seq": seq, "at": AT, "episode": "direct", "turn": seq, "call": str(seq), "tool": name}
        self.calls.append(
            RecordedCall(
                call=ToolCallEvent(**place, arguments=arguments),
                result=ToolResultEvent(**place, is_error=is_error, seconds=0.0),
            )
        )

    def plan(self, steps: list[dict[str, Any]]) -> None:
        self.steps = steps

    def note(self, text: str) -> None:
        assert text


@pytest.fixture(scope="module")
def solver() -> Iterator[ModuleType]:
    """The kit's rules, imported as its program imports them."""
    folder = str(ROOT / "starter_kits" / "minimal")
    sys.path.insert(0, folder)
    try:
        yield importlib.import_module("solver")
    finally:
        sys.path.remove(folder)
        for name in ("solver", "reading"):
            sys.modules.pop(name, None)


def rubric(truth: GroundTruth, episode: DirectEpisode, answer: tuple[str, dict[str, Any]]) -> float:
    """Mean of the three criteria."""
    assert truth.checks is not None
    recorded = RecordedEpisode(
        row=EpisodeRow(episode="direct", scenario=truth.key, trial=1, outcome=Outcome.ANSWERED),
        failure=None,
        calls=tuple(episode.calls),
        answer=AnswerEvent(seq=99, at=AT, episode="direct", turn=99, text=answer[0], data=answer[1]),
    )
    values = [criterion.value for criterion in judge(truth.checks, recorded).values()]
    return sum(values) / len(values)


def ask(solver: ModuleType, plant: Any, truth: GroundTruth, fields: list[str]) -> tuple[DirectEpisode, Any]:
    show = {"answer_format": dict.fromkeys(fields, "…"), "abstain": ABSTAIN}
    episode = DirectEpisode(truth.text, show, plant)
    return episode, solver.solve(episode)


def shown_fields(bundle: Path, task: str) -> dict[str, list[str]]:
    lines = (bundle / "scenarios" / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: list(row["show"]["answer_format"]) for row in map(json.loads, lines)}


@pytest.mark.parametrize("task", ["development", "test"])
def test_the_rules_reach_a_good_part_but_not_all(
    task: str, bundle: Path, solver: ModuleType, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    plant, fields = open_plant(bundle / "data" / task), shown_fields(bundle, task)
    scores = {}
    for truth in read_truths(bundle, task):
        episode, answer = ask(solver, plant, truth, fields[truth.key])
        scores[truth.text] = rubric(truth, episode, answer)
        assert all(call.succeeded for call in episode.calls), "no rule of the kit should make a call that is refused"
    right = sum(score == 1.0 for score in scores.values()) / len(scores)
    assert 0.75 <= right < 1.0, {text: score for text, score in scores.items() if score < 1.0}


def test_what_the_rules_answer_is_right_and_what_they_decline_they_do_not_know_or_must(
    bundle: Path, solver: ModuleType, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    plant, fields = open_plant(bundle / "data" / "test"), shown_fields(bundle, "test")
    without_rule = {"most_work", "compare_months", "busiest_month"}
    for truth in read_truths(bundle, "test"):
        _, (_, data) = ask(solver, plant, truth, fields[truth.key])
        if truth.data is not None and truth.data["template"] in without_rule:
            assert data == {"abstain": True}, truth.text
        elif "mean" in fields[truth.key] and truth.final_out != {"abstain": True}:
            assert truth.final_out is not None
            assert data["mean"] == pytest.approx(truth.final_out["mean"], abs=0.001), truth.text
        else:
            assert data == truth.final_out, truth.text


def test_plans_name_agents_and_depend_on_earlier_steps(
    bundle: Path, solver: ModuleType, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    plant, fields = open_plant(bundle / "data" / "development"), shown_fields(bundle, "development")
    plans = [
        (truth, ask(solver, plant, truth, fields[truth.key])[0].steps) for truth in read_truths(bundle, "development")
    ]
    filed = [(truth, steps) for truth, steps in plans if steps]
    assert len(filed) >= 14
    for truth, steps in filed:
        assert {step["agent"] for step in steps} <= {"WOAgent", "IoTAgent"}
        assert all(0 <= before < position for position, step in enumerate(steps) for before in step["depends_on"])
        reference = [(step.agent, step.instruction) for step in truth.planning_steps]
        assert [(step["agent"], step["instruction"]) for step in steps] != reference


def test_the_weak_agent_of_the_demo_is_weak_and_not_nothing(
    bundle: Path, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    source = ROOT / "competitions" / "quickstart" / "demo_agents" / "weak" / "agent.py"
    spec = importlib.util.spec_from_file_location("weak_agent", source)
    assert spec is not None
    assert spec.loader is not None
    weak = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(weak)
    plant, fields = open_plant(bundle / "data" / "test"), shown_fields(bundle, "test")
    scores = [rubric(truth, *ask(weak, plant, truth, fields[truth.key])) for truth in read_truths(bundle, "test")]
    assert 0.3 < sum(scores) / len(scores) < 0.65


def declines_everything(episode: DirectEpisode) -> dict[str, Any]:
    return {"abstain": True}


def says_zero(episode: DirectEpisode) -> dict[str, Any]:
    return dict.fromkeys(episode.show["answer_format"], 0)


def calls_and_declines(episode: DirectEpisode) -> dict[str, Any]:
    episode.call("record_coverage")
    episode.call("list_equipment")
    return {"abstain": True}


@pytest.mark.parametrize(
    ("cheat", "most"),
    [(declines_everything, 0.2), (says_zero, 0.3), (calls_and_declines, 0.25)],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_answers_without_work_are_worth_little(
    cheat: Callable[[DirectEpisode], dict[str, Any]],
    most: float,
    bundle: Path,
    read_truths: ReadTruths,
    open_plant: Callable[[Path], Any],
) -> None:
    plant, fields = open_plant(bundle / "data" / "test"), shown_fields(bundle, "test")
    scores = []
    for truth in read_truths(bundle, "test"):
        show = {"answer_format": dict.fromkeys(fields[truth.key], "…"), "abstain": ABSTAIN}
        episode = DirectEpisode(truth.text, show, plant)
        scores.append(rubric(truth, episode, ("", cheat(episode))))
    assert sum(scores) / len(scores) < most


def test_a_refused_call_is_evidence_that_there_is_no_such_thing(
    bundle: Path, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    plant = open_plant(bundle / "data" / "test")
    truth = next(one for one in read_truths(bundle, "test") if (one.data or {})["template"] == "unknown_equipment")
    step = truth.execution_steps[0]
    assert isinstance(step.arguments, dict)
    window = {"equipment": step.arguments["name"], "start": "2020-01-01", "end": "2020-12-31"}
    episode = DirectEpisode(truth.text, {}, plant)
    with pytest.raises(ToolError):
        episode.call("get_work_orders", **window)
    assert rubric(truth, episode, ("", {"abstain": True})) == 1.0
    assert rubric(truth, episode, ("", {"work_orders": 0})) < 0.7


@pytest.mark.real_input
def test_the_rules_answer_all_nine_published_questions(
    tmp_path: Path, shared: Path, solver: ModuleType, read_truths: ReadTruths, open_plant: Callable[[Path], Any]
) -> None:
    make_published(tmp_path / "bundle", shared=shared)
    plant = open_plant(tmp_path / "bundle" / "data" / "published")
    fields = shown_fields(tmp_path / "bundle", "published")
    truths = read_truths(tmp_path / "bundle", "published")
    assert len(truths) == 9
    for truth in truths:
        episode, (text, data) = ask(solver, plant, truth, fields[truth.key])
        assert data == truth.final_out, truth.text
        assert rubric(truth, episode, (text, data)) == 1.0
