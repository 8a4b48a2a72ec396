"""Tests of your agent that need no platform: `python -m pytest` in this kit's folder. Grow them with your agent."""

from pathlib import Path
from typing import Any

from solver import solve

from gauntlet_agent.assetops import Settings
from gauntlet_agent.rehearsal import Rehearsal

KIT = Path(__file__).resolve().parents[1]
MACHINE = {"equipment_id": "CHL1", "equipment_name": "Chiller 1"}


def list_equipment() -> dict[str, Any]:
    """Every tool of the task that your agent calls is a function here, with the same name and arguments."""
    return {"equipment": [MACHINE]}


def list_workorders(
    equipment_id: str = "", start: str = "", end: str = "", kind: str = "", limit: int = 50
) -> dict[str, Any]:
    """Three orders, whatever is asked."""
    return {"total": 3, "work_orders": [{}, {}, {}]}


TOOLS = {"list_equipment": list_equipment, "list_workorders": list_workorders}
QUESTION = "How many corrective work orders were completed for {} in 2019?"
SHOW = {"answer_format": {"work_orders": "integer, how many"}}


def test_a_question_is_planned_executed_and_answered() -> None:
    episode = Rehearsal(QUESTION.format("Chiller 1"), SHOW, tools=TOOLS)
    _, data = solve(episode, Settings.read(KIT))
    assert data == {"work_orders": 3}
    assert ("list_workorders", "corrective") in [(name, given.get("kind")) for name, given in episode.calls]


def test_what_is_not_there_is_declined() -> None:
    _, data = solve(Rehearsal(QUESTION.format("Chiller 7"), SHOW, tools=TOOLS), Settings.read(KIT))
    assert data == {"abstain": True}


def test_without_tools_a_plan_is_declared() -> None:
    episode = Rehearsal(QUESTION.format("Chiller 1"))
    solve(episode, Settings.read(KIT))
    assert len(episode.plans[-1]) > 1
