"""Plans are reviewed, executed as a DAG with independent steps at once, and summarised."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gauntlet_agent.assetops import Report, Review, Settings, Step, Trajectory
from gauntlet_agent.assetops.answering import open_workplace
from gauntlet_agent.assetops.report import Request
from gauntlet_agent.errors import GatewayUnreachable
from gauntlet_agent.rehearsal import Rehearsal

QUESTION = "Which failure modes of Chiller 1 at MAIN can not be told by any of its recorded sensors?"
Rehearse = Callable[..., Rehearsal]
WAIT = 30.0  # for what must happen; a test that waits as long has failed


class Worker:
    """An agent that keeps in which order it worked, and waits where it is told to."""

    name = "WOAgent"

    def __init__(self) -> None:
        self.order: list[str] = []
        self.requests: dict[str, Request] = {}
        self.gates: dict[str, Callable[[], Any]] = {}
        self.failing: set[str] = set()
        self.under_way = 0
        self.most = 0
        self._lock = threading.Lock()

    def work(self, request: str, desk: Any) -> Report:
        asked = Request.read(request)
        with self._lock:
            self.order.append(asked.words)
            self.requests[asked.words] = asked
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        try:
            self.gates.get(asked.words, lambda: None)()
            if asked.words in self.failing:
                return Report.failed(f"{asked.words} is not known")
            return Report.of(asked.words, {asked.words: len(self.order)})
        finally:
            with self._lock:
                self.under_way -= 1


def execute(kit: Any, worker: Worker, steps: list[Step], *, parallel: bool = True, calls: int = 4) -> list[Report]:
    episode = Rehearsal("?", budget={"parallel_tool_calls": calls})
    place = open_workplace(episode, Settings())
    orchestrator = kit.orchestrator.Orchestrator(place, {"WOAgent": worker}, parallel=parallel)
    memory = kit.orchestrator.SharedMemory("the question")
    reports: list[Report] = orchestrator.execute(steps, memory, Trajectory("?", "test"))
    return reports


def step(name: str, *needs: int) -> Step:
    return Step("WOAgent", name, needs)


def test_a_step_begins_after_those_that_it_needs_and_is_given_what_they_found(planner_kit: Any) -> None:
    worker = Worker()
    reports = execute(planner_kit, worker, [step("a"), step("b", 0), step("c", 0), step("d", 1, 2)])
    assert worker.order[0] == "a"
    assert worker.order[3] == "d"
    assert [report.text for report in reports] == ["a", "b", "c", "d"]
    known = worker.requests["d"].known
    assert {"b", "c"} <= set(known)
    assert "a" not in known
    assert [list(one) for one in known["steps"]] == [["b"], ["c"]]
    assert known["question"] == "the question"


def test_independent_steps_run_at_the_same_time(planner_kit: Any) -> None:
    worker = Worker()
    both = threading.Barrier(2)
    worker.gates = {"a": lambda: both.wait(WAIT), "b": lambda: both.wait(WAIT)}
    reports = execute(planner_kit, worker, [step("a"), step("b"), step("c", 0, 1)])
    assert [report.review.status for report in reports] == ["accomplished"] * 3


def test_a_step_does_not_wait_for_a_slow_one_that_it_does_not_need(planner_kit: Any) -> None:
    worker = Worker()
    after = threading.Event()
    worker.gates = {"slow": lambda: after.wait(WAIT) or pytest.fail("it was waited for"), "last": after.set}
    execute(planner_kit, worker, [step("slow"), step("quick"), step("last", 1)])
    assert worker.order.index("last") == 2


@pytest.mark.parametrize(("parallel", "calls"), [(False, 4), (True, 1)])
def test_one_after_the_other_where_the_setting_or_the_phase_says_so(
    planner_kit: Any, parallel: bool, calls: int
) -> None:
    worker = Worker()
    execute(planner_kit, worker, [step(name) for name in "abcdef"], parallel=parallel, calls=calls)
    assert worker.most == 1


def test_no_more_at_once_than_the_phase_allows(planner_kit: Any) -> None:
    worker = Worker()
    three = threading.Barrier(3)
    worker.gates = {name: lambda: three.wait(WAIT) for name in "abcdef"}
    execute(planner_kit, worker, [step(name) for name in "abcdef"], calls=3)
    assert worker.most == 3


def test_what_needs_a_failed_step_is_skipped_and_the_rest_is_done(planner_kit: Any) -> None:
    worker = Worker()
    worker.failing = {"a"}
    reports = execute(planner_kit, worker, [step("a"), step("b", 0), step("c"), step("d", 1)])
    assert sorted(worker.order) == ["a", "c"]
    assert [report.review.status for report in reports] == ["failed", "failed", "accomplished", "failed"]
    assert "a is not known" in reports[3].text


def test_what_an_agent_raises_goes_up(planner_kit: Any) -> None:
    worker = Worker()

    def gone() -> None:
        raise GatewayUnreachable("gone")

    worker.gates = {"a": gone}
    with pytest.raises(GatewayUnreachable):
        execute(planner_kit, worker, [step("a"), step("b")])


class Planning:
    """A planner that has one plan after the other, and keeps what it was told."""

    def __init__(self, *plans: list[Step]) -> None:
        self.plans = list(plans)
        self.findings: list[tuple[str, ...]] = []

    def plan(self, question: str, *, before: Any = (), findings: Any = ()) -> list[Step]:
        self.findings.append(tuple(findings))
        return self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]


class Reviewing:
    def __init__(self, *reviews: Review) -> None:
        self.reviews = list(reviews)

    def review(self, question: str, steps: Any) -> Review:
        return self.reviews.pop(0) if len(self.reviews) > 1 else self.reviews[0]


BAD = Review("failed", "No.", ("Name the asset.",))


def test_a_plan_that_the_reviewer_rejects_is_written_again_with_the_findings(planner_kit: Any) -> None:
    planner = Planning([step("a")], [step("b")])
    record = Trajectory("?", "test")
    reviewer = Reviewing(BAD, Review("accomplished"))
    steps = planner_kit.reviewer.reviewed_plan("?", planner, reviewer, retries=3, record=record)
    assert steps == [step("b")]
    assert planner.findings == [(), ("Name the asset.",)]
    assert [one.action for one in record.steps] == ["plan", "review", "plan", "review"]


def test_retries_end_and_the_last_plan_is_taken(planner_kit: Any) -> None:
    planner = Planning(*[[step(name)] for name in "abcdefgh"])
    steps = planner_kit.reviewer.reviewed_plan("?", planner, Reviewing(BAD), retries=2, record=Trajectory("?", "t"))
    assert steps == [step("c")]


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([], "no steps"),
        ([Step("EchoAgent", "Echo Chiller 1.")], "no agent EchoAgent"),
        ([Step("WOAgent", "Look at Chiller 1.", (0,))], "not before it"),
        ([Step("WOAgent", "Look.")], "No step is about Chiller 1"),
        ([Step("WOAgent", f"Look {n} at Chiller 1.") for n in range(13)], "13 steps"),
    ],
)
def test_rules_reject_what_cannot_work(planner_kit: Any, steps: list[Step], says: str) -> None:
    review = planner_kit.reviewer.RuleReviewer().review(QUESTION, steps)
    assert review.status == "failed"
    assert any(says in one for one in review.suggestions)


def test_the_whole_kit_by_rules(planner_kit: Any, rehearse: Rehearse) -> None:
    episode = rehearse(QUESTION, failure_modes="list of text")
    _, data = planner_kit.solver.solve(episode, Settings())
    assert data == {"failure_modes": ["Overheating"]}
    assert [one["agent"] for one in episode.plans[0]] == ["IoTAgent", "FMSRAgent", "FMSRAgent"]
    assert episode.plans[0][2]["depends_on"] == [0, 1]
    assert episode.notes[0].startswith("#Task1: List the recorded sensors of Chiller 1.\n#Agent1: IoTAgent")
    record = json.loads(episode.notes[-1])
    assert record["paradigm"] == "plan-execute"
    assert [one["action"] for one in record["steps"]] == ["plan", "review", *["delegate"] * 3, "summarise"]


def test_readings_go_from_agent_to_agent_as_a_file(planner_kit: Any, rehearse: Rehearse) -> None:
    episode = rehearse("What was the average tonnage of Chiller 1 on 1 June 2020?", mean="number")
    _, data = planner_kit.solver.solve(episode, Settings())
    assert data == {"mean": 2.0}
    assert ("jsonreader", "history_1.json") in [(name, given.get("file_name")) for name, given in episode.calls]


@pytest.mark.parametrize(
    "question",
    [
        "What was the average oil pressure of Chiller 1 on 1 June 2020?",
        "Which failure modes of asset Wind Turbine are on record in our library?",
        "How many preventive work orders were completed for Chiller 3 in 2019?",
    ],
)
def test_what_nobody_recorded_is_declined(planner_kit: Any, rehearse: Rehearse, question: str) -> None:
    text, data = planner_kit.solver.solve(rehearse(question, value="number"), Settings())
    assert data == {"abstain": True}
    assert text.startswith("The records cannot answer this: ")


def test_the_planning_track_is_answered_with_the_plan(planner_kit: Any, rehearse: Rehearse) -> None:
    episode = rehearse(QUESTION, tools={})
    text, data = planner_kit.solver.solve(episode, Settings())
    assert planner_kit.plan_text.parse_plan(text).steps[2].depends_on == (0, 1)
    assert data["plan"] == episode.plans[0]
    assert episode.calls == []
