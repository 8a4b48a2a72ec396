"""A scripted model drives the kits through the official client: what it decides is done, what it spoils is repaired."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from model_server import ModelServer

from gauntlet_agent.assetops import Settings
from gauntlet_agent.rehearsal import Rehearsal

QUESTION = "How many corrective jobs were completed on Chiller 1 in 2019?"
Rehearse = Callable[..., Rehearsal]
Call = Callable[..., dict[str, Any]]
MODEL = Settings(model="small", max_tokens=200)
PLAN = """#Task1: Count the corrective work orders of Chiller 1 in 2019.
#Agent1: WO
#Dependency1: None
#ExpectedOutput1: The number"""


def role(body: dict[str, Any]) -> str:
    """Which part of a kit asks, by its prompt."""
    first = str(body["messages"][0]["content"])
    for words, name in (
        ("You supervise", "supervisor"),
        ("You plan", "planner"),
        ("Review this plan", "reviewer"),
        ("What the steps", "summary"),
        ("works on a part of it and asks", "clarify"),
    ):
        if words in first:
            return name
    return "agent"


def observed(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def script(**parts: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any], int], Any]:
    return lambda body, number: parts[role(body)](body)


def wo_agent(call: Call) -> Callable[[dict[str, Any]], Any]:
    """A WO agent that counts with a tool and reports what it was told."""

    def says(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["role"] != "tool":
            return call("list_workorders", equipment_id="CHL1", start="2019-01-01", end="2019-12-31", kind="corrective")
        total = json.loads(observed(body))["total"]
        return json.dumps({"text": f"{total} jobs.", "work_orders": total})

    return says


def supervisor(body: dict[str, Any]) -> str:
    if "Observation" not in observed(body):
        ask = {"thought": "ask", "action": "THINK-ACT", "agent": "WOAgent", "request": "Count the corrective jobs."}
        return f"Sure!\n```json\n{json.dumps(ask)[:-1]},}}\n```"  # a comma too many
    return json.dumps({"thought": "known", "action": "FINISH", "answer": "Two.", "data": {"work_orders": 2}})


def test_a_model_supervises_and_sub_agents_call_their_own_tools_only(
    supervisor_kit: Any, rehearse: Rehearse, provider: ModelServer, tool_call: Call
) -> None:
    provider.says = script(supervisor=supervisor, agent=wo_agent(tool_call))
    episode = rehearse(QUESTION, url=provider.url, work_orders="integer")
    text, data = supervisor_kit.solver.solve(episode, MODEL)
    assert (text, data) == ("Two.", {"work_orders": 2})
    assert [name for name, _ in episode.calls] == ["list_workorders"]
    offered = {tool["function"]["name"] for body in provider.seen for tool in body.get("tools", [])}
    assert offered == {"list_workorders", "list_equipment", "jsonreader", "ask_parent"}
    assert {body["model"] for body in provider.seen} == {"small"}
    assert {body["temperature"] for body in provider.seen} == {0.0}
    assert [step["agent"] for step in episode.plans[-1]] == ["WOAgent"]


@pytest.mark.parametrize("on", [True, False])
def test_agent_ask_is_offered_to_models_where_it_is_on(
    supervisor_kit: Any, rehearse: Rehearse, provider: ModelServer, tool_call: Call, on: bool
) -> None:
    def asking(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["role"] != "tool":
            return tool_call("ask_parent", question="Which year?") if on else json.dumps({"text": "Unsure."})
        return json.dumps({"text": observed(body), "year": observed(body)})

    provider.says = script(supervisor=supervisor, agent=asking, clarify=lambda body: "In 2019.")
    episode = rehearse(QUESTION, url=provider.url, work_orders="integer")
    settings = Settings(model="small", max_tokens=200, agent_ask=on)
    supervisor_kit.solver.solve(episode, settings)
    record = json.loads(episode.notes[-1])
    asked = [{"agent": "WOAgent", "question": "Which year?", "answer": "In 2019."}]
    assert record["agent_asks"] == (asked if on else [])
    assert ("ask_parent" in json.dumps([body.get("tools") for body in provider.seen])) == on


@pytest.mark.parametrize("on", [True, False])
def test_in_context_examples_are_a_setting(
    supervisor_kit: Any, rehearse: Rehearse, provider: ModelServer, tool_call: Call, on: bool
) -> None:
    provider.says = script(supervisor=supervisor, agent=wo_agent(tool_call))
    episode = rehearse(QUESTION, url=provider.url, work_orders="integer")
    supervisor_kit.solver.solve(episode, Settings(model="small", max_tokens=200, examples=on))
    prompts = [str(body["messages"][0]["content"]) for body in provider.seen]
    assert [("Example:" in prompt) for prompt in prompts] == [on] * len(prompts)


def test_a_model_plans_is_reviewed_and_summarises(
    planner_kit: Any, rehearse: Rehearse, provider: ModelServer, tool_call: Call
) -> None:
    reviews = [
        '{"status": "rejected", "reasoning": "no year", "suggestions": ["Name the year."]}',
        "{'status': 'approved'}",
    ]
    provider.says = script(
        planner=lambda body: PLAN if "Name the year" in observed(body) else PLAN.replace(" in 2019", ""),
        reviewer=lambda body: reviews.pop(0),
        agent=wo_agent(tool_call),
        summary=lambda body: json.dumps({"answer": "Two repairs.", "data": {"work_orders": 2}}),
    )
    episode = rehearse(QUESTION, url=provider.url, work_orders="integer")
    text, data = planner_kit.solver.solve(episode, MODEL)
    assert (text, data) == ("Two repairs.", {"work_orders": 2})
    plan = [
        {"agent": "WOAgent", "instruction": "Count the corrective work orders of Chiller 1 in 2019.", "depends_on": []}
    ]
    assert episode.plans == [plan]
    actions = [step["action"] for step in json.loads(episode.notes[-1])["steps"]]
    assert actions == ["plan", "review", "plan", "review", "delegate", "summarise"]


def test_a_coding_agent_runs_its_programs_with_the_code_tool(
    planner_kit: Any, rehearse: Rehearse, provider: ModelServer, plant: Any
) -> None:
    ran: list[str] = []

    def run_wo_code(code: str) -> Any:
        ran.append(code)
        return {"stdout": "2\n", "stderr": "", "exit_code": 0, "seconds": 0.1, "truncated": False}

    def coder(body: dict[str, Any]) -> str:
        last = observed(body)
        return json.dumps({"text": "Two.", "work_orders": 2}) if "stdout" in last else "```python\nprint(1 + 1)\n```"

    provider.says = script(
        planner=lambda body: PLAN,
        reviewer=lambda body: '{"status": "approved"}',
        agent=coder,
        summary=lambda body: json.dumps({"answer": "Two.", "data": {"work_orders": 2}}),
    )
    episode = rehearse(QUESTION, url=provider.url, tools={**plant.as_tools(), "run_wo_code": run_wo_code}, n="integer")
    planner_kit.solver.solve(episode, MODEL)
    assert ran == ["print(1 + 1)\n"]
    offered = {tool["function"]["name"] for body in provider.seen for tool in body.get("tools", [])}
    assert offered == {"run_wo_code", "ask_parent"}
    assert "/app/data" in json.dumps([body["messages"][0] for body in provider.seen])


def test_what_a_model_spoils_is_asked_for_again_and_then_done_by_rules(
    supervisor_kit: Any, rehearse: Rehearse, provider: ModelServer
) -> None:
    provider.says = lambda body, number: "I would rather talk about the weather."
    episode = rehearse(QUESTION, url=provider.url, work_orders="integer")
    _, data = supervisor_kit.solver.solve(episode, MODEL)
    assert data == {"work_orders": 2}
    asked = [body for body in provider.seen if role(body) == "supervisor"]
    assert len(asked) == 3
    assert "cannot be used" in observed(asked[1])


@pytest.mark.parametrize("kit", ["supervisor_kit", "planner_kit"])
def test_without_a_provider_rules_answer(request: Any, rehearse: Rehearse, kit: str) -> None:
    modules = request.getfixturevalue(kit)
    episode = rehearse(QUESTION, url="http://127.0.0.1:9/v1", work_orders="integer")
    _, data = modules.solver.solve(episode, MODEL)
    assert data == {"work_orders": 2}


@pytest.mark.parametrize("kit", ["supervisor_kit", "planner_kit"])
def test_no_call_is_made_that_the_budget_might_not_allow(
    request: Any, rehearse: Rehearse, provider: ModelServer, kit: str
) -> None:
    modules = request.getfixturevalue(kit)
    episode = rehearse(QUESTION, url=provider.url, budget={"tokens": 500}, work_orders="integer")
    _, data = modules.solver.solve(episode, MODEL)
    assert provider.seen == []
    assert data == {"work_orders": 2}


def test_a_refusal_of_the_model_does_not_win_over_what_rules_found(
    planner_kit: Any, rehearse: Rehearse, provider: ModelServer, tool_call: Call
) -> None:
    provider.says = script(
        planner=lambda body: PLAN,
        reviewer=lambda body: '{"status": "approved"}',
        agent=wo_agent(tool_call),
        summary=lambda body: json.dumps({"answer": "I cannot say.", "data": {"abstain": True}}),
    )
    episode = rehearse(QUESTION, url=provider.url, work_orders="integer")
    assert planner_kit.solver.solve(episode, MODEL)[1] == {"work_orders": 2}


def test_a_models_plan_for_the_planning_track(supervisor_kit: Any, rehearse: Rehearse, provider: ModelServer) -> None:
    steps = [{"agent": "WO", "instruction": "Count the jobs."}, {"agent": "WOAgent", "instruction": "Report them."}]
    provider.says = lambda body, number: json.dumps({"steps": steps})
    episode = rehearse(QUESTION, url=provider.url, tools={})
    supervisor_kit.solver.solve(episode, MODEL)
    assert [(one["agent"], one["depends_on"]) for one in episode.plans[-1]] == [("WOAgent", []), ("WOAgent", [0])]
