"""Plans as text: what is written is read back, and what models make of the form is read all the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_agent.assetops import Step
from gauntlet_agent.assetops.roster import AGENTS

PLAIN = """#Task1: List the recorded sensors of Chiller 6.
#Agent1: IoTAgent
#Dependency1: None
#ExpectedOutput1: Their names
#Task2: Report the failure modes that they tell of.
#Agent2: FMSRAgent
#Dependency2: #S1
#ExpectedOutput2: Failure modes"""
STEPS = [
    Step("IoTAgent", "List the recorded sensors of Chiller 6.", (), "Their names"),
    Step("FMSRAgent", "Report the failure modes that they tell of.", (0,), "Failure modes"),
]
WRITTEN = {
    "plain": PLAIN,
    "equal signs": PLAIN.replace(": ", " = "),
    "spaces": PLAIN.replace("#Task", "# Task ").replace("#ExpectedOutput", "#Expected Output "),
    "small letters": PLAIN.replace("#Task", "#task").replace("#Agent", "#agent"),
    "bold": "\n".join(f"**{line.split(':')[0]}:**{line.split(':', 1)[1]}" for line in PLAIN.splitlines()),
    "a list": "\n".join(f"- {line}" for line in PLAIN.splitlines()),
    "fenced": f"Here is the plan:\n```\n{PLAIN}\n```",
    "talked around": f"Let me think about it.\n\n{PLAIN}\n\nThis plan answers the question.",
    "empty lines": PLAIN.replace("\n", "\n\n"),
    "over two lines": PLAIN.replace("sensors of", "sensors\n   of"),
    "gaps in the numbers": PLAIN.replace("2:", "5:"),
    "another word for a reference": PLAIN.replace("#S1", "Task 1"),
    "a bare number": PLAIN.replace("#S1", "1"),
    "names of agents as people write them": PLAIN.replace("IoTAgent", "IoT Agent").replace("FMSRAgent", "FMSA"),
    "windows": PLAIN.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_every_way_to_write_it_is_read(planner_kit: Any, text: str) -> None:
    parsed = planner_kit.plan_text.parse_plan(text)
    assert parsed.steps == STEPS
    assert parsed.repairs == []


def test_an_unknown_agent_becomes_the_first_and_that_is_said(planner_kit: Any) -> None:
    parsed = planner_kit.plan_text.parse_plan(PLAIN.replace("FMSRAgent", "WeatherAgent"))
    assert parsed.steps[1].agent == next(iter(AGENTS))
    assert "WeatherAgent" in parsed.repairs[0]


@pytest.mark.parametrize("reference", ["#S2", "#S7", "#S2, #S1", "#S3 and #S1"])
def test_dependencies_that_are_no_earlier_step_are_dropped(planner_kit: Any, reference: str) -> None:
    parsed = planner_kit.plan_text.parse_plan(PLAIN.replace("#S1", reference))
    assert parsed.steps[1].depends_on == ((0,) if "#S1" in reference else ())
    assert len(parsed.repairs) == 1


def test_missing_fields_are_empty_and_a_plan_without_tasks_is_none(planner_kit: Any) -> None:
    parsed = planner_kit.plan_text.parse_plan("#Task1: Look.\n#Agent1: WOAgent")
    assert parsed.steps == [Step("WOAgent", "Look.")]
    for text in ("", "I cannot plan this.", "#Agent1: WOAgent"):
        with pytest.raises(planner_kit.plan_text.NoPlan):
            planner_kit.plan_text.parse_plan(text)


_SENTENCE = st.text("abcXYZ 0123456789'%,-", min_size=1, max_size=60).map(
    lambda text: " ".join(f"x {text} end".split())
)


@st.composite
def plans(draw: Any) -> list[Step]:
    steps = []
    for position in range(draw(st.integers(1, 8))):
        needs = draw(st.sets(st.integers(0, position - 1))) if position else set()
        agent = draw(st.sampled_from(list(AGENTS)))
        steps.append(Step(agent, draw(_SENTENCE), tuple(sorted(needs)), draw(_SENTENCE)))
    return steps


@given(steps=plans())
def test_what_is_written_is_read_back(planner_kit: Any, steps: list[Step]) -> None:
    text = planner_kit.plan_text.format_plan(steps)
    parsed = planner_kit.plan_text.parse_plan(text)
    assert parsed.steps == steps
    assert parsed.repairs == []


@given(text=st.text("#TaskAgentDependencyExpectedOutput123:= \n*S", max_size=300))
def test_nothing_that_is_written_breaks_the_reader(planner_kit: Any, text: str) -> None:
    try:
        parsed = planner_kit.plan_text.parse_plan(text)
    except planner_kit.plan_text.NoPlan:
        return
    assert all(other < position for position, step in enumerate(parsed.steps) for other in step.depends_on)
