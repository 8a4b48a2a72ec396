"""Both kits as they would be submitted, in the real sandbox, on a small AssetOps task with its real environment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import KEY, model_server

from gauntlet_agent.bundle import check_folder
from gauntlet_agent.cli.local import row_of, truths_of
from gauntlet_runtime.local import LocalRun, run_locally

KITS = ("agent_as_tool", "plan_execute")


def notes_of(run: LocalRun, position: int) -> list[str]:
    return [event.text for event in run.episodes[position][1] if event.kind == "note"]


@pytest.mark.parametrize("name", KITS)
def test_a_kit_is_a_bundle_as_it_is(copied: Callable[..., Path], name: str) -> None:
    manifest = check_folder(copied(name))
    assert manifest.findings == []
    assert manifest.command == ["python", "agent.py"]


@pytest.mark.parametrize("name", KITS)
def test_by_rules_a_good_part_is_solved(copied: Callable[..., Path], assetops_task: Path, name: str) -> None:
    run = run_locally(copied(name), assetops_task, sandbox="bubblewrap")
    truths = truths_of(assetops_task)
    rows = [row_of(episode, events, truths) for episode, events in run.episodes]
    assert [row.outcome for row in rows] == ["answered"] * 10, run.log
    verdicts = [row.verdicts for row in rows]
    assert all(verdicts)
    for criterion in ("task_completion", "data_retrieval_accuracy", "result_verification"):
        held = [verdict[criterion].value for verdict in verdicts if verdict]
        assert sum(held) / len(held) > 0.6, criterion
    for position in range(len(rows)):
        kinds = {event.kind for event in run.episodes[position][1]}
        assert {"plan", "note", "answer"} <= kinds
        record = json.loads(notes_of(run, position)[-1])
        assert record["number_of_steps"] == len(record["steps"]) > 0


def test_on_the_planning_track_a_plan_is_declared(copied: Callable[..., Path], planning_task: Path) -> None:
    run = run_locally(copied("plan_execute"), planning_task, limit=2, sandbox="bubblewrap")
    assert [episode.outcome for episode, _ in run.episodes] == ["answered"] * 2, run.log
    for _, events in run.episodes:
        plan = next(event for event in events if event.kind == "plan")
        assert all(step.agent and step.instruction for step in plan.steps)
        assert not [event for event in events if event.kind == "tool_call"]


@pytest.mark.parametrize("name", KITS)
def test_with_the_phases_model_it_is_asked_through_the_metered_door(
    copied: Callable[..., Path], assetops_task: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with model_server() as server:
        server.says = _says
        monkeypatch.setenv("GAUNTLET_MODEL_URL", server.url)
        monkeypatch.setenv("GAUNTLET_MODEL_KEY", KEY)
        run = run_locally(copied(name, model="any", max_tokens=300), assetops_task, limit=1, sandbox="bubblewrap")
    assert [episode.outcome for episode, _ in run.episodes] == ["answered"], run.log
    for episode, events in run.episodes:
        assert episode.tokens > 0
        kinds = [event.kind for event in events]
        assert "model_call" in kinds
        assert kinds.count("plan") >= 1
        answer = next(event for event in events if event.kind == "answer")
        assert answer.text == "Eleven."
    assert {body["model"] for body in server.seen} == {"small"}


def _says(body: dict[str, Any], number: int) -> str:
    """A model that delegates once to the WO agent, plans one step, and always answers eleven."""
    first, last = (str(body["messages"][position]["content"]) for position in (0, -1))
    if first.startswith("You plan"):
        return "#Task1: List the equipment.\n#Agent1: WOAgent\n#Dependency1: None\n#ExpectedOutput1: It"
    if first.startswith("Review this plan"):
        return '{"status": "approved", "reasoning": "", "suggestions": []}'
    if first.startswith("You supervise") and "Observation" not in last:
        return json.dumps({"thought": "", "action": "THINK-ACT", "agent": "WOAgent", "request": "List the equipment."})
    if first.startswith("You are"):
        return json.dumps({"text": "Eleven.", "n": 11})
    answer = {"answer": "Eleven.", "data": dict.fromkeys(_fields(body), 11)}
    return json.dumps({"thought": "", "action": "FINISH", **answer})


def _fields(body: dict[str, Any]) -> list[str]:
    """The fields that the question asks for, which stand in the prompt as JSON."""
    text = "\n".join(str(message["content"]) for message in body["messages"])
    start = text.index('{"answer_format"')
    return list(json.JSONDecoder().raw_decode(text[start:])[0]["answer_format"])
