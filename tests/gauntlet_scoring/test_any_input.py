"""Whatever is pasted or uploaded: a report, never an exception, and what is usable is sound."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gauntlet_scoring.step_graph import step_graph_svg
from gauntlet_scoring.validation import ASSETOPS, OPEN, Level, Strength, check_text
from gauntlet_scoring.validation.leaks import check_scenarios_text
from gauntlet_scoring.validation.sarif import sarif

SOUND: dict[str, Any] = {
    "id": 1,
    "text": "Which assets has MAIN in 2020?",
    "type": "IoT",
    "category": "Data Query",
    "deterministic": True,
    "characteristic_form": "6 assets.",
    "final_out": {"count": 6},
    "final_out_description": ["how many"],
    "group": "retrospective",
    "planning_steps": [{"agent": "IoTAgent", "instruction": "List."}],
    "execution_steps": [
        {"name": "a", "action": "assets", "agent": "IoTAgent", "arguments": {"x": "@y"}, "outputs": ["y"]},
        {"name": "b", "action": "if_then_else", "agent": "IoTAgent", "arguments": {"condition": "c"}},
        {"name": "end", "action": "Finish", "agent": "IoTAgent", "argument": "6", "outputs": ""},
    ],
    "execution_links": [{"source": "a", "target": "b"}, {"source": "b", "target": "end"}],
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["@y", "a", "Finish", "FMSA", "iot/assets", "http://[", "retrospective;", "2020", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "action", "agent", "source", "target", "from", "to", "outputs", "arguments", "id"])
            | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([here] if here else []), *(place for key, each in members for place in places(each, (*here, key)))]


def look(text: str) -> None:
    for strength in Strength:
        for vocabulary in (ASSETOPS, OPEN):
            report = check_text(text, strength=strength, vocabulary=vocabulary)
            json.dumps([report.as_dict(), sarif([report])])
            lines = text.count("\n") + 1
            assert all(1 <= found.line <= lines for found in report.findings)
            assert report.ok or report.of_level(Level.ERROR)
            for truth in report.truths:
                assert step_graph_svg(truth).startswith("<svg")
    check_scenarios_text(text, truths=report.truths)


@settings(max_examples=100, deadline=None)
@given(changes=st.lists(st.tuples(st.sampled_from(places(SOUND)), JSON), min_size=1, max_size=3))
@example(changes=[(("execution_steps", 0, "name"), [])])
@example(changes=[(("execution_steps", 0, "agent"), {})])
@example(changes=[(("execution_links", 0, "source"), [1])])
@example(changes=[(("type",), {}), (("id",), [])])
def test_a_scenario_with_anything_anywhere_gives_a_report(changes):
    row = copy.deepcopy(SOUND)
    for place, value in changes:
        target = row
        try:
            for part in place[:-1]:
                target = target[part]
            target[place[-1]] = value
        except (TypeError, IndexError, KeyError):
            continue  # an earlier change took the place away
    look(json.dumps(row, indent=1))


@settings(max_examples=100, deadline=None)
@given(value=JSON)
def test_any_json_gives_a_report(value):
    look(json.dumps(value))
    look(json.dumps([value, value], indent=2))


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(max_size=40) | st.sampled_from(['{"id": 1', "[{}", '{"a": "\\u', "[1,]", "\ufeff", "\x00", "{}\r\n{}"])
)
def test_any_text_gives_a_report(text):
    look(text)


@settings(max_examples=100, deadline=None)
@given(place=st.sampled_from(places(SOUND)), value=JSON)
def test_what_lenient_reading_repaired_needs_no_repair_again(place, value):
    row = copy.deepcopy(SOUND)
    target = row
    for part in place[:-1]:
        target = target[part]
    target[place[-1]] = value
    report = check_text(json.dumps(row), strength=Strength.LENIENT)
    for truth in report.truths:
        text = truth.model_dump_json(exclude_unset=True)
        assert check_text(text, strength=Strength.LENIENT).of_level(Level.REPAIR) == []


def hostile_files():
    """Files that cost minutes where a check looks at everything for everything."""
    long = {
        **SOUND,
        "characteristic_form": "a" * 400_000 + " " * 100_000 + "'" * 1001,
        "text": '"' * 1001 + "b" * 400_000,
    }
    yield json.dumps(long)
    keys = ",".join(f'"k{number % 6_000}":1' for number in range(12_000))
    yield "{" + keys + "}"
    names = [f"s{number}" for number in range(500)]
    steps = [
        {"name": name, "action": "x", "agent": "A", "arguments": {"of": names[:30]}, "outputs": [name, f"{name}_file"]}
        for name in names
    ]
    links = [
        {"source": names[at], "target": names[other]} for at in range(500) for other in range(max(at + 1, 490), 500)
    ]
    yield json.dumps({**SOUND, "execution_steps": steps, "execution_links": links[:5000]})
    yield json.dumps({**SOUND, "execution_steps": steps * 2, "execution_links": links})
    shown = {"show": {"many": {f"k{number}": number for number in range(8_000)}, "list": list(range(8_000))}}
    yield json.dumps({**SOUND, **shown})


@pytest.mark.timeout(200)
def test_large_files_are_looked_at_in_time_that_grows_with_them():
    final_out = {f"a{number}": number for number in range(8_000)}
    truth = check_text(json.dumps({**SOUND, "final_out": final_out}), strength=Strength.LENIENT).truths
    assert len(truth) == 0  # its condition lacks two of its three arguments
    for text in hostile_files():
        reports = [check_text(text, strength=strength) for strength in Strength]
        assert not any(report.ok for report in reports)
        check_scenarios_text(text)
