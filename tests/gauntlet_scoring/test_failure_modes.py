"""Failure modes: the form of an answer, and what a page of many traces says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gauntlet_scoring.failure_modes import KEY_OF, KEYS, MODES, SYSTEM_TEXT, read_findings
from gauntlet_scoring.judge_door import UnreadableAnswer


def answer(*codes: str, new: Any = ()) -> str:
    return json.dumps({"modes": {code: code in codes for code in MODES}, "new_modes": list(new)})


def test_there_are_the_fourteen_of_the_taxonomy() -> None:
    assert len(MODES) == 14
    assert [code for code in MODES if code[0] == "1"] == ["1.1", "1.2", "1.3", "1.4", "1.5"]
    assert [code for code in MODES if code[0] == "2"] == ["2.1", "2.2", "2.3", "2.4", "2.5", "2.6"]
    assert [code for code in MODES if code[0] == "3"] == ["3.1", "3.2", "3.3"]
    assert all(f"{code} {title}:" in SYSTEM_TEXT for code, (title, _) in MODES.items())
    assert set(KEY_OF.values()) < KEYS


def test_an_answer_is_read() -> None:
    new = [{"title": " Overstated\n completion ", "description": "It says more than it did."}]
    findings = read_findings(answer("3.1", "1.3", new=new))
    assert findings.codes == ("1.3", "3.1")
    assert [(mode.title, mode.description) for mode in findings.new] == [
        ("Overstated completion", "It says more than it did.")
    ]


MODE = {"title": "A", "description": "B"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        f"```\n{answer()}\n```",
        answer().replace('"1.1": false, ', ""),
        answer().replace('"1.1"', '"1.6"'),
        answer().replace('"1.1": false', '"1.1": "no"'),
        answer(new=[MODE] * 3),
        answer(new=["A"]),
        answer(new=[{"title": "A"}]),
        answer(new=[{**MODE, "code": "4.1"}]),
        answer(new=[{**MODE, "title": "  "}]),
        answer().replace('"new_modes": []', '"new_modes": null'),
        answer().replace("}}", "}, }") if "}}" in answer() else "}",
    ],
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(UnreadableAnswer):
        read_findings(text)
