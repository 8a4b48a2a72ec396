"""The execution measures against tables computed by hand."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from gauntlet_scoring.execution.actions import match, recorded_actions, reference_of
from gauntlet_scoring.execution.answer_format import format_compliance
from gauntlet_scoring.execution.measures import (
    action_sequence,
    argument_accuracy,
    compare_execution,
    completeness,
    edit_similarity,
    execution_scores,
    node_overlap,
)
from gauntlet_scoring.ground_truth import GroundTruth

pytestmark = pytest.mark.oracle

AT = "2026-01-01T00:00:00Z"


def step(name, action, agent="A", outputs=(), deterministic=None, **arguments):
    row = {"name": name, "action": action, "agent": agent, "arguments": arguments, "outputs": list(outputs)}
    return row | ({"deterministic": deterministic} if deterministic else {})


def chain(*names):
    return [{"source": a, "target": b} for a, b in pairwise(names)]


def truth(steps, links, text="How many?", **fields):
    rest = {"type": "WO", "category": "Data Query", "deterministic": True, "characteristic_form": "33"}
    plan = [{"agent": "A", "instruction": "do it"}]
    row = {"id": 1, "text": text, "planning_steps": plan, "execution_steps": steps, "execution_links": links}
    return GroundTruth.model_validate(row | rest | fields)


SITE = truth(
    [
        step("s1", "sites", outputs=["all_sites"]),
        step("s2", "history", outputs=["file"], site="@all_sites", asset="Chiller 6"),
        step("s3", "jsonreader", outputs=["rows"], file_name="@file"),
        step("s4", "forecast", agent="B", dataset="@file", horizon=24),
        step("s5", "Finish"),
    ],
    chain("s1", "s2", "s3", "s4", "s5"),
    text="Forecast Chiller 6",
)
RIGHT = [
    ("sites", {}, {"sites": ["MAIN"]}),
    ("history", {"site": "MAIN", "asset": "chiller 6"}, {"file_path": "/tmp/h.json", "total": 96}),
    ("jsonreader", {"file_name": "/tmp/h.json"}, [1, 2]),
    ("forecast", {"dataset": "/tmp/h.json", "horizon": 24.0}, {"file": "/tmp/f.csv"}),
]
AGENTS = {
    "sites": frozenset("A"),
    "history": frozenset("A"),
    "jsonreader": frozenset("AB"),
    "forecast": frozenset("B"),
    "work_orders": frozenset("W"),
}


def scores(reference, recorded):
    return execution_scores(compare_execution(reference, recorded), agents=AGENTS)


def test_the_reference_itself_is_best_everywhere(recorded):
    found = scores(SITE, recorded(*RIGHT))
    assert found.pop("order_violations") == 0.0
    assert set(found.values()) == {1.0}


def test_nothing_done_is_worst(recorded):
    found = scores(SITE, recorded(answered=False))
    assert found.pop("order_violations") == 0.0  # it violated no order either; the others say what it is worth
    assert set(found.values()) == {0.0}


def test_one_step_missing_by_hand(recorded):
    """Without jsonreader: 4 of 5 nodes, 1 deletion of 5; of 4 links s1-s2 holds and s2-s3, s3-s4 do not, s4-s5 does.

    Recorded edges: sites-history and history-forecast by data, forecast-Finish: all three along the reference.
    """
    found = scores(SITE, recorded(RIGHT[0], RIGHT[1], RIGHT[3]))
    assert found["action_sequence"] == pytest.approx(1 - 1 / 5)
    assert found["node_f1"] == pytest.approx(2 * 1 * 0.8 / 1.8)
    assert found["edge_f1"] == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert found["completeness"] == 0.8
    assert found["argument_accuracy"] == pytest.approx(4 / 5)  # file_name of the missing step is wrong
    assert found["step_count_ratio"] == 0.75


def test_a_distractor_counts_against(recorded):
    """Five calls and Finish, five of six are steps; the distractor's two edges (before and after it) are wrong."""
    found = scores(SITE, recorded(RIGHT[0], ("echo_agent", {"request": "hello"}, "hello"), *RIGHT[1:]))
    assert found["action_sequence"] == pytest.approx(1 - 1 / 6)
    assert found["node_f1"] == pytest.approx(2 * (5 / 6) / (5 / 6 + 1))
    # sites-echo and echo-Finish are wrong; sites-history, history-jsonreader, history-forecast, jsonreader-Finish,
    # forecast-Finish are along the reference
    assert found["edge_f1"] == pytest.approx(2 * (5 / 7) / (5 / 7 + 1))
    assert found["completeness"] == 1.0
    assert found["tool_accuracy"] == pytest.approx(4 / 5)
    assert found["agent_selection"] == pytest.approx(2 / 3)
    assert found["step_count_ratio"] == pytest.approx(4 / 5)


