"""Exponential smoothing of level and daily season (Holt-Winters, additive, without a trend) that can wait.

In error-correction form (Hyndman and Athanasopoulos, Forecasting: Principles and Practice, section 8.3): with
``e = y - level - season``, ``level += alpha * e`` and ``season += gamma * e``. A step that is not to be learned from,
for its value is missing or the equipment is off, leaves both as they are; statsmodels' has no such step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from assetops_tools.tsfm.registry import STEPS_A_DAY
from assetops_tools.tsfm.series import Flags, Numbers


@dataclass(frozen=True)
class Smoothing:
    """How fast level and season follow, each in [0, 1]."""

    level: float
    season: float


USUAL: Final = Smoothing(0.05, 0.15)
CANDIDATES: Final = tuple(
    Smoothing(level, season)
    for level, season in product((0.01, 0.03, 0.05, 0.1, 0.2, 0.4), (0.02, 0.05, 0.15, 0.3, 0.5))
)


@dataclass(frozen=True)
class Smoothed:
    """What ``smooth`` found: a row a parameter set.

    ``predictions``: of each step, made with what was known at the beginning of its block; ``level`` and ``season``:
    where they stand after the last step, the season by step of the series modulo a day.
    """

    predictions: Numbers
    level: Numbers
    season: Numbers

    def ahead(self, first: int, steps: int) -> Numbers:
        """The forecast of ``steps`` steps from step ``first`` on, a row a parameter set."""
        places = (first + np.arange(steps)) % STEPS_A_DAY
        forecast: Numbers = self.level[:, None] + self.season[:, places]
        return forecast


def smooth(
    values: Numbers, learned: Flags, parameters: Sequence[Smoothing], *, block: int, season: Numbers | None = None
) -> Smoothed:
    """Run through a series once, for all parameter sets together.

    Args:
        values: the series; may hold nan where ``learned`` is False
        learned: which steps level and season learn from
        parameters: one or more
        block: predictions are made every so many steps, at most a day
        season: the season to begin with, a day of deviations from the level; zero where None
    """
    if not 1 <= block <= STEPS_A_DAY:
        raise ValueError("a block is from one step to a day")
    alpha = np.array([one.level for one in parameters])
    gamma = np.array([one.season for one in parameters])
    level = np.full(len(parameters), _first_level(values, learned))
    seasons = np.zeros((len(parameters), STEPS_A_DAY))
    if season is not None:
        seasons[:] = season
    predictions = np.empty((len(parameters), len(values)))
    known_level = level
    for step, value in enumerate(values.tolist()):
        if step % block == 0:
            known_level = level
        place = step % STEPS_A_DAY
        predictions[:, step] = known_level + seasons[:, place]
        if learned[step]:
            error = value - level - seasons[:, place]
            level = level + alpha * error
            seasons[:, place] += gamma * error
    return Smoothed(predictions, level, seasons)


def _first_level(values: Numbers, learned: Flags) -> float:
    """The mean of the first day that is learned from."""
    first = values[learned][:STEPS_A_DAY]
    return float(first.mean()) if len(first) else 0.0
