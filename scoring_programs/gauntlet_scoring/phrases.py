"""What a model of pydantic's refuses, in our own words: what is wrong with the value, what was found, what to write.

pydantic speaks to programmers ("Input should be a valid dictionary"). Its types of errors are stable; each that a file
or a request can bring about has its phrase here, and what has none is told in general words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

QUOTED_CHARACTERS: Final = 40
"""Of a text that was found; with more of it a message would be the text."""

_LARGEST: Final = 10**15  # a longer number is not read, but counted
OTHERWISE: Final = "is not what is expected here"

_Phrase = Callable[[Mapping[str, Any], str], str]  # of the error's context and of what was found


def _wants(what: str) -> _Phrase:
    return lambda _, found: f"must be {what}, not {found}"


def _says(template: str) -> _Phrase:
    return lambda context, _: template.format_map(context)


def _counted(most: bool) -> _Phrase:
    def phrase(context: Mapping[str, Any], _: str) -> str:
        limit, there = context["max_length" if most else "min_length"], context.get("actual_length")
        if not there:
            return f"has more than {limit} entries; leave some out" if most else f"is empty; give at least {limit}"
        return f"has {there} entries; give {'at most' if most else 'at least'} {limit}"

    return phrase


def _too_short(context: Mapping[str, Any], _: str) -> str:
    least = context["min_length"]
    return "must not be empty" if least == 1 else f"is too short; write at least {least} characters"


def _one_of(context: Mapping[str, Any], found: str) -> str:
    return f"must be {context['expected']}, not {found}"


def _own_words(context: Mapping[str, Any], _: str) -> str:
    """A check of our own has said it."""
    return str(context["error"])


def _not_json(context: Mapping[str, Any], _: str) -> str:
    place = re.search(r"line (\d+) column (\d+)", str(context.get("error", "")))
    return f"is not valid JSON from line {place[1]}, character {place[2]} on" if place else "is not valid JSON"


_WHOLE: Final = _wants("a whole number")
_NUMBER: Final = _wants("a number")
_FLAG: Final = _wants("true or false")
_TEXT: Final = _wants("a text")
_LIST: Final = _wants("a list")
_OBJECT: Final = _wants("an object, with a name for each value")
_MOMENT: Final = _wants("a date and a time, such as 2026-06-01T12:00:00Z")
_DAY: Final = _wants("a date, such as 2026-06-01")
_CLOCK: Final = _wants("a time, such as 12:00:00")
_DURATION: Final = _wants("a duration, in seconds")
_AMOUNT: Final = _wants("an amount, such as 0.50")
_ADDRESS: Final = _wants("an address, such as https://example.org/")
_UUID: Final = _wants("a UUID, such as 123e4567-e89b-42d3-a456-426614174000")
_CYCLE: Final = _says("contains itself, or is nested too deeply")

PHRASES: Final[Mapping[str, _Phrase]] = {
    "missing": _says("is required and missing"),
    "extra_forbidden": _says("is not known here; leave it out, or correct its name"),
    "invalid_key": _says("has a name that is no text"),
    "json_invalid": _not_json,
    "json_type": _wants("JSON"),
    "recursion_loop": _CYCLE,
    "recursion_depth_exceeded": _CYCLE,
    "value_error": _own_words,
    "assertion_error": _own_words,
    "none_required": _wants("null"),
    **dict.fromkeys(("string_type", "bytes_type"), _TEXT),
    "string_unicode": _says("is not text in UTF-8; save it as such"),
    "string_not_ascii": _says("has characters beyond ASCII; leave them out"),
    "string_too_short": _too_short,
    "string_too_long": _says("is too long; write at most {max_length} characters"),
    "string_pattern_mismatch": lambda context, found: f"must have the form {context['pattern']}, not {found}",
    "bytes_too_short": _too_short,
    "bytes_too_long": _says("is too long; send at most {max_length} bytes"),
    "bytes_invalid_encoding": _says("is not encoded as {encoding}"),
    **dict.fromkeys(("literal_error", "enum"), _one_of),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), _WHOLE),
    "int_parsing_size": _says("is too large a number"),
    **dict.fromkeys(("float_type", "float_parsing"), _NUMBER),
    "finite_number": _wants("a finite number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), _FLAG),
    "greater_than": lambda context, found: f"must be more than {context['gt']}, not {found}",
    "greater_than_equal": lambda context, found: f"must be at least {context['ge']}, not {found}",
    "less_than": lambda context, found: f"must be less than {context['lt']}, not {found}",
    "less_than_equal": lambda context, found: f"must be at most {context['le']}, not {found}",
    "multiple_of": lambda context, found: f"must be a multiple of {context['multiple_of']}, not {found}",
    **dict.fromkeys(
        ("list_type", "tuple_type", "set_type", "frozen_set_type", "deque_type", "iterable_type", "iteration_error"),
        _LIST,
    ),
    "set_item_not_hashable": _says("must be a text or a number, to be one of a set"),
    "too_short": _counted(most=False),
    "too_long": _counted(most=True),
    **dict.fromkeys(
        (
            *("dict_type", "frozen_dict_type", "ordered_dict_type", "counter_type", "mapping_type", "named_tuple_type"),
            *("model_type", "model_attributes_type", "dataclass_type", "dataclass_exact_type", "arguments_type"),
        ),
        _OBJECT,
    ),
    "union_tag_invalid": _says("has the {discriminator} '{tag}', which is not known; write one of {expected_tags}"),
    "union_tag_not_found": _says("needs {discriminator}, which says what it is"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_object_invalid", "datetime_from_date_parsing"), _MOMENT
    ),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"), _DAY),
    **dict.fromkeys(("time_type", "time_parsing"), _CLOCK),
    **dict.fromkeys(("time_delta_type", "time_delta_parsing"), _DURATION),
    **dict.fromkeys(("date_past", "datetime_past"), _says("must lie in the past")),
    **dict.fromkeys(("date_future", "datetime_future"), _says("must lie in the future")),
    "timezone_aware": _says("needs a time zone, such as Z at its end"),
    "timezone_naive": _says("must have no time zone"),
    "timezone_offset": _says("has another time zone than is expected here"),
    **dict.fromkeys(("decimal_type", "decimal_parsing", "fraction_type", "fraction_parsing"), _AMOUNT),
    "decimal_max_digits": _says("has too many digits; write at most {max_digits}"),
    "decimal_max_places": _says("has too many digits after the point; write at most {decimal_places}"),
    "decimal_whole_digits": _says("has too many digits before the point; write at most {whole_digits}"),
    **dict.fromkeys(("url_type", "url_parsing", "url_syntax_violation"), _ADDRESS),
    "url_too_long": _says("is too long; write at most {max_length} characters"),
    "url_scheme": _says("must begin with {expected_schemes}"),
    **dict.fromkeys(("uuid_type", "uuid_parsing"), _UUID),
    "uuid_version": _says("must be a UUID of version {expected_version}"),
}


def phrase(error: ErrorDetails, *, quote: bool = False) -> str:
    """One error as a sentence that begins where the field's name ends, without a full stop.

    Args:
        quote: whether a short text that was found may be shown. Else only that it is one: it may be a secret, or
            somebody else's.
    """
    say = PHRASES.get(error["type"])
    return say(error.get("ctx", {}), kind_of(error.get("input"), quote=quote)) if say else OTHERWISE


def first_phrase(error: ValidationError, *, quote: bool = False, whole: str = "") -> str:
    """The first finding of a validation error as one sentence, after the field or what ``whole`` calls all of it."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or whole
    said = phrase(first, quote=quote)
    return f"{place}: {said}" if place else said


def kind_of(value: Any, *, quote: bool = False) -> str:
    """A value that was found, in words that need no program to understand."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value) if abs(value) < _LARGEST else "a number"
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("utf-8", "replace")
        return repr(text) if quote and len(text) <= QUOTED_CHARACTERS else "a text"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    return "an object" if isinstance(value, Mapping) else "something else"
