"""Numbers combined without rounding on the way: who has the same results in another order has the same value."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

_DIGITS: Final = 15  # so many significant digits survive the way into a float and back
_LARGEST_DENOMINATOR: Final = 10**4  # their least common multiple has 14,000 bits, and sums stay quick


def total(values: Iterable[float]) -> float:
    """The sum, rounded once.

    Raises:
        OverflowError: it is no finite float.
    """
    return float(sum(map(_meant, values)))


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value, rounded once."""
    return float(_mean(values))


def deviation_of_means(groups: Iterable[Sequence[float]]) -> float:
    """The sample standard deviation (n - 1 in the denominator) of the means of at least two groups, rounded once.

    Raises:
        OverflowError: it is no finite float.
    """
    return float(statistics.stdev([_mean(values) for values in groups]))


def _mean(values: Sequence[float]) -> Fraction:
    return sum(map(_meant, values), Fraction()) / len(values)


@lru_cache(maxsize=1 << 16)  # scores repeat
def _meant(value: float) -> Fraction:
    """The decimal of few digits or the simple fraction of which this is the float, as 0.1 and 2/3; else itself."""
    text = repr(value)
    if len(Decimal(text).as_tuple().digits) <= _DIGITS:
        return Fraction(text)
    itself = Fraction(value)
    simple = itself.limit_denominator(_LARGEST_DENOMINATOR)
    return simple if float(simple) == value else itself
