"""A JSON file read together with where everything stands in it: one object, an array of objects, or one a line.

The packages that map JSON to places were tried: `json-source-map` leaves a key's ``/`` unescaped, so that two paths
can be one, and takes every document apart whether its places are asked for or not; `dirtyjson` accepts what is no
JSON. So the standard library reads (in C, an object at a time), and a document's places are looked up only where
there is a finding.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]  # undocumented, and in CPython and PyPy alike
from typing import Any, Final

Location = tuple[int | str, ...]
"""Keys and positions that lead from a document to a value in it."""

DEEPEST: Final = 100
"""How deep a document may nest: no scenario comes near it, and reading must end before Python's stack does."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SCALAR: Final = re.compile(r"[^\s,\]}]+")
_ROW_BREAK: Final = re.compile(r"\n")


@dataclass(frozen=True)
class Problem:
    """A place in the file that cannot be read."""

    line: int
    column: int | None
    message: str


@dataclass(frozen=True)
class Text:
    """A file's text, and its lines. Only a line feed ends one: other separators may stand inside a JSON text."""

    text: str

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _ROW_BREAK.finditer(self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a character."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


@dataclass(frozen=True)
class Document:
    """One value of the file, and where it begins."""

    value: Any
    source: Text = field(repr=False)
    offset: int
    duplicates: tuple[str, ...] = ()  # keys that an object has twice: the last one counts, as in most readers

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.source.place(self.offset)[0]

    @cached_property
    def _offsets(self) -> dict[Location, int]:
        found: dict[Location, int] = {}
        _scan(self.source.text, self.offset, (), found)
        return found

    def place(self, location: Location) -> tuple[int, int]:
        """Line and column of a value, or of the nearest one around it where there is none (a missing key)."""
        while location not in self._offsets:
            location = location[:-1]
        return self.source.place(self._offsets[location])


def read_documents(text: str) -> tuple[list[Document], list[Problem]]:
    """Every value of a JSON file: an array's members, an object, or the values that follow each other, one a line.

    A line that cannot be read is a problem, and the others are read all the same.
    """
    source = Text(text.removeprefix("\ufeff"))
    start = _after_space(source.text, 0)
    if start == len(source.text):
        return [], [Problem(1, None, "the file holds no scenario")]
    if source.text[start] == "[":
        return _array(source, start)
    first_end = source.text.find("\n", start)
    first_line = source.text[start:] if first_end < 0 else source.text[start:first_end]
    if _is_json(first_line) or _is_lines(source.text):
        return _lines(source)
    return _sequence(source, start)


def _array(source: Text, start: int) -> tuple[list[Document], list[Problem]]:
    documents: list[Document] = []
    at = _after_space(source.text, start + 1)
    if source.text.startswith("]", at):
        return [], [Problem(*source.place(start), "the array holds no scenario")]
    while True:
        document = _decode(source, at)
        if isinstance(document, Problem):
            return documents, [document]
        documents.append(document[0])
        at = _after_space(source.text, document[1])
        if source.text.startswith("]", at):
            rest = _after_space(source.text, at + 1)
            return documents, _rest_problems(source, rest)
        if not source.text.startswith(",", at):
            return documents, [_problem(source, at, "a comma or the array's closing bracket is expected here")]
        at = _after_space(source.text, at + 1)


def _sequence(source: Text, at: int) -> tuple[list[Document], list[Problem]]:
    documents: list[Document] = []
    while at < len(source.text):
        document = _decode(source, at)
        if isinstance(document, Problem):
            return documents, [document]
        documents.append(document[0])
        at = _after_space(source.text, document[1])
    return documents, []


def _lines(source: Text) -> tuple[list[Document], list[Problem]]:
    documents: list[Document] = []
    problems: list[Problem] = []
    offset = 0
    for row in source.text.split("\n"):
        start = _after_space(source.text, offset)
        if row.strip(" \t\r"):
            document = _decode(source, start, end=offset + len(row))
            if isinstance(document, Problem):
                problems.append(document)
            else:
                documents.append(document[0])
                problems.extend(_line_rest(source, document[1], end=offset + len(row)))
        offset += len(row) + 1
    return documents, problems


def _line_rest(source: Text, at: int, *, end: int) -> list[Problem]:
    at = _after_space(source.text, at)
    return [_problem(source, at, "another value follows on the same line")] if at < end else []


def _rest_problems(source: Text, at: int) -> list[Problem]:
    return [_problem(source, at, "something follows the end of the array")] if at < len(source.text) else []


def _problem(source: Text, at: int, message: str) -> Problem:
    return Problem(*source.place(at), message)


def _decode(source: Text, at: int, *, end: int | None = None) -> tuple[Document, int] | Problem:
    """The value that begins at ``at``, and where it ends; it may not reach past ``end``."""
    duplicates: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(found)
        if len(content) < len(found):
            duplicates.extend(key for key, count in Counter(key for key, _ in found).items() if count > 1)
        return content

    decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=pairs)
    text, shift = (source.text, 0) if end is None else (source.text[at:end], at)
    try:
        value, after = decoder.raw_decode(text, at - shift)
    except json.JSONDecodeError as error:
        return _problem(source, error.pos + shift, f"is not JSON: {error.msg}")
    except RecursionError:
        return _problem(source, at, "is nested too deeply")
    except ValueError as error:
        return _problem(source, at, f"is not JSON: {error}")
    if _is_deeper(value, DEEPEST):
        return _problem(source, at, "is nested too deeply")
    return Document(value, source, at, tuple(duplicates)), after + shift


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _is_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [each for one in level for each in _members(one)]
        if not level:
            return False
    return True


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_lines(text: str) -> bool:
    """Whether the first line is a broken one of several: the next line that is not blank is an object by itself."""
    following = [row for row in text.split("\n", 50)[1:50] if row.strip()]
    return bool(following) and following[0].startswith("{") and _is_json(following[0])


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _scan(text: str, at: int, here: Location, found: dict[Location, int]) -> int:
    """Note where every value below ``here`` begins; the text is known to be JSON. Returns where the value ends."""
    found[here] = at
    opening = text[at]
    if opening not in "{[":
        return scanstring(text, at + 1, False)[1] if opening == '"' else _SCALAR.match(text, at).end()  # type: ignore[union-attr]
    closing = "}" if opening == "{" else "]"
    position = 0
    at = _after_space(text, at + 1)
    while text[at] != closing:
        key: int | str = position
        if opening == "{":
            key, at = scanstring(text, at + 1, False)
            at = _after_space(text, _after_space(text, at) + 1)
        at = _after_space(text, _scan(text, at, (*here, key), found))
        if text[at] == ",":
            at = _after_space(text, at + 1)
        position += 1
    return at + 1
