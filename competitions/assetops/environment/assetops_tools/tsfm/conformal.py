"""Conformal intervals: how far from a prediction a value may lie, without assuming how errors are distributed.

Split conformal prediction (Vovk, Gammerman and Shafer 2005; Lei et al. 2018): with n errors of other steps, the
interval of half-width "the ceil((n + 1)(1 - alpha)) smallest absolute error" holds the next value with a probability
of at least 1 - alpha, as long as the errors are exchangeable.
"""

from __future__ import annotations

import math

import numpy as np

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


def cross_widths(errors: Numbers, judged: Flags, alpha: float) -> Numbers:
    """A half-width for each step: the judged steps are cut in two halves, and each is measured by the other's errors.

    So every judged step has an interval that its own error had no part in. Steps that are not judged get that of
    their half of the time.
    """
    places = np.flatnonzero(judged)
    middle = int(places[len(places) // 2]) if len(places) else 0
    early = np.arange(len(errors)) < middle
    widths = np.empty(len(errors))
    widths[early] = half_width(errors[judged & ~early], alpha)
    widths[~early] = half_width(errors[judged & early], alpha)
    return widths
