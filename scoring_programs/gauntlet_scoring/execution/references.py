"""References ``@name`` in a reference step's arguments, and whether a recorded value came from an earlier result.

A reference is told by its shape: a text that is ``@`` and a name, with or without a path behind it (``@orders``,
``@orders.items[0]``). What it stands for is in no file, because it depends on what the tool returned; so it is not
compared with a literal: a recorded argument is right where its value is found in the result that the reference names.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from gauntlet_scoring.reading import RecordedCall
from gauntlet_scoring.text import date_of_midnight, normalise

_REFERENCE: Final = re.compile(r"@(?P<name>[^\W\d]\w*)(?:[.\[].*)?", re.DOTALL)
_WORD: Final = re.compile(r"[^\s,;\"'`()\[\]{}<>=|]+")
_PIECES: Final = re.compile(r"[,;\n]")
# An agent chooses how long its arguments are and how much a tool returns: of each so much is looked at.
_CALLS: Final = 300
_BLOB_BYTES: Final = 20 << 20  # of an episode's large results together
_TEXT_CHARACTERS: Final = 50_000  # of one result
_LEAVES: Final = 20_000  # texts and numbers of one result
_ARGUMENT_LEAVES: Final = 1_000
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
    words: frozenset[str]  # of its texts, and what stands between their commas
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
        leaves: set[str] = set()
        words: set[str] = set()
        left = _TEXT_CHARACTERS
        for leaf in islice(_leaves(content, keys=True), _LEAVES):
            if left <= 0:
                break
            if leaf not in leaves:
                leaves.add(leaf)
                words.update(word.strip(".:!?") for word in _WORD.findall(leaf[:left]))
                words.update(_pieces(leaf[:left]))
                left -= len(leaf)
        return cls(leaves=frozenset(leaves), words=frozenset(words), text="\n".join(sorted(leaves))[:_TEXT_CHARACTERS])

    def holds(self, leaf: str) -> bool:
        """Whether it holds this text: as a value, as a word of a text, or, of several words, anywhere."""
        return leaf in self.leaves or leaf in self.words or (" " in leaf and leaf in self.text)

    def gave(self, value: Any) -> bool:
        """Whether every text and number of a recorded argument is in it; a text may be several, with commas between."""
        found = isinstance(value, bool)  # which tells nothing, and so cannot be wrong
        for leaf in islice(_leaves(value), _ARGUMENT_LEAVES):
            found = True
            if not self.holds(leaf) and not all(map(self.holds, _pieces(leaf))):
                return False
        return found


def all_returned(calls: Sequence[RecordedCall | None]) -> list[Returned | None]:
    """What each call returned, None for what is no call; of very many or very large ones the later count as empty."""
    found: list[Returned | None] = []
    left = _BLOB_BYTES
    for number, call in enumerate(calls):
        size = 0 if call is None or call.blob is None else call.blob.stat().st_size
        read = number < _CALLS and size <= left
        left -= size if read else 0
        found.append(None if call is None else Returned.of_call(call) if read else Returned.of(None))
    return found


class FirstReturned:
    """Which call first returned a text or number, as a value or as a word; built once for all that ask."""

    def __init__(self, returned: Sequence[Returned | None]) -> None:
        self._first: dict[str, int] = {}
        for number, each in enumerate(returned):
            for leaf in (each.leaves | each.words) if each is not None else ():
                self._first.setdefault(leaf, number)

    def call(self, leaf: str, *, before: int) -> int | None:
        """The first call that returned it, if that came before the call with this number."""
        number = self._first.get(leaf)
        return number if number is not None and number < before else None

    def gave(self, value: Any, *, before: int) -> bool:
        """Whether every text and number of an argument was returned by some call before this one."""
        found = isinstance(value, bool)
        for leaf in islice(_leaves(value), _ARGUMENT_LEAVES):
            found = True
            if any(
                self.call(each, before=before) is None for each in ([leaf] if leaf in self._first else _pieces(leaf))
            ):
                return False
        return found


def telling_leaves(value: Any) -> set[str]:
    """The texts and numbers of an argument that can show where it came from: not small numbers and short texts."""
    leaves = islice(_leaves(value), _ARGUMENT_LEAVES)
    return {piece for leaf in leaves for piece in (leaf, *_pieces(leaf)) if _tells(piece)}


def _tells(leaf: str) -> bool:
    try:
        number = float(leaf)
    except ValueError:
        return len(leaf) >= _SHORT
    return not number.is_integer() or abs(number) >= _SMALL if math.isfinite(number) else True


def _pieces(leaf: str) -> list[str]:
    return [piece for part in _PIECES.split(leaf) if (piece := part.strip())]


def _leaves(value: Any, *, keys: bool = False) -> Iterator[str]:
    """Every text and number in a JSON value in one canonical form; truth values and nulls tell nothing."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend([*one.values(), *(one if keys else ())])
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, str):
            if text := normalise(date_of_midnight(one)).strip():
                yield text
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield str(int(one)) if isinstance(one, float) and one.is_integer() else str(one)
