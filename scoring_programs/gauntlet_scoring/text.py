"""Text as the text measures see it: normalised, in tokens of any script, one step a line."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from gauntlet_scoring.ground_truth import ExecutionStep, PlanningStep
from gauntlet_scoring.trajectory import PlanStep

MAX_TEXT_CHARACTERS: Final = 20_000
"""Longer texts are cut: ROUGE-L costs the product of both lengths, and an agent chooses one of them."""

NOT_TOOL_CALLS: Final = frozenset({"Self-Ask", "Agent-Ask", "if_then_else"})
"""Special steps of a reference execution (G7) that a record of tool calls cannot hold."""

FINISH: Final = "Finish"

# Written without spaces between words: every character with its marks is a token.
_UNSPACED_SCRIPTS: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})
_MIDNIGHT: Final = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?", re.IGNORECASE)
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_SPACES: Final = re.compile(r"\s+")


def normalise(text: str) -> str:
    """NFKC and casefold, then NFKC again because casefolding may undo it (Unicode's toNFKC_Casefold)."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=4096)
def _role(character: str) -> str:
    """What a character is to the tokenizer: a ``mark``, ``alone``, part of a ``word``, or a ``break``."""
    category = unicodedata.category(character)
    if category[0] == "M":
        return "mark"
    if category[0] not in "LN":
        return "break"
    script = unicodedata.name(character, "").split(" ")[0].split("-")[0]
    return "alone" if script in _UNSPACED_SCRIPTS and category[0] == "L" else "word"


def tokenize(text: str) -> list[str]:
    """Cut a text into tokens of letters and digits, in any script.

    A run of letters, marks and digits is a token; in a script that is written without spaces every letter, with its
    marks, is one. On ASCII text the result equals that of rouge-score's own tokenizer without stemming
    (``[a-z0-9]+`` of the lower-cased text), which drops every letter beyond ASCII.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())  # the same, and ten times as fast
    tokens: list[str] = []
    word: list[str] = []
    alone = False

    def close() -> None:
        if word:
            tokens.append("".join(word))
            word.clear()

    for character in normalise(text):
        role = _role(character)
        if role == "mark":
            if word:  # a mark without a letter before it is no token
                word.append(character)
            continue
        if role == "break" or role == "alone" or alone:
            close()
        if role != "break":
            word.append(character)
        alone = role == "alone"
    close()
    return tokens


def one_line(text: str) -> str:
    """NFKC with every run of white space as one space: a step stays one line, whatever its author wrote."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text)).strip()


def step_line(agent: str, instruction: str) -> str:
    """A step as ``agent: instruction``, or the instruction alone where no agent is named."""
    agent, instruction = one_line(agent), one_line(instruction)
    return f"{agent}: {instruction}" if agent and instruction else agent or instruction


def plan_text(steps: Iterable[PlanStep | PlanningStep]) -> str:
    """A plan as text: its steps' lines, joined by newlines, cut at :data:`MAX_TEXT_CHARACTERS`."""
    return cut("\n".join(filter(None, (step_line(step.agent, step.instruction) for step in steps))))


def call_line(action: str, arguments: dict[str, Any] | str) -> str:
    """A call as ``action(key=value, ...)``: keys sorted, nulls left out, midnight as its date, 2.0 as 2.

    No agent stands before it: the record says which tool was called, not which of the participant's inner agents
    called it, and a name put there by us would be the same on both sides and raise every score.
    """
    if isinstance(arguments, str):
        inside = arguments
    else:
        inside = ", ".join(f"{key}={_argument(value)}" for key, value in sorted(arguments.items()) if value is not None)
    return one_line(f"{action}({inside})")


def reference_execution_lines(steps: Sequence[ExecutionStep]) -> list[str]:
    """The reference execution's lines: tool calls, and ``Finish()`` without the answer, which the rubric judges."""
    return [
        call_line(FINISH, {}) if step.action == FINISH else call_line(step.action, step.arguments)
        for step in steps
        if step.action not in NOT_TOOL_CALLS
    ]


def recorded_execution_lines(
    calls: Iterable[tuple[str, dict[str, Any]]], *, answered: bool, reference: Sequence[ExecutionStep]
) -> list[str]:
    """The recorded execution's lines: successful calls in order, and ``Finish()`` for an answer.

    The latter only where the reference has one: some references end without (001, scenario 400).
    """
    lines = [call_line(tool, arguments) for tool, arguments in calls]
    if answered and any(step.action == FINISH for step in reference):
        lines.append(call_line(FINISH, {}))
    return lines


def cut(text: str) -> str:
    """The text without what lies past :data:`MAX_TEXT_CHARACTERS`."""
    return text[:MAX_TEXT_CHARACTERS]


def date_of_midnight(text: str) -> str:
    """A date at midnight UTC (or without a zone) as the date alone; any other text unchanged."""
    match = _MIDNIGHT.fullmatch(text.strip())
    return match[1] if match else text


def _argument(value: Any) -> str:
    if isinstance(value, str):
        return date_of_midnight(value)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
