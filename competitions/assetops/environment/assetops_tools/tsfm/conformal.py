"""Conformal intervals: how far from a prediction a value may lie, without assuming how errors are distributed.

Split conformal prediction (Vovk, Gammerman and Shafer 2005; Lei et al. 2018): with n errors of other steps, the
interval of half-width "the ceil((n + 1)(1 - alpha)) smallest absolute error" holds the next value with a probability
of at least 1 - alpha, as long as the errors are exchangeable.
"""

from __future__ import annotations

import math

import numpy as np

from assetops_tools.tsfm.registry import STEPS_A_DAY
from assetops_tools.tsfm.series import Flags, Numbers


def half_width(errors: Numbers, alpha: float) -> float:
    """The half-width that errors of other steps give; infinite where they are too few for ``alpha``.

    Args:
        errors: of the calibration, without nan
        alpha: the share that may lie outside, in (0, 1)
    """
    if not 0 < alpha < 1:
        raise ValueError("alpha is a share between zero and one")
    rank = math.ceil((len(errors) + 1) * (1 - alpha))
    if rank > len(errors):
        return math.inf
    return float(np.sort(np.abs(errors))[rank - 1])


def fewest(alpha: float) -> int:
    """How many errors ``half_width`` needs to be finite."""
    return math.ceil(1 / alpha) - 1


def folds_of(judged: Flags) -> Flags:
    """Cut the judged steps in two by turns of about a day each: False for the one part, True for the other.

    By turns, so that both parts have seen the same weather and the same hours. Of few steps, two halves.
    """
    count = int(judged.sum())
    pairs = max(1, count // (2 * STEPS_A_DAY))
    length = max(1, math.ceil(count / (2 * pairs)))
    turns: Flags = ((np.cumsum(judged) - 1) // length) % 2 == 1
    return turns


def cross_widths(errors: Numbers, judged: Flags, alpha: float) -> Numbers:
    """A half-width for each step: each of the two parts of the judged steps is measured by the other's errors.

    So every judged step has an interval that its own error had no part in. Infinite where a part has too few.
    """
    second = folds_of(judged)
    widths = np.empty(len(errors))
    widths[~second] = half_width(errors[judged & second], alpha)
    widths[second] = half_width(errors[judged & ~second], alpha)
    return widths
