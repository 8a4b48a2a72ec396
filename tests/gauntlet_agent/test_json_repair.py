"""JSON as models write it is read; what is none is not invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_agent.json_repair import NotJson, read_json, read_object

VALUE = {"status": "approved", "steps": [1, 2], "why": 'a "quoted" {word}'}
PLAIN = json.dumps(VALUE)
WRITTEN = {
    "plain": PLAIN,
    "fenced": f"```json\n{PLAIN}\n```",
    "fenced without a word": f"```\n{PLAIN}\n```",
    "a fence that is not closed": f"```json\n{PLAIN}",
    "talked around": f"Here it is: {PLAIN} I hope that helps {{smile}}.",
    "trailing commas": PLAIN.replace("2]", "2,]")[:-1] + ",}",
    "as Python has it": repr(VALUE),
    "over lines": json.dumps(VALUE, indent=4),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_what_models_write_is_read(text: str) -> None:
    assert read_object(text) == VALUE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": [1, 2', {"a": 1, "b": [1, 2]}),
        ('{"a": 1, "b": "half a sent', {"a": 1, "b": "half a sent"}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
    ],
)
def test_what_was_cut_short_is_closed_and_nothing_is_made_up(text: str, value: Any) -> None:
    assert read_object(text) == value


@pytest.mark.parametrize("text", ["", "no", "I think {so", "42", '"text"', "}{", "[1, 2]"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        read_object(text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=st.dictionaries(st.text(), _JSON, max_size=5), before=st.text("abc \n.:,", max_size=20))
def test_a_right_object_is_read_as_it_is_whatever_stands_before_it(value: Any, before: str) -> None:
    assert read_json(f"{before}{json.dumps(value)}") == value


@given(text=st.text('{}[]",:abc12 \\', max_size=120))
def test_nothing_breaks_the_reader(text: str) -> None:
    try:
        assert isinstance(read_json(text), dict | list)
    except NotJson:
        return
