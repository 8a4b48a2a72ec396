"""What an organizer is told about a ground-truth file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation import FindingClass, validate_ground_truth, validate_ground_truth_file

FLAGS = dict.fromkeys(("name", "action", "arguments", "outputs"), True)
STEP = {"action": "x", "agent": "A", "deterministic": FLAGS}
FINISH = {"name": "end", "action": "Finish", "agent": "A"}


def links(*pairs):
    return [{"source": source, "target": target} for source, target in pairs]


def test_a_sound_file_has_no_finding(truth, json_file):
    assert validate_ground_truth_file(json_file(truth(), truth(id="401"))) == []


def test_a_byte_order_mark_windows_lines_and_blank_lines_are_tolerated(truth, json_file):
    path = json_file(truth(), truth(id=401))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert validate_ground_truth_file(path) == []


def test_two_roots_and_two_leaves_are_fine(truth, json_file):
    """The guide's own scenario 400 has two roots and two leaves (seed-systems, section 7, item 4)."""
    steps = [*({"name": name, **STEP} for name in "abc"), FINISH]
    row = truth(execution_steps=steps, execution_links=[*links("ac", "bc"), *links(("b", "end"))])
    assert validate_ground_truth_file(json_file(row)) == []


@pytest.mark.parametrize(
    ("fields", "finding_class", "path", "words"),
    [
        ({"text": None}, "structural", "text", "must be a text, not null"),
        ({"planing_steps": []}, "structural", "planing_steps", "not permitted"),
        ({"planning_steps": []}, "structural", "planning_steps", "is empty; give at least 1"),
        ({"planning_steps": [{"agent": "A"}]}, "structural", "planning_steps[0].instruction", "required"),
        ({"checks": {"task_completion": []}}, "structural", "checks.task_completion", "is empty; give at least 1"),
        ({"execution_links": links(("load", "nowhere"))}, "structural", "execution_links[0].target", "'nowhere'"),
        ({"execution_links": links(("nowhere", "load"))}, "structural", "execution_links[0].source", "'nowhere'"),
        (
            {"execution_steps": [{"name": "a", **STEP}, {"name": "a", **STEP}, FINISH], "execution_links": []},
            "structural",
            "execution_steps[1].name",
            "execution_steps[0]",
        ),
        (
            {"execution_links": links(("load", "filter"), ("filter", "finish"), ("finish", "load"))},
            "logical",
            "execution_links",
            "load -> filter -> finish -> load",
        ),
        ({"execution_links": links(("load", "load"))}, "logical", "execution_links", "load -> load"),
        (
            {"execution_steps": [{"name": "a", "arguments": {"x": [1, "@gone.id"]}, **STEP}], "execution_links": []},
            "structural",
            "execution_steps[0].arguments.x[1]",
            "'gone'",
        ),
        (
            {"execution_steps": [{"name": "a", "arguments": "@gone", **STEP}], "execution_links": []},
            "structural",
            "execution_steps[0].arguments",
            "'gone'",
        ),
        (
            {
                "execution_steps": [
                    {"name": "a", "arguments": {"x": "@late"}, **STEP},
                    {"name": "b", "outputs": ["late"], **STEP},
                ],
                "execution_links": links("ab"),
            },
            "logical",
            "execution_steps[0].arguments.x",
            "does not come before",
        ),
        (
            {
                "execution_steps": [{"name": "a", "arguments": {"x": "@own"}, "outputs": ["own"], **STEP}],
                "execution_links": [],
            },
            "logical",
            "execution_steps[0].arguments.x",
            "does not come before",
        ),
        (
            {
                "checks": {
                    "task_completion": [{"kind": "abstains"}],
                    "data_retrieval_accuracy": [
                        {"kind": "any_of", "checks": [{"kind": "order", "tools": ["a", "b", "a"]}]}
                    ],
                    "result_verification": [{"kind": "abstains"}],
                }
            },
            "logical",
            "checks.data_retrieval_accuracy[0].checks[0].tools",
            "once",
        ),
    ],
)
def test_a_fault_is_named_with_line_and_place(truth, json_file, fields, finding_class, path, words):
    findings = validate_ground_truth_file(json_file(truth(id=1), truth(**fields)))
    matching = [finding for finding in findings if finding.path == path and words in finding.message]
    assert len(matching) == 1, findings
    assert matching[0].finding_class == FindingClass(finding_class)
    assert matching[0].line == 2
    assert all(finding.line == 2 for finding in findings)


