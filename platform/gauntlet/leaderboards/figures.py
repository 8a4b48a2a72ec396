"""How a value is written for readers."""

from __future__ import annotations

from typing import Final

_LONG: Final = 1e15  # from here on a float's digits before the point say nothing


def figure(value: float, digits: int) -> str:
    """A value with a column's digits; a very large one with an exponent, and zero without a sign."""
    return f"{value:.{digits}e}" if abs(value) >= _LONG else f"{value:z.{digits}f}"
