"""The JSON Schema that is generated from the models: draft-07, and of one mind with them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from pydantic import ValidationError

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.schema import DRAFT_07, ground_truth_schema

SCHEMA = ground_truth_schema()
VALIDATOR = Draft7Validator(SCHEMA)

FULL: dict[str, Any] = {
    "id": 400,
    "uuid": "efc94d35-5236-410c-9e4f-5dcdfee818cc",
    "text": "How many?",
    "type": "WO",
    "category": "Data Query",
    "deterministic": True,
    "characteristic_form": "33",
    "planning_steps": [{"agent": "WOAgent", "instruction": "count"}],
    "execution_steps": [
        {
            "name": "count",
            "action": "count_workorders",
            "agent": "WOAgent",
            "arguments": {"equipment_id": "CWC04013", "limit": 3},
            "outputs": ["work_orders"],
            "deterministic": {"name": False, "action": True, "arguments": True, "outputs": True},
        },
        {
            "name": "branch",
            "action": "if_then_else",
            "agent": "WOAgent",
            "arguments": {"condition": "work_orders > 0", "then_action": "finish", "else_action": "count"},
        },
        {"name": "finish", "action": "Finish", "agent": "WOAgent", "arguments": "33"},
    ],
    "execution_links": [{"source": "count", "target": "branch"}, {"source": "branch", "target": "finish"}],
    "checks": {
        "task_completion": [{"kind": "abstains", "value": False}, {"kind": "contains_fields", "paths": ["count"]}],
        "data_retrieval_accuracy": [
            {"kind": "any_of", "checks": [{"kind": "called", "tool": "a", "arguments": {"x": 1}, "refused": True}]},
            {"kind": "order", "tools": ["a", "b"]},
            {"kind": "not_called", "tool": "c"},
        ],
        "result_verification": [
            {"kind": "number", "path": "count", "value": 33, "tolerance": 0.5},
            {"kind": "equals", "path": "unit", "value": None},
            {"kind": "set", "path": "codes", "value": ["M005"]},
        ],
    },
    "final_out": {"count": 33},
    "final_out_description": ["how many"],
    "expected_result": [1, None],
    "data": {},
    "possible_alternatives": {"a": 1},
    "group": "retrospective",
    "entity": "Equipment",
    "note": {"source": "tests"},
    "paradigm": "multi-agent",
    "stage": 4,
    "capabilities": ["temporal", "disambiguation"],
}


def accepted_by_models(row: Any) -> bool:
    try:
        GroundTruth.model_validate(row)
    except ValidationError:
        return False
    return True


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The location of everything inside."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([here] if here else []), *(place for key, each in members for place in places(each, (*here, key)))]


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for part in place:
        value = value[part]
    return value


def test_it_is_a_draft_07_schema_with_the_guides_required_fields():
    Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == DRAFT_07
    guide = "id text type category deterministic characteristic_form planning_steps execution_steps execution_links"
    assert SCHEMA["required"] == guide.split()
    assert SCHEMA["definitions"]["ExecutionStep"]["required"] == ["name", "action", "agent"]


def test_both_accept_a_scenario_with_every_field():
    assert accepted_by_models(FULL)
    assert VALIDATOR.is_valid(FULL)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 500)
    | st.sampled_from([400.0, 0.5, -1.5, 4.0])
    | st.sampled_from(["", "x", "true", "3", "if_then_else", "number", "abstains", "predictive", "Finish"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["kind", "value", "name", "x"]), inner),
    max_leaves=4,
)


@settings(max_examples=250, deadline=None)
@given(place=st.sampled_from(places(FULL)), change=st.sampled_from(["replace", "remove", "add"]), value=VALUES)
@example(place=("id",), change="replace", value=True)
@example(place=("id",), change="replace", value=400.0)
@example(place=("stage",), change="replace", value=True)
@example(place=("deterministic",), change="replace", value="true")
@example(place=("execution_steps", 0, "action"), change="replace", value="if_then_else")
@example(place=("execution_steps", 1, "arguments"), change="remove", value=None)
@example(place=("checks", "task_completion", 0, "kind"), change="remove", value=None)
@example(place=("execution_steps", 0, "deterministic"), change="replace", value=True)
def test_the_schema_and_the_models_agree_on_what_is_wrong(place, change, value):
    row = copy.deepcopy(FULL)
    parent = at(row, place[:-1])
    if change == "replace":
        parent[place[-1]] = value
    elif change == "remove":
        del parent[place[-1]]
    elif isinstance(parent, dict):
        parent["another"] = value
    else:
        parent.append(value)
    assert VALIDATOR.is_valid(row) is accepted_by_models(row)


@pytest.mark.parametrize("arguments", ["33", {"answer": 33}, ""])
def test_finish_carries_its_answer_in_any_of_three_ways(arguments):
    step = {"name": "end", "action": "Finish", "agent": "A", "arguments": arguments}
    row = {**FULL, "execution_steps": [step], "execution_links": []}
    assert accepted_by_models(row)
    assert VALIDATOR.is_valid(row)