def test_wrong_order_by_hand(recorded):
    """history before sites: one of four links runs backwards, and so does the edge that the order of calls gives."""
    found = compare_execution(SITE, recorded(RIGHT[1], RIGHT[0], RIGHT[2], RIGHT[3]))
    values = execution_scores(found, agents=AGENTS)
    assert values["order_violations"] == 0.25
    assert values["node_f1"] == 1.0
    assert values["action_sequence"] == pytest.approx(1 - 2 / 5)
    assert found.violations == ((0, 1),)
    # edges: history-sites (wrong), history-jsonreader, history-forecast, then sinks sites, jsonreader, forecast-Finish
    assert found.overlap.precision == pytest.approx(5 / 6)
    assert found.overlap.recall == pytest.approx(3 / 4)
    assert values["argument_accuracy"] == pytest.approx(4 / 5)  # the site cannot come from a later call


def test_six_of_eight_steps_are_three_quarters(recorded):
    """G25's own example."""
    names = [f"s{number}" for number in range(8)]
    reference = truth([step(name, f"tool_{name}") for name in names], chain(*names))
    done = recorded(*((f"tool_{name}", {}, "ok") for name in names[:6]))
    assert completeness(compare_execution(reference, done)) == 0.75


def test_arguments_by_hand(recorded):
    """asset right, horizon wrong, dataset not from any call: site, asset and file_name right, 3 of 5."""
    calls = [*RIGHT[:3], ("forecast", {"dataset": "/tmp/other.json", "horizon": 12}, "ok")]
    found = compare_execution(SITE, recorded(*calls))
    assert argument_accuracy(found) == pytest.approx(3 / 5)
    wrong = [each.reason for each in found.arguments if not each.right]
    assert wrong == [
        "forecast: dataset should come from an earlier call, found '/tmp/other.json'",
        "forecast: horizon expected 24, found 12",
    ]
    assert found.overlap.recall == 1.0  # no link leads from history to forecast: their order is enough
    linked = truth([row.model_dump() for row in SITE.execution_steps], [*chain("s2", "s4"), *chain("s1", "s2")])
    assert compare_execution(linked, recorded(*calls)).overlap.recall == 0.5  # here it carries the file


def test_what_is_not_deterministic_is_not_judged(recorded):
    free = {"name": True, "action": False, "arguments": False, "outputs": False}
    reference = truth(
        [step("s1", "ask_model", deterministic=free, prompt="one way to say it"), step("f", "Finish")], []
    )
    found = scores(reference, recorded(("ask_other_model", {"prompt": "another"}, "ok")))
    assert (found["action_sequence"], found["node_f1"], found["argument_accuracy"], found["tool_accuracy"]) == (1,) * 4
    only_arguments = truth([step("s1", "ask", deterministic={"arguments": False}, prompt="x")], [])
    found = scores(only_arguments, recorded(("other", {"prompt": "x"}, "ok")))
    assert (found["completeness"], found["argument_accuracy"]) == (0.0, 1.0)


def test_a_free_step_is_no_free_answer(recorded):
    free = {"action": False}
    reference = truth([step("s1", "ask", deterministic=free), step("f", "Finish")], chain("s1", "f"))
    assert scores(reference, recorded())["completeness"] == 0.5
    assert edit_similarity(["a", "b"], ["a"]) == 0.5


def test_parallel_branches_may_come_in_either_order(recorded):
    """Scenario 421's shape: two roots that meet. Each order is right, and so is doing both at once."""
    reference = truth(
        [step("a", "left"), step("b", "right"), step("c", "join"), step("d", "Finish")],
        [*chain("a", "c", "d"), *chain("b", "c")],
    )
    for calls in (("left", "right", "join"), ("right", "left", "join")):
        found = scores(reference, recorded(*((tool, {}, "ok") for tool in calls)))
        assert (found["node_f1"], found["edge_f1"], found["order_violations"]) == (1.0, 1.0, 0.0)
    found = scores(reference, recorded(*((tool, {}, "ok") for tool in ("left", "right", "join")), overlap=(0,)))
    assert found["edge_f1"] == 1.0