def test_an_output_may_be_written_with_its_sign_and_come_by_a_link_from_later_in_the_list(truth, json_file):
    steps = [
        {"name": "b", "arguments": {"x": "@orders"}, **STEP},
        {"name": "a", "outputs": ["@orders"], **STEP},
        FINISH,
    ]
    row = truth(execution_steps=steps, execution_links=links("ab", ("b", "end")))
    assert validate_ground_truth_file(json_file(row)) == []


def test_a_step_that_links_put_after_makes_nothing_for_one_before_it(truth, json_file):
    steps = [
        {"name": "b", "outputs": ["orders"], **STEP},
        {"name": "a", "arguments": {"x": "@orders"}, **STEP},
        FINISH,
    ]
    row = truth(execution_steps=steps, execution_links=links("ab", ("b", "end")))
    [finding] = validate_ground_truth_file(json_file(row))
    assert (finding.finding_class, finding.path) == (FindingClass.LOGICAL, "execution_steps[1].arguments.x")


def test_an_id_used_twice_is_named_with_both_lines(truth, json_file):
    findings = validate_ground_truth_file(json_file(truth(id=502), truth(id=1), truth(id="502")))
    assert [(finding.line, finding.path) for finding in findings] == [(3, "id")]
    assert "line 1" in findings[0].message


def test_the_guides_scenario_502_is_refused(truth, json_file):
    """It repeats step names and links `history` to itself (seed-systems, section 7, item 5)."""
    steps = [*({"name": name, **STEP} for name in ("sites", "history", "history")), FINISH]
    ways = (("sites", "history"), ("history", "history"), ("history", "end"))
    row = truth(execution_steps=steps, execution_links=links(*ways))
    found = {(finding.finding_class, finding.path) for finding in validate_ground_truth_file(json_file(row))}
    assert found == {
        (FindingClass.STRUCTURAL, "execution_steps[2].name"),
        (FindingClass.LOGICAL, "execution_links"),
    }


@pytest.mark.parametrize(("content", "line"), [(b"{", 3), (b"[]", 2), (b"null", 2), (b"\xff\xfe", 1)])
def test_a_file_that_is_no_scenario_is_a_finding(tmp_path, content, line):
    path = tmp_path / "g.jsonl"
    path.write_bytes(b"\n" + content + b"\n")
    findings = validate_ground_truth_file(path)
    assert findings
    assert {(finding.finding_class, finding.line) for finding in findings} == {(FindingClass.STRUCTURAL, line)}


def test_an_empty_file_and_a_missing_one_are_findings(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n\n")
    assert "no scenario" in validate_ground_truth_file(empty)[0].message
    assert "cannot be read" in validate_ground_truth_file(tmp_path / "missing.jsonl")[0].message


NAMES = st.sampled_from("abcde")


@given(
    names=st.lists(NAMES, min_size=1, max_size=5, unique=True),
    pairs=st.lists(st.tuples(NAMES, NAMES), max_size=8),
)
def test_links_are_refused_exactly_when_an_end_is_missing_or_a_walk_returns(names, pairs):
    truth = GroundTruth.model_validate(
        {
            **dict.fromkeys(("id", "text", "type", "category", "characteristic_form"), "x"),
            "deterministic": True,
            "planning_steps": [{"agent": "A", "instruction": "x"}],
            "execution_steps": [{"name": name, **STEP} for name in names],
            "execution_links": links(*pairs),
        }
    )
    inside = [(source, target) for source, target in pairs if {source, target} <= set(names)]
    sound = len(inside) == len(pairs) and not _returns(names, inside)
    refused = [found for found in validate_ground_truth(truth) if found.rule == "G12"]
    assert (refused == []) is sound


def _returns(names, pairs):
    """Whether taking away nodes that nothing points to ever gets stuck."""
    left = set(names)
    while left:
        free = left - {target for source, target in pairs if source in left}
        if not free:
            return True
        left -= free
    return False
