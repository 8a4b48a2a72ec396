"""Reading of JSON with the place of everything in it: one object, an array of them, one a line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_scoring.validation.documents import read_documents

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def locations(value, here=()):
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    yield here
    for key, each in members:
        yield from locations(each, (*here, key))


def value_at(value, location):
    for part in location:
        value = value[part]
    return value


def text_from(text, place):
    line, column = place
    return "\n".join(text.split("\n")[line - 1 :])[column - 1 :]


@given(
    rows=st.lists(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), min_size=1, max_size=3),
    indent=st.sampled_from([None, 0, 1, 4]),
    ascii_only=st.booleans(),
    form=st.sampled_from(["array", "lines", "object"]),
)
def test_every_value_stands_where_its_place_says(rows, indent, ascii_only, form):
    if form == "array":
        text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    elif form == "lines":
        text = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    else:
        rows = rows[:1]
        text = json.dumps(rows[0], indent=indent, ensure_ascii=ascii_only)
    documents, problems = read_documents(text)
    assert problems == []
    assert [document.value for document in documents] == rows
    for document in documents:
        for location in locations(document.value):
            found, _ = json.JSONDecoder().raw_decode(text_from(text, document.place(location)))
            assert found == value_at(document.value, location)


def test_a_finding_inside_a_pretty_printed_array_has_its_own_line():
    steps = '"steps": [\n      {"name": "a"},\n      {"name": "b"}\n    ]'
    text = '[\n  {\n    "id": 1\n  },\n  {\n    "id": 2,\n    ' + steps + "\n  }\n]\n"
    documents, _ = read_documents(text)
    assert [document.line for document in documents] == [2, 5]
    assert documents[1].place(("steps", 1, "name")) == (9, 16)
    assert documents[1].place(("steps", 1, "missing")) == (9, 7)  # the object that lacks it
    assert documents[1].place(("nowhere", 3)) == (5, 3)


def test_keys_that_paths_would_confuse_are_told_apart():
    documents, _ = read_documents('{"a/b": 1, "a": {"b": 2}, "~": 3}')
    assert documents[0].place(("a/b",)) == (1, 9)
    assert documents[0].place(("a", "b")) == (1, 23)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, None, "no scenario"),
        (" \n\t\n", 1, None, "no scenario"),
        ("[\n]", 1, 1, "no scenario"),
        ('[\n{"id": 1},\n{"id": }\n]', 3, 8, "not JSON"),
        ('[\n{"id": 1}\n{"id": 2}\n]', 3, 1, "comma"),
        ('[{"id": 1}]\nx', 2, 1, "follows"),
        ('{"id": 1} {"id": 2}\n{"id": 3}', 1, 11, "same line"),
        ('{"id": 1}\n{"id": NaN}', 2, 1, "NaN"),
        ('{"id": 1}\n{"id": 1e999}', 2, 1, "too large"),
        ('{"id": 1,\n "text": "open}', 2, 10, "Unterminated"),
        ('{"a": ' * 200 + "1" + "}" * 200, 1, 1, "deep"),
        ("[" * 100_000, 1, 2, "deep"),
        ('{"a": ' * 100_000, 1, 1, "deep"),
        ('{"id": ' + "9" * 5000 + "}", 1, 1, "not JSON"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text, line, column, words):
    _, problems = read_documents(text)
    assert [(problem.line, problem.column) for problem in problems] == [(line, column)]
    assert words in problems[0].message


def test_a_broken_line_leaves_the_others_readable():
    documents, problems = read_documents('{"id": 1\n{"id": 2}\n\n{"id": 3\n{"id": 4}\n')
    assert [document.value["id"] for document in documents] == [2, 4]
    assert [problem.line for problem in problems] == [1, 4]


def test_objects_that_follow_each_other_over_several_lines_are_read():
    documents, problems = read_documents('{\n"id": 1\n}\n{\n"id": 2\n}\n')
    assert ([document.line for document in documents], problems) == ([1, 4], [])


def test_keys_that_occur_twice_are_known():
    documents, _ = read_documents('{"id": 1, "x": {"a": 1, "a": 2}, "id": 2}')
    assert (documents[0].value, documents[0].duplicates) == ({"id": 2, "x": {"a": 2}}, ("a", "id"))


def test_other_separators_of_unicode_end_no_line():
    documents, problems = read_documents('{"id": "a\u2028b\x85"}\n{"id": 2}')
    assert ([document.line for document in documents], problems) == ([1, 2], [])
