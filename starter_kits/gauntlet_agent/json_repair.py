"""JSON as language models write it: fenced, talked around, with trailing commas or cut short.

Only the writing is repaired, never the content: what is missing stays missing.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any, Final

from gauntlet_agent.errors import GauntletError

_FENCE: Final = re.compile(r"```[A-Za-z]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r",(\s*[}\]])")
_CLOSING: Final = {"{": "}", "[": "]"}


class NotJson(GauntletError):
    """A text holds no JSON object or list, not even a damaged one."""


def read_json(text: str) -> Any:
    """Return the first JSON object or list in a text.

    Tried in this order: the whole text, what stands in code fences, what begins at the first bracket; each as it is,
    then without trailing commas, as a Python literal, and with the brackets closed that are still open.

    Raises:
        NotJson: there is none.
    """
    candidates = [text.strip(), *(found.strip() for found in _FENCE.findall(text)), *_from_brackets(text)]
    for candidate in candidates:
        for reading in (_strict, _without_commas, _literal):
            value = reading(candidate)
            if isinstance(value, dict | list):
                return value
    for candidate in candidates[1:]:
        value = _strict(_closed(candidate))
        if isinstance(value, dict | list) and value:  # a lone bracket is no empty object
            return value
    raise NotJson(f"There is no JSON in what was said: {text[:200]!r}.")


def read_object(text: str) -> dict[str, Any]:
    """Return the first JSON object in a text.

    Raises:
        NotJson: there is none, or a list comes first.
    """
    value = read_json(text)
    if not isinstance(value, dict):
        raise NotJson(f"A JSON object was expected, not a list: {text[:200]!r}.")
    return value


def _from_brackets(text: str) -> list[str]:
    """The text from its first opening bracket: to the bracket that closes it, and to the end."""
    start = next((position for position, letter in enumerate(text) if letter in _CLOSING), None)
    if start is None:
        return []
    end = _end_of_value(text, start)
    return [text[start:end], text[start:]] if end is not None else [text[start:]]


def _end_of_value(text: str, start: int) -> int | None:
    open_brackets = _walk(text[start:])
    return start + open_brackets[1] if open_brackets[1] is not None else None


def _walk(text: str) -> tuple[list[str], int | None, bool]:
    """The brackets open at the end, where the first value closes, and whether the text ends inside a string."""
    stack: list[str] = []
    quoted = escaped = False
    for position, letter in enumerate(text):
        if quoted:
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter == '"':
                quoted = False
        elif letter == '"':
            quoted = True
        elif letter in _CLOSING:
            stack.append(_CLOSING[letter])
        elif stack and letter == stack[-1]:
            stack.pop()
            if not stack:
                return [], position + 1, False
    return stack, None, quoted


def _closed(text: str) -> str:
    """Close what a text that was cut short left open; a key without a value is dropped."""
    stack, _, quoted = _walk(text)
    whole = text + '"' if quoted else text
    whole = re.sub(r"[,{]\s*\"[^\"]*\"\s*:?\s*$", lambda cut: "{" if cut[0][0] == "{" else "", whole)
    return _TRAILING_COMMA.sub(r"\1", whole.rstrip().rstrip(",") + "".join(reversed(stack)))


def _strict(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _without_commas(text: str) -> Any:
    return _strict(_TRAILING_COMMA.sub(r"\1", text))


def _literal(text: str) -> Any:
    """Single quotes, True and None, as models that think in Python write them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what odd escapes would print into the agent's log
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
