"""Normalisation, tokens of any script, and step lines."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from gauntlet_scoring.ground_truth import ExecutionStep, PlanningStep
from gauntlet_scoring.text import (
    MAX_TEXT_CHARACTERS,
    call_line,
    normalise,
    one_line,
    plan_text,
    recorded_execution_lines,
    reference_execution_lines,
    step_line,
    tokenize,
)
from gauntlet_scoring.trajectory import PlanStep

ASCII = st.text(st.characters(max_codepoint=127))


@given(ASCII)
def test_ascii_tokens_equal_those_of_rouge_score(text):
    assert tokenize(text) == DefaultTokenizer(use_stemmer=False).tokenize(text)


@given(st.text())
def test_tokens_hold_letters_digits_and_marks_only_and_begin_with_no_mark(text):
    for token in tokenize(text):
        assert all(unicodedata.category(character)[0] in "LMN" for character in token)
        assert unicodedata.category(token[0])[0] in "LN"


@given(st.text())
def test_tokens_keep_every_letter(text):
    letters = [character for character in normalise(text) if unicodedata.category(character)[0] in "LN"]
    kept = [character for token in tokenize(text) for character in token if unicodedata.category(character)[0] in "LN"]
    assert kept == letters


@given(st.text())
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(st.text())
def test_case_and_form_do_not_change_tokens(text):
    assert tokenize(unicodedata.normalize("NFD", text)) == tokenize(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Straße ŒUVRE", ["strasse", "œuvre"]),
        ("получить Заказы", ["получить", "заказы"]),
        ("获取设备", ["获", "取", "设", "备"]),
        ("设备CWC04013号", ["设", "备", "cwc04013", "号"]),
        ("トラブル", ["ト", "ラ", "フ\u3099", "ル"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ﬁle ①", ["file", "1"]),
        ("a_b-c", ["a", "b", "c"]),
        ("", []),
        ("\u0301", []),
    ],
)
def test_tokens_of_many_scripts(text, tokens):
    assert tokenize(text) == [normalise(token) for token in tokens]


@given(st.text(), st.text())
def test_a_step_is_one_line_whatever_its_author_wrote(agent, instruction):
    assert len(step_line(agent, instruction).splitlines()) <= 1


def test_step_lines():
    assert step_line("WOAgent", "get the\n work  orders ") == "WOAgent: get the work orders"
    assert step_line("", "get") == "get"
    assert step_line("WOAgent", "") == "WOAgent"
    assert one_line("ﬁne\u2028line") == "fine line"


def test_a_plan_and_its_reference_are_written_alike():
    recorded = [PlanStep(agent="A", instruction="x"), PlanStep(instruction="y", depends_on=[0])]
    reference = [PlanningStep(agent="A", instruction="x"), PlanningStep(agent="", instruction="y")]
    assert plan_text(recorded) == plan_text(reference) == "A: x\ny"
    assert plan_text([]) == plan_text([PlanStep(instruction="  ")]) == ""


def test_a_long_plan_is_cut():
    assert len(plan_text([PlanStep(instruction="a" * 30_000)])) == MAX_TEXT_CHARACTERS


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({}, "t()"),
        ({"b": 2.0, "a": "x"}, "t(a=x, b=2)"),
        ({"a": None, "b": True}, "t(b=true)"),
        ({"from": "2020-06-01T00:00:00"}, "t(from=2020-06-01)"),
        ({"from": "2020-06-01T00:01:00"}, "t(from=2020-06-01T00:01:00)"),
        ({"a": ["é", 1]}, 't(a=["é", 1])'),
        ("@orders", "t(@orders)"),
    ],
)
def test_call_lines(arguments, line):
    assert call_line("t", arguments) == line


def test_execution_lines_leave_out_what_no_record_can_hold():
    steps = [
        ExecutionStep(name="1", action="Self-Ask", agent="A"),
        ExecutionStep(name="2", action="sites", agent="A"),
        ExecutionStep(name="3", action="Finish", agent="A", arguments={"answer": "MAIN"}),
    ]
    assert reference_execution_lines(steps) == ["sites()", "Finish()"]
    assert recorded_execution_lines([("sites", {})], answered=True, reference=steps) == ["sites()", "Finish()"]
    assert recorded_execution_lines([("sites", {})], answered=True, reference=steps[:2]) == ["sites()"]
    assert recorded_execution_lines([("sites", {})], answered=False, reference=steps) == ["sites()"]
