"""JSON that strangers made, read so that whatever is in it can be stored and shown again.

The database holds no NUL in a text, no number that is none, and no infinite one; a number of thousands of digits is
read, and then cannot be written.
"""

from __future__ import annotations

import math
from typing import Any, Final

import pydantic_core

_LARGEST: Final = 10**300


class NotPlain(ValueError):
    """The message says where and what, to be read after the name of the whole; it quotes no value."""


def read(content: bytes) -> Any:
    """The value of a JSON text in UTF-8.

    Raises:
        NotPlain: it is none, is nested too deeply, or holds what cannot be stored.
    """
    try:
        value = pydantic_core.from_json(content, allow_inf_nan=False)
    except ValueError:
        raise NotPlain("is not valid JSON, or is nested too deeply") from None
    _check(value, "")
    return value


def _check(value: Any, place: str) -> None:
    """Its depth is bounded by the reader's."""
    if isinstance(value, str):
        if "\0" in value:
            raise NotPlain(f"{place}: holds the character NUL; leave it out".removeprefix(": "))
    elif isinstance(value, dict):
        for name, one in value.items():
            _check(name, f"{place}: a name")
            _check(one, f"{place}.{name[:80]}".removeprefix("."))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            _check(one, f"{place}.{index}".removeprefix("."))
    elif isinstance(value, float | int) and (not math.isfinite(value) if isinstance(value, float) else _is_vast(value)):
        raise NotPlain(f"{place}: is too large a number".removeprefix(": "))


def _is_vast(value: int) -> bool:
    return not -_LARGEST < value < _LARGEST
