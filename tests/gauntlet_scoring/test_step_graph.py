"""The drawing of a scenario's steps: well-formed, escaped, readable by a screen reader, without overlaps."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.step_graph import step_graph_svg

SVG = "{http://www.w3.org/2000/svg}"


def truth(names, links, **fields):
    return GroundTruth.model_validate(
        {
            **dict.fromkeys(("id", "text", "type", "category", "characteristic_form"), "x"),
            "deterministic": True,
            "planning_steps": [{"agent": "A", "instruction": "x"}],
            "execution_steps": [{"name": name, "action": "use", "agent": "A", **fields} for name in names],
            "execution_links": [{"source": source, "target": target} for source, target in links],
        }
    )


def drawn(row):
    return ElementTree.fromstring(step_graph_svg(row))  # noqa: S314  # our own drawing


def boxes(svg):
    """Title -> left, top, width, height."""
    found = {}
    for group in svg.iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        found[group.find(f"{SVG}title").text] = [float(box.get(key)) for key in ("x", "y", "width", "height")]
    return found


def test_title_and_description_tell_a_screen_reader_the_steps_in_order():
    svg = drawn(truth(["load", "end"], [("load", "end")]))
    assert svg.get("role") == "img"
    ids = svg.get("aria-labelledby").split()
    assert [svg.find(f"{SVG}{tag}").get("id") for tag in ("title", "desc")] == ids
    assert svg.find(f"{SVG}title").text == "Execution steps of scenario x"
    assert svg.find(f"{SVG}desc").text == "1. load (A, use) leads to end. 2. end (A, use)."


def test_it_takes_the_pages_colour_and_needs_no_style_or_script():
    text = step_graph_svg(truth(["a", "b"], [("a", "b")]))
    assert "currentColor" in text
    assert "<style" not in text
    assert "style=" not in text
    assert "#" not in text.replace("url(#", "").replace("http://www.w3.org/2000/svg", "")
    assert "prefers-color-scheme:dark" in step_graph_svg(truth(["a"], []), standalone=True)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><b>', "a&b", "nul\x00bell\x07", "half\ud800", "\ufffe"]
)
def test_any_name_is_only_text(name):
    row = truth(["a"], []).model_copy(update={"id": name})
    steps = [row.execution_steps[0].model_copy(update={"name": name, "action": name, "agent": name})]
    svg = drawn(row.model_copy(update={"execution_steps": steps}))
    assert {element.tag.removeprefix(SVG) for element in svg.iter()} <= {
        *("svg", "title", "desc", "defs", "marker", "path", "g", "rect", "text")
    }


def test_two_drawings_on_a_page_have_ids_of_their_own():
    first, second = truth(["a"], []), truth(["a"], []).model_copy(update={"id": "y"})
    assert drawn(first).get("aria-labelledby") != drawn(second).get("aria-labelledby")


def test_a_cycle_is_drawn_dashed_instead_of_failing():
    text = step_graph_svg(truth(["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "a"), ("b", "b")]))
    assert text.count("stroke-dasharray") == 2


def test_links_to_nowhere_are_not_drawn():
    svg = drawn(truth(["a"], [("a", "gone")]))
    assert len([path for path in svg.iter(f"{SVG}path") if path.get("marker-end")]) == 0


def test_parallel_branches_stand_side_by_side_and_the_end_below():
    svg = boxes(
        drawn(
            truth(
                ["get", "left", "right", "end"], [("get", "left"), ("get", "right"), ("left", "end"), ("right", "end")]
            )
        )
    )
    tops = {title.split(":")[0]: box[1] for title, box in svg.items()}
    assert tops["get"] < tops["left"] == tops["right"] < tops["end"]


def test_crossings_are_taken_apart():
    links = [("a", "d"), ("b", "c"), ("c", "e"), ("d", "e")]
    lefts = {title.split(":")[0]: box[0] for title, box in boxes(drawn(truth("abcde", links))).items()}
    assert (lefts["a"] < lefts["b"]) is (lefts["d"] < lefts["c"])


NAMES = [f"n{number}" for number in range(8)]


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 8),
    pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14),
)
def test_no_box_covers_another_and_all_are_inside(count, pairs):
    names = NAMES[:count]
    links = [(NAMES[one], NAMES[other]) for one, other in pairs if max(one, other) < count]
    svg = drawn(truth(names, links))
    found = list(boxes(svg).values())
    assert len(found) == count
    width, height = float(svg.get("width")), float(svg.get("height"))
    for left, top, wide, high in found:
        assert 0 <= left <= width - wide
        assert 0 <= top <= height - high
    for one, other in itertools.combinations(found, 2):
        apart = abs(one[0] - other[0]) >= one[2] or abs(one[1] - other[1]) >= one[3]
        assert apart
