"""References ``@name`` in a reference step's arguments, and whether a recorded value came from an earlier result.

A reference is told by its shape: a text that is ``@`` and a name, with or without a path behind it (``@orders``,
``@orders.items[0]``). What it stands for is in no file, because it depends on what the tool returned; so it is not
compared with a literal: a recorded argument is right where its value is found in the result that the reference names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from gauntlet_scoring.reading import RecordedCall
from gauntlet_scoring.text import date_of_midnight, normalise

_REFERENCE: Final = re.compile(r"@(?P<name>[^\W\d]\w*)(?:[.\[].*)?", re.DOTALL)
_WORD: Final = re.compile(r"[^\s,;\"'`()\[\]{}<>=|]+")
_PIECES: Final = re.compile(r"[,;\n]")
_TEXT_CHARACTERS: Final = 100_000  # of one result that are searched for texts of several words
_LEAVES: Final = 100_000  # of one result, or of one argument, that are looked at
_SMALL: Final = 10  # a whole number below it is everywhere and tells nothing
_SHORT: Final = 3


def is_reference(value: Any) -> bool:
    """Whether a reference step's argument is a reference, or holds one."""
    return next(references(value), None) is not None


def references(value: Any) -> Iterator[str]:
    """The names that an argument of a reference step refers to, without ``@``."""
    if isinstance(value, str):
        found = _REFERENCE.fullmatch(value.strip())
        if found:
            yield found["name"]
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from references(each)


@dataclass(frozen=True)
class Returned:
    """What a tool returned (or a question said), for the search of values in it."""

    leaves: frozenset[str]  # every text, number and key in it
    words: frozenset[str]  # of its texts
    text: str

    @classmethod
    def of_call(cls, call: RecordedCall) -> Returned:
        """What a call returned; a text that is JSON is looked into."""
        content = call.content
        if isinstance(content, str):
            try:
                return cls.of([content, json.loads(content)])
            except (ValueError, RecursionError):
                pass
        return cls.of(content)

    @classmethod
    def of(cls, content: Any) -> Returned:
        """What this JSON value holds."""
        leaves = frozenset(_leaves(content))
        text = "\n".join(sorted(leaves))[:_TEXT_CHARACTERS]
        words = {word.strip(".:!?") for leaf in leaves for word in _WORD.findall(leaf[:_TEXT_CHARACTERS])}
        return cls(leaves=leaves, words=frozenset(words), text=text)

    def holds(self, leaf: str) -> bool:
        """Whether it holds this text: as a value, as a word of a text, or, of several words, anywhere."""
        return leaf in self.leaves or leaf in self.words or (" " in leaf and leaf in self.text)

    def gave(self, value: Any) -> bool:
        """Whether every text and number of a recorded argument is in it; a text may be several, with commas between."""
        found = isinstance(value, bool)  # which tells nothing, and so cannot be wrong
        for leaf in _leaves(value):
            found = True
            if not self.holds(leaf) and not all(map(self.holds, _pieces(leaf))):
                return False
        return found


def telling_leaves(value: Any) -> set[str]:
    """The texts and numbers of an argument that can show where it came from: not small numbers and short texts."""
    return {piece for leaf in _leaves(value) for piece in (leaf, *_pieces(leaf)) if _tells(piece)}


def _tells(leaf: str) -> bool:
    try:
        number = float(leaf)
    except ValueError:
        return len(leaf) >= _SHORT
    return not number.is_integer() or abs(number) >= _SMALL if math.isfinite(number) else True


def _pieces(leaf: str) -> list[str]:
    return [piece for part in _PIECES.split(leaf) if (piece := part.strip())]


def _leaves(value: Any) -> Iterator[str]:
    """Every text and number in a JSON value, keys too, in one canonical form; truth values and nulls tell nothing."""
    waiting, seen = [value], 0
    while waiting and seen < _LEAVES:
        seen += 1
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend([*one, *one.values()])
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, str):
            if text := normalise(date_of_midnight(one)).strip():
                yield text
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield str(int(one)) if isinstance(one, float) and one.is_integer() else str(one)
