"""The measures of a declared plan against tables computed by hand."""

from __future__ import annotations

import pytest

from gauntlet_scoring.execution.plans import compare_plan
from gauntlet_scoring.ground_truth import PlanningStep
from gauntlet_scoring.trajectory import PlanStep

pytestmark = pytest.mark.oracle

REFERENCE = [
    PlanningStep(agent="IoTAgent", instruction="get the sites"),
    PlanningStep(agent="IoTAgent", instruction="get the history of Chiller 6"),
    PlanningStep(agent="TSFMAgent", instruction="forecast the supply temperature"),
]


def plan(*steps):
    return [PlanStep(agent=agent, instruction=text, depends_on=list(after)) for agent, text, *after in steps]


RIGHT = [(step.agent, step.instruction) for step in REFERENCE]


def test_the_reference_itself_is_one_everywhere():
    assert set(compare_plan(REFERENCE, plan(*RIGHT)).scores().values()) == {1.0}
    chained = plan(RIGHT[0], (*RIGHT[1], 0), (*RIGHT[2], 1))
    assert set(compare_plan(REFERENCE, chained).scores().values()) == {1.0}


def test_no_plan_is_zero_everywhere():
    found = compare_plan(REFERENCE, [])
    assert set(found.scores().values()) == {0.0}
    assert found.uncovered == (0, 1, 2)


def test_a_missing_step_and_an_extra_one():
    """Two of three covered, of three declared; agents differ in one of three; of two neighbours the first is there.

    Declared edges: sites-history is right, history-weather ends in no step.
    """
    found = compare_plan(REFERENCE, plan(RIGHT[0], RIGHT[1], ("EchoAgent", "tell the weather")))
    assert found.coverage == pytest.approx(2 / 3)
    assert found.agents == pytest.approx(2 / 3)
    assert found.nodes.f1 == pytest.approx(2 / 3)
    assert (found.edges.precision, found.edges.recall) == (0.5, 0.5)
    assert found.uncovered == (2,)


def test_the_wrong_agent_covers_nothing_and_no_agent_may():
    other = compare_plan(REFERENCE, plan(("WOAgent", REFERENCE[0].instruction)))
    assert other.coverage == 0.0
    unnamed = compare_plan(REFERENCE, plan(("", REFERENCE[0].instruction)))
    assert unnamed.coverage == pytest.approx(1 / 3)


def test_other_words_cover_from_three_tenths_on():
    """get, the, history, of, chiller, 6 are six words; "load history for chiller 6" has three of them among five."""
    found = compare_plan(REFERENCE[1:2], plan(("iot agent", "load history for chiller 6")))
    assert found.coverage == 1.0  # 2 * 3 / 11 = 0.55
    far = compare_plan(REFERENCE[1:2], plan(("IoTAgent", "open a ticket with history")))
    assert far.coverage == 0.0  # 2 * 1 / 11 = 0.18


def test_the_order_counts():
    found = compare_plan(REFERENCE, plan(RIGHT[2], RIGHT[0], RIGHT[1]))
    assert found.coverage == 1.0
    assert found.agents == pytest.approx(1 - 2 / 3)  # TSFM first, IoT twice: the first and the last differ
    assert (found.edges.precision, found.edges.recall) == (0.5, 0.5)


def test_a_step_that_depends_on_itself_or_a_later_one_is_no_edge():
    odd = plan((*RIGHT[0], 0, 5), (*RIGHT[1], 1), (*RIGHT[2], -1))
    assert compare_plan(REFERENCE, odd).edges.precision == 1.0  # none is left, so it is a chain
