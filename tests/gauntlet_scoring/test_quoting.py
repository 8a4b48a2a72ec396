"""Quoted text: one line of JSON, the same text for whoever reads it, and nothing in it that a prompt is built of."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet_scoring.quoting import LONGEST_WORD, blocks, cut, quoted

SIGNS = "<>`"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON)
def test_a_value_stays_itself_on_one_visible_line(value: Any) -> None:
    line = quoted(value)
    assert json.loads(line) == value
    assert not set(SIGNS) & set(line)
    assert not set(SIGNS) & set(unicodedata.normalize("NFKC", line))
    assert not [each for each in line if unicodedata.category(each) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")]


MARKS = ["[INST]", "[/INST]", "[ system]", "[/USER]", "[inst]", "[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[/TOOL_RESULTS]"]
MARKS += [
    "[AVAILABLE_TOOLS]",
    "\uff3bINST\uff3d",
    "[\uff29\uff2e\uff33\uff34]",
    "[\U0001d5e8\U0001d5e6\U0001d5d8\U0001d5e5]",
]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_of_chat_templates_do_not_stand_in_it(mark: str) -> None:
    assert json.loads(quoted(f"x{mark}y")) == f"x{mark}y"
    assert mark not in quoted(f"x{mark}y")
    assert "[" not in unicodedata.normalize("NFKC", quoted(f"x{mark}y"))


@pytest.mark.parametrize("code", [0x34F, 0x115F, 0x17B5, 0x180B, 0x200B, 0x2800, 0x3164, 0xFE0F, 0xFFA0, 0xE0041])
def test_what_nobody_sees_is_written_out(code: int) -> None:
    line = quoted(f"pass{chr(code)}ed")
    assert line.isascii()
    assert json.loads(line) == f"pass{chr(code)}ed"


@pytest.mark.parametrize(
    "text", ["[1, 2]", "m² of 3 °C", "冷水机组 6", "Ölstand", "résumé", "🙂 ok", "a-b_c/d+e=f", "[users]", "[tooling]"]
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert quoted(text) == f'"{text}"'


def test_runs_that_nobody_reads_are_shortened() -> None:
    long = "QUJD" * 40
    line = quoted({"text": f"see {long}.", long: 1})
    assert long not in line
    assert line.count("(… 100 characters left out …)") == 2
    assert quoted("x" * LONGEST_WORD) == f'"{"x" * LONGEST_WORD}"'
    assert quoted("word " * 1000) == f'"{"word " * 1000}"'


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n\t"])
def test_runs_in_lines_as_encoders_wrap_them_are_shortened(end: str) -> None:
    wrapped = end.join(["QUJD" * 19] * 5)
    assert "left out" in quoted(f"see\n{wrapped}\nand")
    assert len(quoted(wrapped)) < 120
    hashes = "\n".join(["ab" * 32] * 2)
    assert quoted(hashes) == json.dumps(hashes)


def test_a_cut_says_how_much_is_missing() -> None:
    assert cut("abcdefghij", head=3, tail=2) == "abc (… 5 characters left out …) ij"
    assert cut("abcdefghij", head=3, tail=0) == "abc (… 7 characters left out …) "
    assert cut("abcde", head=3, tail=2) == "abcde"


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.lists(st.text().map(quoted)), min_size=1))
def test_blocks_are_what_stands_between_their_lines(parts: dict[str, list[str]]) -> None:
    text, nonce = blocks(parts)
    for name, lines in parts.items():
        between = re.search(rf"(?:^|\n)<<<BEGIN {name} {nonce}>>>\n(.*?)<<<END {name} {nonce}>>>", text, re.DOTALL)
        assert between is not None
        assert [line for line in between[1].split("\n") if line] == lines
    assert text.count(nonce) == 2 * len(parts)


def test_the_nonce_depends_on_all_of_the_content_and_on_nothing_else() -> None:
    nonces = [blocks(parts)[1] for parts in ({"a": ["x"]}, {"a": ["x"]}, {"a": ["y"]}, {"a": ["x"], "b": []})]
    assert nonces[0] == nonces[1]
    assert len(set(nonces)) == 3
