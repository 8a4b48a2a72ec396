"""The deterministic judge: each kind of check, when it holds and when it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gauntlet_scoring.checks import CRITERIA, Evidence, judge
from gauntlet_scoring.episode_files import EpisodeRow
from gauntlet_scoring.ground_truth import Check, Checks
from gauntlet_scoring.reading import RecordedEpisode
from gauntlet_scoring.trajectory import AnswerEvent, Outcome

CHECK = TypeAdapter(Check)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)

ANSWER_CASES = [
    # kind, its fields, the answer's data, whether it holds
    ("equals", {"path": "a", "value": "Preventive"}, {"a": "  preventive "}, True),
    ("equals", {"path": "a", "value": "ﬁx"}, {"a": "FIX"}, True),
    ("equals", {"path": "a", "value": "abstain"}, {"a": "would not abstain"}, False),
    ("equals", {"path": "a", "value": 33}, {"a": 33.0}, True),
    ("equals", {"path": "a", "value": 33}, {"a": "33"}, False),
    ("equals", {"path": "a", "value": True}, {"a": True}, True),
    ("equals", {"path": "a", "value": 1}, {"a": True}, False),
    ("equals", {"path": "a", "value": False}, {"a": 0}, False),
    ("equals", {"path": "a", "value": None}, {"a": None}, True),
    ("equals", {"path": "a", "value": None}, {}, False),
    ("equals", {"path": "a.b.1", "value": "y"}, {"a": {"b": ["x", "y"]}}, True),
    ("equals", {"path": "a.b.2", "value": "y"}, {"a": {"b": ["x", "y"]}}, False),
    ("equals", {"path": "a.b", "value": 1}, {"a": "b"}, False),
    ("equals", {"path": "", "value": {"x": [1, "A"]}}, {"x": [1.0, "a"]}, True),
    ("equals", {"path": "", "value": {"x": 1}}, {"x": 1, "y": 2}, False),
    ("equals", {"path": "a", "value": [1, 2]}, {"a": [2, 1]}, False),
    ("equals", {"path": "a", "value": 1}, None, False),
    ("number", {"path": "a", "value": 33}, {"a": 33}, True),
    ("number", {"path": "a", "value": 33}, {"a": 34}, False),
    ("number", {"path": "a", "value": 0.3, "tolerance": 0.1}, {"a": 0.4}, True),
    ("number", {"path": "a", "value": 0.3, "tolerance": 0.1}, {"a": 0.2}, True),
    ("number", {"path": "a", "value": 0.3, "tolerance": 0.1}, {"a": 0.4001}, False),
    ("number", {"path": "a", "value": 33}, {"a": "33"}, False),
    ("number", {"path": "a", "value": 1}, {"a": True}, False),
    ("number", {"path": "a", "value": 33}, {"a": float("nan")}, False),
    ("number", {"path": "a", "value": 33, "tolerance": 1e300}, {"a": float("inf")}, False),
    ("number", {"path": "a", "value": 33}, {"a": 10**400}, False),
    ("number", {"path": "a", "value": 33}, {}, False),
    ("set", {"path": "a", "value": ["M1", 2]}, {"a": [2.0, "m1"]}, True),
    ("set", {"path": "a", "value": ["M1"]}, {"a": ["m1", "M1 "]}, True),
    ("set", {"path": "a", "value": ["M1", "M2"]}, {"a": ["M1"]}, False),
    ("set", {"path": "a", "value": ["M1"]}, {"a": ["M1", "M2"]}, False),
    ("set", {"path": "a", "value": []}, {"a": []}, True),
    ("set", {"path": "a", "value": ["M1"]}, {"a": "M1"}, False),
    ("set", {"path": "a", "value": []}, {}, False),
    ("set", {"path": "a", "value": [{"x": 1}, [2]]}, {"a": [[2], {"x": 1}]}, True),
    ("contains_fields", {"paths": ["a", "b.c"]}, {"a": 0, "b": {"c": ""}}, True),
    ("contains_fields", {"paths": ["a", "b.c"]}, {"a": 0, "b": {}}, False),
    ("contains_fields", {"paths": ["a"]}, {"a": None}, False),
    ("contains_fields", {"paths": ["a"]}, None, False),
    ("abstains", {"value": True}, {"abstain": True}, True),
    ("abstains", {"value": True}, {"abstain": "true"}, False),
    ("abstains", {"value": True}, {"abstain": 1}, False),
    ("abstains", {"value": True}, None, False),
    ("abstains", {"value": False}, {"count": 3}, True),
    ("abstains", {"value": False}, {"abstain": False}, True),
    ("abstains", {"value": False}, {"abstain": True}, False),
]

GOOD, FAILED, OPEN = True, False, None
CALL_CASES = [
    # kind, its fields, the recorded calls, whether it holds
    ("called", {"tool": "t"}, [("t", {}, GOOD)], True),
    ("called", {"tool": "t"}, [], False),
    ("called", {"tool": "t"}, [("u", {}, GOOD)], False),
    ("called", {"tool": "t"}, [("T", {}, GOOD)], False),
    ("called", {"tool": "t"}, [("t", {}, FAILED)], False),
    ("called", {"tool": "t"}, [("t", {}, OPEN)], False),
    ("called", {"tool": "t"}, [("t", {}, FAILED), ("t", {}, GOOD)], True),
    ("called", {"tool": "t", "arguments": {"a": "X"}}, [("t", {"a": " x ", "b": 1}, GOOD)], True),
    ("called", {"tool": "t", "arguments": {"a": "X"}}, [("t", {"a": "y"}, GOOD)], False),
    ("called", {"tool": "t", "arguments": {"a": "X"}}, [("t", {}, GOOD)], False),
    ("called", {"tool": "t", "arguments": {"a": "X"}}, [("t", {"a": "X"}, FAILED), ("t", {"a": "y"}, GOOD)], False),
    ("called", {"tool": "t", "arguments": {"a": 1, "b": 2}}, [("t", {"a": 1}, GOOD), ("t", {"b": 2}, GOOD)], False),
    ("called", {"tool": "t", "arguments": {"a": 2017}}, [("t", {"a": 2017.0}, GOOD)], True),
    ("called", {"tool": "t", "arguments": {"a": None}}, [("t", {}, GOOD)], True),
    ("called", {"tool": "t", "arguments": {"a": None}}, [("t", {"a": "x"}, GOOD)], False),
    ("called", {"tool": "t", "arguments": {"d": "2020-06-01"}}, [("t", {"d": "2020-06-01T00:00:00Z"}, GOOD)], True),
    ("called", {"tool": "t", "arguments": {"d": "2020-06-01 00:00"}}, [("t", {"d": "2020-06-01"}, GOOD)], True),
    ("called", {"tool": "t", "arguments": {"d": "2020-06-01"}}, [("t", {"d": "2020-06-01T00:01:00"}, GOOD)], False),
    ("called", {"tool": "t", "arguments": {"d": "2020-06-01"}}, [("t", {"d": "2020-06-01T00:00+02:00"}, GOOD)], False),
    ("called", {"tool": "t", "refused": True}, [("t", {}, FAILED)], True),
    ("called", {"tool": "t", "refused": True}, [("t", {}, OPEN)], False),
    ("called", {"tool": "t", "refused": True, "arguments": {"a": "x"}}, [("t", {"a": "y"}, FAILED)], False),
    ("not_called", {"tool": "t"}, [], True),
    ("not_called", {"tool": "t"}, [("u", {}, GOOD)], True),
    ("not_called", {"tool": "t"}, [("t", {}, GOOD)], False),
    ("not_called", {"tool": "t"}, [("t", {}, FAILED)], False),
    ("order", {"tools": ["a", "b"]}, [("a", {}, GOOD), ("x", {}, GOOD), ("b", {}, GOOD), ("a", {}, GOOD)], True),
    ("order", {"tools": ["a", "b"]}, [("b", {}, GOOD), ("a", {}, GOOD), ("b", {}, GOOD)], False),
    ("order", {"tools": ["a", "b"]}, [("b", {}, FAILED), ("a", {}, GOOD), ("b", {}, GOOD)], True),
    ("order", {"tools": ["a", "b"]}, [("a", {}, GOOD)], False),
    ("order", {"tools": ["a", "b"]}, [("a", {}, FAILED), ("b", {}, GOOD)], False),
    ("any_of", {"checks": [{"kind": "called", "tool": "t"}, {"kind": "called", "tool": "u"}]}, [("u", {}, GOOD)], True),
    (
        "any_of",
        {"checks": [{"kind": "called", "tool": "t"}, {"kind": "called", "tool": "u"}]},
        [("v", {}, GOOD)],
        False,
    ),
]


@pytest.mark.parametrize(("kind", "fields", "data", "holds"), ANSWER_CASES)
def test_checks_on_the_answer(evidence, kind, fields, data, holds):
    verdict = evidence(data).verdict(CHECK.validate_python({"kind": kind, **fields}))
    assert verdict.holds is holds, verdict.reason
    assert (verdict.kind, bool(verdict.reason)) == (kind, True)


@pytest.mark.parametrize(("kind", "fields", "calls", "holds"), CALL_CASES)
def test_checks_on_the_record(evidence, kind, fields, calls, holds):
    # the answer claims everything: a claim must not count
    claims = {"called": ["t", "u"], "tool": "t", "a": "X"}
    verdict = evidence(claims, *calls).verdict(CHECK.validate_python({"kind": kind, **fields}))
    assert verdict.holds is holds, verdict.reason


def test_every_kind_has_a_case_that_holds_and_one_that_does_not():
    kinds = CHECK.json_schema()["discriminator"]["mapping"].keys()
    assert {(kind, holds) for kind, _, _, holds in ANSWER_CASES + CALL_CASES} == {
        (kind, holds) for kind in kinds for holds in (True, False)
    }


@given(JSON, JSON, st.text(max_size=4))
def test_no_answer_breaks_a_check(data, value, path):
    subject = Evidence(calls=(), data=data)
    for kind, fields in (
        ("equals", {"path": path, "value": value}),
        ("number", {"path": path, "value": 1.0}),
        ("set", {"path": path, "value": [value]}),
        ("contains_fields", {"paths": [path]}),
        ("abstains", {}),
    ):
        verdict = subject.verdict(CHECK.validate_python({"kind": kind, **fields}))
        assert verdict.holds in (True, False)
        assert len(verdict.reason) < 500


def called(tool, **arguments):
    return {"kind": "called", "tool": tool, "arguments": arguments}


@pytest.mark.parametrize(
    ("checks", "reason"),
    [
        ([called("t", a=n) for n in range(9)], "t was not called"),
        ([called("t"), called("u"), called("t")], "t was not called; or u was not called"),
        ([called(tool) for tool in "abcdef"], "a was not called; or b was not called; or c was not called; or 3 more"),
    ],
)
def test_alternatives_that_fail_in_the_same_words_say_it_once(evidence, checks, reason):
    assert evidence({}).verdict(CHECK.validate_python({"kind": "any_of", "checks": checks})).reason == reason


def test_a_criterion_is_the_share_of_its_checks():
    checks = Checks.model_validate(
        {
            "task_completion": [{"kind": "contains_fields", "paths": ["count"]}],
            "data_retrieval_accuracy": [{"kind": "called", "tool": "t"}, {"kind": "not_called", "tool": "u"}],
            "result_verification": [{"kind": "number", "path": "count", "value": value} for value in (1, 2, 3)],
        }
    )
    at = "2026-01-01T00:00:00Z"
    answer = AnswerEvent.model_validate(
        {"seq": 0, "at": at, "episode": "e", "turn": 0, "text": "I called t.", "data": {"count": 2}}
    )
    row = EpisodeRow(episode="e", scenario="1", trial=1, outcome=Outcome.ANSWERED)
    criteria = judge(checks, RecordedEpisode(row=row, failure=None, answer=answer))
    assert tuple(criteria) == CRITERIA
    assert [criteria[name].value for name in CRITERIA] == [1.0, 0.5, pytest.approx(1 / 3)]