def test_specials_of_the_reference_are_left_out_and_links_go_through_them(recorded):
    reference = truth(
        [step("a", "sites"), step("q", "Self-Ask"), step("b", "assets"), step("f", "Finish")], chain("a", "q", "b", "f")
    )
    assert reference_of(reference).links == {(0, 1), (1, 2)}
    assert scores(reference, recorded(("sites", {}, "x"), ("assets", {}, "y")))["edge_f1"] == 1.0


def test_a_failed_call_is_not_done_and_one_the_reference_makes_too_is(recorded):
    """Refused just as the reference's own call: "there is no such asset" is what was to be found out."""
    reference = truth([step("a", "history", asset="Chiller 99"), step("f", "Finish")], chain("a", "f"))
    as_expected = scores(reference, recorded(("history", {"asset": "chiller 99"}, ValueError())))
    assert (as_expected["completeness"], as_expected["tool_accuracy"]) == (1.0, 1.0)
    other = scores(reference, recorded(("history", {"asset": "Chiller 9"}, ValueError())))
    assert (other["completeness"], other["tool_accuracy"]) == (0.5, 0.0)
    retried = recorded(("history", {"asset": "Chiller 99"}, ...), ("history", {"asset": "Chiller 99"}, "ok"))
    found = scores(reference, retried)
    assert (found["completeness"], found["tool_accuracy"], found["step_count_ratio"]) == (1.0, 0.5, 0.5)
    assert found["action_sequence"] == 1.0  # the one without a result is no action


def test_steps_with_one_tool_are_told_apart_by_their_arguments(recorded):
    reference = truth([step("a", "count", year=2016), step("b", "count", year=2017)], chain("a", "b"))
    done = recorded(("count", {"year": 2017}, 3), ("count", {"year": 2016}, 4))
    matched = match(reference_of(reference), recorded_actions(done, reference_of(reference)))
    assert matched == {0: 1, 1: 0}
    assert scores(reference, done)["order_violations"] == 1.0
    assert scores(reference, done)["argument_accuracy"] == 1.0


def test_repeating_a_call_lowers_precision(recorded):
    reference = truth([step("a", "count", year=2016)], [])
    found = compare_execution(reference, recorded(*[("count", {"year": 2016}, 3)] * 4))
    assert node_overlap(found).precision == 0.25
    assert node_overlap(found).recall == 1.0
    assert action_sequence(found) == 0.25


def test_a_tool_of_a_server_is_the_tool(recorded):
    reference = truth([step("a", "wo/count", agent="wo", year=2016)], [])
    assert scores(reference, recorded(("count", {"year": 2016}, 3)))["node_f1"] == 1.0


def test_without_a_reference_call_none_is_right(recorded):
    reference = truth([step("q", "Self-Ask")], [])
    assert set(scores(reference, recorded()).values()) == {1.0, 0.0}  # the 0 is the violations
    found = scores(reference, recorded(("count", {}, 3)))
    assert (found["action_sequence"], found["node_f1"], found["tool_accuracy"]) == (0.0, 0.0, 0.0)


def test_agents_by_hand(recorded):
    """jsonreader belongs to both: it counts for the agent whom this scenario names it with."""
    assert scores(SITE, recorded(RIGHT[3]))["agent_selection"] == 0.5  # B of A and B
    assert scores(SITE, recorded(RIGHT[3], RIGHT[2]))["agent_selection"] == 1.0
    assert scores(SITE, recorded(*RIGHT, ("work_orders", {}, "x")))["agent_selection"] == pytest.approx(2 / 3)


def levenshtein(a, b):
    """By its recursive definition."""
    if not a or not b:
        return max(len(a), len(b))
    if a[-1] == b[-1]:
        return levenshtein(a[:-1], b[:-1])
    return 1 + min(levenshtein(a[:-1], b), levenshtein(a, b[:-1]), levenshtein(a[:-1], b[:-1]))


def test_edit_similarity_equals_its_definition():
    source = random.Random(1)  # noqa: S311 - data, not a secret
    for _ in range(60):
        a, b = ("".join(source.choices("xyz", k=source.randint(0, 5))) for _ in range(2))
        expected = 1 - levenshtein(a, b) / max(len(a), len(b)) if a or b else 1.0
        assert edit_similarity(a, b) == pytest.approx(expected, abs=1e-12)


def test_edit_similarity_by_hand():
    """kitten to sitting takes three edits, of seven letters."""
    assert edit_similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)


