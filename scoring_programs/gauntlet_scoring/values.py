"""Comparison of values as the checks mean it: text without case and outer space, numbers by value, types kept apart."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Final

from gauntlet_scoring.text import date_of_midnight, normalise

MISSING: Final = object()
"""What :func:`at_path` returns where the path leads nowhere: null is a value."""

ROUNDING: Final = 1e-12
"""Relative slack of a tolerance, so that 0.4 lies within 0.1 of 0.3 although floats say otherwise."""


def comparable(value: Any, *, dates: bool = False) -> Hashable:
    """Turn a JSON value into one that compares as the checks mean it.

    Text is NFKC, casefolded and trimmed; 33 equals 33.0; true is not 1; NaN equals nothing; an object's order of keys
    does not count, a list's does. With ``dates``, a date at midnight equals the date.
    """
    if value is None or isinstance(value, bool):
        return ("constant", str(value))
    if isinstance(value, int | float):
        return ("number", object() if isinstance(value, float) and math.isnan(value) else value)
    if isinstance(value, str):
        text = date_of_midnight(value) if dates else value
        return ("text", normalise(text).strip())
    if isinstance(value, list):
        return ("list", tuple(comparable(each, dates=dates) for each in value))
    return ("object", frozenset((key, comparable(each, dates=dates)) for key, each in value.items()))


def at_path(data: Any, path: str) -> Any:
    """The value at ``path``: dots between an object's keys, a whole number counts into a list; "" is all of it."""
    for part in path.split(".") if path else ():
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(data, list) and part.isascii() and part.isdigit() and int(part) < len(data):
            data = data[int(part)]
        else:
            return MISSING
    return data


def is_within(value: Any, target: float, *, tolerance: float) -> bool:
    """Whether ``value`` is a finite number at most ``tolerance`` away from ``target``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        number = float(value)
    except OverflowError:  # JSON allows whole numbers beyond any float
        return False
    return math.isfinite(number) and abs(number - target) <= tolerance + ROUNDING * max(1.0, abs(target))


def shown(value: Any) -> str:
    """A value in a verdict's sentence, short enough to read."""
    if value is MISSING:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
