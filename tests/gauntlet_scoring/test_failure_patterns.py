"""The five ways to fail that are told without a model, and which tools failed."""

from __future__ import annotations

import pytest

from gauntlet_scoring.execution.measures import compare_execution
from gauntlet_scoring.execution.pattern_names import FailurePattern
from gauntlet_scoring.execution.patterns import as_checks, failure_patterns
from gauntlet_scoring.execution.tool_errors import StepKind, added, tool_uses

TOOL, PARAMETER, MISSING = FailurePattern.TOOL_SELECTION, FailurePattern.PARAMETER, FailurePattern.MISSING_STEPS
ORDER, EARLY = FailurePattern.INCORRECT_SEQUENCING, FailurePattern.PREMATURE_TERMINATION

STEPS = [
    {"name": "s1", "action": "sites", "agent": "A", "outputs": ["place"]},
    {"name": "s2", "action": "history", "agent": "A", "arguments": {"site": "@place", "asset": "Chiller 6"}},
    {"name": "s3", "action": "Finish", "agent": "A"},
]
LINKS = [{"source": "s1", "target": "s2"}, {"source": "s2", "target": "s3"}]
SITES, HISTORY = ("sites", {}, "MAIN"), ("history", {"site": "MAIN", "asset": "Chiller 6"}, {"rows": 3})


@pytest.fixture
def patterns(recorded, ground_truth):
    """`patterns(*calls, **answer)` of an episode on the scenario above."""

    def found(*calls, steps=STEPS, **answer):
        truth = ground_truth(execution_steps=steps, execution_links=LINKS, final_out={"rows": 3})
        episode = recorded(*calls, **{"data": {"rows": 3}, **answer})
        return {name: told for name, told in failure_patterns(compare_execution(truth, episode)).items() if told}

    return found


def test_what_is_right_shows_none(patterns):
    assert patterns(SITES, HISTORY) == {}


def test_a_tool_that_the_reference_does_not_use(patterns):
    echo = ("echo_agent", {"request": "x"}, "x")
    assert patterns(SITES, HISTORY, echo, echo) == {
        TOOL: ["echo_agent was called 2 times, which the reference does not use"]
    }


def test_where_a_step_leaves_the_tool_open_none_is_wrong(patterns):
    free = [{**STEPS[0], "deterministic": {"action": False}}, *STEPS[1:]]
    assert patterns(("places", {}, "MAIN"), HISTORY, steps=free) == {}


def test_a_wrong_argument_a_made_up_reference_and_a_refused_call(patterns):
    found = patterns(
        SITES,
        ("history", {"site": "MAIN"}, ValueError()),
        ("history", {"site": "MAIN", "asset": "Chiller 9"}, {"rows": 3}),
    )
    assert found == {
        PARAMETER: [
            "history: asset expected 'Chiller 6', found 'Chiller 9'",
            "history({'site': 'MAIN'}) was answered with an error",
        ]
    }
    assert patterns(SITES, ("history", {"site": "NORTH", "asset": "Chiller 6"}, "x")) == {
        PARAMETER: ["history: site should come from an earlier call, found 'NORTH'"]
    }


def test_a_missing_step(patterns):
    assert patterns(SITES) == {MISSING: ["step s2 (history) is missing"]}


def test_a_step_before_what_it_builds_on(patterns):
    found = patterns(HISTORY, SITES)
    assert found[ORDER] == ["step s2 (history) came before step s1 (sites), which it builds on"]
    assert found[PARAMETER] == ["history: site should come from an earlier call, found 'MAIN'"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"answered": False}, "the episode ended with time_limit and without an answer"),
        ({"data": None}, "the answer has none of the fields that were asked for"),
        ({"data": {}}, "the answer has none of the fields that were asked for"),
        ({"data": {"rows": "three"}}, "the answer has none of the fields that were asked for"),
    ],
)
def test_no_answer_or_one_that_says_nothing(patterns, answer, said):
    found = patterns(SITES, HISTORY, **answer)
    assert found[EARLY][0] == said
    assert set(found) == {EARLY, MISSING} if "answered" in answer else {EARLY}


def test_an_agent_cannot_fill_a_page(patterns):
    calls = [(f"tool_{number}", {}, "x") for number in range(500)]
    checks = as_checks({TOOL: patterns(SITES, HISTORY, *calls)[TOOL], MISSING: []})
    assert len(checks["tool_selection"]) == 21
    assert checks["tool_selection"][-1]["reason"] == "and 480 more"
    assert checks["missing_steps"] == [
        {"kind": "pattern", "holds": True, "reason": "every step of the reference was done"}
    ]


def test_tool_errors_by_tool_and_kind_of_step(recorded):
    """By hand: jsonreader fails twice of three, code once by an error and once by its exit status, of three."""
    read = ("jsonreader", {"file_name": "x"})
    code = ("run_wo_code", {"code": "1/0"})
    episode = recorded(
        *[(*read, ValueError()), (*read, ...), (*read, "ok"), ("sites", {}, "MAIN")],
        *[(*code, ValueError()), (*code, {"exit_code": 1}), (*code, {"exit_code": 0})],
    )
    uses = tool_uses(episode.calls)
    assert [(use.tool, use.kind, use.calls, use.errors, use.unanswered, use.failed) for use in uses] == [
        ("jsonreader", StepKind.TOOL, 3, 1, 1, 2),
        ("run_wo_code", StepKind.CODE, 3, 2, 0, 2),
        ("sites", StepKind.TOOL, 1, 0, 0, 0),
    ]
    assert uses[0].seconds == 1.0
    assert [(use.tool, use.calls, use.failed) for use in added([*uses, *uses])] == [
        ("jsonreader", 6, 4),
        ("run_wo_code", 6, 4),
        ("sites", 2, 0),
    ]