FORM = {
    "checks": {
        "task_completion": [
            {"kind": "contains_fields", "paths": ["count", "names", "note"]},
            {"kind": "any_of", "checks": [{"kind": "equals", "path": "free", "value": 1}]},
        ],
        "data_retrieval_accuracy": [{"kind": "set", "path": "names", "value": ["a"]}],
        "result_verification": [{"kind": "number", "path": "count", "value": 33}],
    }
}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"count": 1, "names": [], "note": "x"}, 1.0),
        ({"count": "33", "names": ["a"], "note": "x"}, 2 / 3),
        ({"count": 33, "names": "a", "note": None}, 1 / 3),
        (None, 0.0),
        ([33], 0.0),
    ],
)
def test_format_by_hand(recorded, data, expected):
    reference = truth([step("f", "Finish")], [], **FORM)
    assert format_compliance(reference, recorded(data=data)) == pytest.approx(expected)


def test_format_without_checks_is_that_of_final_out(recorded):
    reference = truth([step("f", "Finish")], [], final_out={"count": 3, "codes": ["M005"], "ok": True})
    assert format_compliance(reference, recorded(data={"count": 2.5, "codes": [], "ok": 1})) == pytest.approx(2 / 3)
    free = truth([step("f", "Finish")], [])
    assert format_compliance(free, recorded(text="33")) == 1.0
    assert format_compliance(free, recorded(text="  ")) == 0.0


def test_alternatives_of_a_value_are_as_good(recorded):
    """`possible_alternatives.arguments` (G2): an asset has a name and an identifier, and tools take either."""
    steps = [step("a", "history", asset="Chiller 3", year=2017)]
    calls = [("history", {"asset": "chl88003", "year": 2017}, "ok")]
    assert scores(truth(steps, []), recorded(*calls))["argument_accuracy"] == 0.5
    said = {"arguments": {"Chiller 3": ["CHL88003"]}, "plan": ["another"]}
    assert scores(truth(steps, [], possible_alternatives=said), recorded(*calls))["argument_accuracy"] == 1.0
    other = [("history", {"asset": "CHL88004", "year": 2017}, "ok")]
    assert scores(truth(steps, [], possible_alternatives=said), recorded(*other))["argument_accuracy"] == 0.5


def test_arguments_that_are_a_text_may_be_any_argument(recorded):
    reference = truth([{**step("a", "ask"), "arguments": "list the sites"}], [])
    assert scores(reference, recorded(("ask", {"request": "List the sites "}, "ok")))["argument_accuracy"] == 1.0
    assert scores(reference, recorded(("ask", {"request": "list"}, "ok")))["argument_accuracy"] == 0.0
    nested = truth([step("a", "ask", request="list the sites")], [])
    assert scores(nested, recorded(("ask", {"request": {"x": "list the sites"}}, "ok")))["argument_accuracy"] == 0.0


def test_the_names_of_arguments_show_no_data_flow(recorded):
    """Every tool of a site answers with the keys that its own arguments have."""
    reference = truth(
        [step("a", "sites"), step("b", "assets", site_name="MAIN"), step("c", "other"), step("f", "Finish")],
        [*chain("a", "b", "f"), *chain("c", "f")],
        text="at MAIN",
    )
    echo = {"site_name": "MAIN"}
    done = recorded(("sites", {}, echo), ("other", {}, echo), ("assets", {"site_name": "MAIN"}, echo))
    assert compare_execution(reference, done).edges == {(0, 1), (1, 2), (2, 3)}  # the order of calls, and no more


def test_what_was_not_called_is_looked_for_in_every_result(recorded):
    """One fault is not counted twice: the file's maker is missing, its name came from elsewhere."""
    calls = [("list_files", {}, "there are /tmp/h.json, /tmp/g.json"), RIGHT[2], RIGHT[3]]
    found = compare_execution(SITE, recorded(*calls))
    assert [each.name for each in found.arguments if not each.right] == ["site", "asset"]


def test_an_agent_cannot_keep_a_scorer_busy(recorded):
    """Many calls, and some whose arguments and results hold thousands of values: limits, and no product of them."""
    values = [f"value {number}" for number in range(2_000)]
    calls = [("history", {"asset": values, "site": values[::-1]}, {"rows": values}) for _ in range(30)]
    calls += [("history", {"asset": f"value {number}"}, "ok") for number in range(1_000)]
    found = scores(SITE, recorded(*calls))
    assert found["completeness"] == pytest.approx(2 / 5)
