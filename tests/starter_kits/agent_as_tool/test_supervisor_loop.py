"""The supervisor's loop: stubs and their contract, T_max, history, Agent-Ask, reflection, and what ends it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gauntlet_agent.assetops import Report, Review, Settings, Trajectory
from gauntlet_agent.assetops.answering import open_workplace
from gauntlet_agent.rehearsal import Rehearsal

QUESTION = "Split the work orders of Chiller 1 completed in 2019 into preventive and corrective."
FIELDS = {"preventive": "integer, how many", "corrective": "integer, how many"}
Rehearse = Callable[..., Rehearsal]


class Scripted:
    """A sub-agent that says what it is told to; it asks first where it has a question."""

    def __init__(self, name: str, *reports: Report, asks: str = "") -> None:
        self.name = name
        self._reports = list(reports)
        self._asks = asks
        self.requests: list[str] = []
        self.told: list[str | None] = []

    def work(self, request: str, desk: Any) -> Report:
        self.requests.append(request)
        if self._asks:
            self.told.append(desk.ask(self._asks))
        return self._reports.pop(0) if len(self._reports) > 1 else self._reports[0]


def decider(kit: Any, *decisions: Any, reviews: tuple[Review, ...] = ()) -> Any:
    """A decider that goes on with the same decision when there is no other."""

    class Fixed(kit.deciders.RuleDecider):
        def __init__(self) -> None:
            super().__init__()
            self.left = list(decisions)
            self.reviews = list(reviews)
            self.seen: list[list[str]] = []

        def think(self, memory: Any) -> Any:
            self.seen.append([turn.observation for turn in memory.history])
            return self.left.pop(0) if len(self.left) > 1 else self.left[0]

        def review(self, memory: Any, text: str, data: Any) -> Review:
            return self.reviews.pop(0) if self.reviews else super().review(memory, text, data)

    return Fixed()


def loop(kit: Any, episode: Rehearsal, team: dict[str, Any], decides: Any, **given: Any) -> Any:
    settings = Settings(agent_ask=given.pop("agent_ask", True))
    place = open_workplace(episode, settings)
    supervisor = kit.supervisor.Supervisor(place, team, decides, **{"max_steps": 5, **given})
    record = Trajectory(episode.text, "test")
    return supervisor.solve(episode.text, episode.show, record), record, place


def test_a_stub_takes_one_string_and_returns_the_three_fields(supervisor_kit: Any, rehearse: Rehearse) -> None:
    place = open_workplace(rehearse(QUESTION), Settings())
    team = supervisor_kit.roster.team(Settings(), place)
    stub = supervisor_kit.stubs.Stub(team["WOAgent"], place, lambda agent, question: None)
    said = stub("Retrieve the corrective work orders of Chiller 1 completed in 2019.")
    assert set(said) == {"answer", "review", "summary"}
    assert set(said["review"]) == {"status", "reasoning", "suggestions"}
    assert isinstance(said["answer"], str)
    assert json.loads(said["answer"])["corrective"] == 2
    assert said["review"]["status"] == "accomplished"
    json.dumps(said)


def test_a_stub_of_a_request_that_cannot_be_met_says_why(supervisor_kit: Any, rehearse: Rehearse) -> None:
    place = open_workplace(rehearse(QUESTION), Settings())
    team = supervisor_kit.roster.team(Settings(), place)
    stub = supervisor_kit.stubs.Stub(team["WOAgent"], place, lambda agent, question: None)
    said = stub("Retrieve the work orders of Chiller 99 completed in 2019.")
    assert said["review"]["status"] == "failed"
    assert "Chiller 99" in said["review"]["reasoning"]


def test_the_loop_returns_output_plan_and_history(supervisor_kit: Any, rehearse: Rehearse) -> None:
    episode = rehearse(QUESTION, **FIELDS)
    place = open_workplace(episode, Settings())
    team = supervisor_kit.roster.team(Settings(), place)
    outcome, record, _ = loop(supervisor_kit, episode, team, supervisor_kit.deciders.RuleDecider())
    assert outcome.answer[1] == {"preventive": 3, "corrective": 2}
    assert [step.agent for step in outcome.plan] == ["WOAgent"] * 3
    assert outcome.plan[2].depends_on == (0, 1)
    kinds = [type(turn.decision).__name__ for turn in outcome.history]
    assert kinds == ["ThinkAct", "ThinkAct", "ThinkAct", "Finish"]
    assert record.as_json()["review_status"] == "accomplished"


def test_t_max_bounds_the_loop(supervisor_kit: Any, rehearse: Rehearse) -> None:
    more = supervisor_kit.memory.ThinkAct("again", "WOAgent", "Count.")
    agent = Scripted("WOAgent", Report.of("one", {"n": 1}))
    outcome, record, _ = loop(
        supervisor_kit, rehearse("?"), {"WOAgent": agent}, decider(supervisor_kit, more), max_steps=3
    )
    assert len(agent.requests) == len(outcome.plan) == 3
    assert isinstance(outcome.history[-1].decision, supervisor_kit.memory.Finish)
    assert "T_max" in outcome.history[-1].decision.thought
    assert [step.action for step in record.steps] == ["delegate"] * 3 + ["finish", "review"]


def test_finish_ends_the_loop_at_once(supervisor_kit: Any, rehearse: Rehearse) -> None:
    done = supervisor_kit.memory.Finish("known", "It is 7.", {"n": 7})
    agent = Scripted("WOAgent", Report.of("one", {"n": 1}))
    outcome, _, _ = loop(supervisor_kit, rehearse("?", n="integer"), {"WOAgent": agent}, decider(supervisor_kit, done))
    assert agent.requests == []
    assert outcome.answer == ("It is 7.", {"n": 7})


def test_observations_are_compressed_before_they_are_kept(supervisor_kit: Any, rehearse: Rehearse) -> None:
    act = supervisor_kit.memory.ThinkAct("look", "WOAgent", "Look.")
    agent = Scripted("WOAgent", Report.of("x" * 20_000, {"n": 1}))
    decides = decider(supervisor_kit, act, act, supervisor_kit.memory.Finish("done"))
    loop(supervisor_kit, rehearse("?"), {"WOAgent": agent}, decides)
    assert all(len(observation) < 1000 for observation in decides.seen[2])
    assert "characters left out" in decides.seen[2][0]


def test_an_agent_that_does_not_exist_is_an_observation_and_no_crash(supervisor_kit: Any, rehearse: Rehearse) -> None:
    act = supervisor_kit.memory.ThinkAct("look", "EchoAgent", "Look.")
    decides = decider(supervisor_kit, act, supervisor_kit.memory.Finish("done"))
    outcome, record, _ = loop(supervisor_kit, rehearse("?"), {}, decides)
    assert "There is no agent EchoAgent" in outcome.history[0].observation
    assert record.steps[0].state == "failed"


@pytest.mark.parametrize("on", [True, False])
def test_a_sub_agent_may_ask_its_parent_where_that_is_switched_on(
    supervisor_kit: Any, rehearse: Rehearse, on: bool
) -> None:
    act = supervisor_kit.memory.ThinkAct("look", "WOAgent", "Look.")
    agent = Scripted("WOAgent", Report.of("one", {"n": 1}), asks="Which machine?")
    decides = decider(supervisor_kit, act, supervisor_kit.memory.Finish("done"))
    _, record, place = loop(supervisor_kit, rehearse(QUESTION), {"WOAgent": agent}, decides, agent_ask=on)
    assert agent.told == [QUESTION if on else None]
    asked = record.as_json(place)["agent_asks"]
    assert asked == ([{"agent": "WOAgent", "question": "Which machine?", "answer": QUESTION}] if on else [])


@pytest.mark.parametrize(("on", "status"), [(True, "accomplished"), (False, "failed")])
def test_what_a_request_leaves_out_is_asked_for_by_rules_too(
    supervisor_kit: Any, rehearse: Rehearse, on: bool, status: str
) -> None:
    act = supervisor_kit.memory.ThinkAct("count", "WOAgent", "Count the corrective work orders.")
    episode = rehearse("How many corrective jobs were completed on Chiller 1 in 2019?")
    place = open_workplace(episode, Settings())
    team = supervisor_kit.roster.team(Settings(), place)
    decides = decider(supervisor_kit, act, supervisor_kit.memory.Finish("done"))
    outcome, _, used = loop(supervisor_kit, episode, team, decides, agent_ask=on)
    report = outcome.history[0].observation
    assert ('"work_orders": 2' in report) == on
    assert bool(used.asked) == on


def test_one_reflection_is_none_and_more_make_the_answer_again(supervisor_kit: Any, rehearse: Rehearse) -> None:
    act = supervisor_kit.memory.ThinkAct("look", "WOAgent", "Look.")
    done = supervisor_kit.memory.Finish("done")
    bad, good = Review("partial", "Too short.", ("Say more.",)), Review("accomplished")
    for reflections, works in ((1, 1), (3, 2)):
        agent = Scripted("WOAgent", Report.of("one", {"n": 1}))
        decides = decider(supervisor_kit, act, done, act, done, act, done, reviews=(bad, good, good))
        loop(supervisor_kit, rehearse("?"), {"WOAgent": agent}, decides, reflections=reflections)
        assert len(agent.requests) == works


def test_the_whole_kit_by_rules_declares_its_plan_and_leaves_its_record(
    supervisor_kit: Any, rehearse: Rehearse
) -> None:
    episode = rehearse(QUESTION, **FIELDS)
    text, data = supervisor_kit.solver.solve(episode, Settings())
    assert data == {"preventive": 3, "corrective": 2}
    assert "3" in text
    assert [step["agent"] for step in episode.plans[-1]] == ["WOAgent"] * 3
    assert episode.plans[-1][2]["depends_on"] == [0, 1]
    record = json.loads(episode.notes[-1])
    assert record["question"] == QUESTION
    assert {"execution_seconds", "number_of_steps", "review_status", "steps", "tool_calls"} <= set(record)
    assert {"action", "state"} <= set(record["steps"][0])


def test_what_is_not_there_is_declined(supervisor_kit: Any, rehearse: Rehearse) -> None:
    text, data = supervisor_kit.solver.solve(rehearse(QUESTION.replace("Chiller 1", "Chiller 4"), **FIELDS), Settings())
    assert data == {"abstain": True}
    assert "no equipment Chiller 4" in text


def test_without_tools_a_plan_is_declared_and_answered_with(supervisor_kit: Any, rehearse: Rehearse) -> None:
    episode = rehearse(QUESTION, tools={})
    text, data = supervisor_kit.solver.solve(episode, Settings())
    assert len(episode.plans[-1]) == len(data["plan"]) == 3
    assert text.startswith("WOAgent: Retrieve the preventive work orders of Chiller 1")
    assert episode.calls == []
