"""Anomalies: values outside the conformal interval around their forecast, looked for only while the equipment runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from assetops_tools.errors import BadArgument
from assetops_tools.tsfm.conformal import cross_widths, fewest
from assetops_tools.tsfm.registry import SEASONAL_NAIVE, STEPS_A_DAY
from assetops_tools.tsfm.series import Flags, Numbers, Series
from assetops_tools.tsfm.smoothing import USUAL, Smoothing, smooth

ALPHA: Final = 0.01
BLOCK: Final = 24  # steps ahead that a forecast goes: six hours
SETTLING: Final = 4  # steps after a start that are not judged
_WARM_UP: Final = 2 * STEPS_A_DAY  # steps of operation before the first is judged
_LEAST_ROWS: Final = 5 * STEPS_A_DAY
_JOINED: Final = 4  # anomalies that lie no further apart are one event
_SHORTEST_EVENT: Final = 3


@dataclass(frozen=True)
class Detection:
    """Each step's forecast, interval and verdict; ``judged`` are the steps that had one."""

    series: Series
    predictions: Numbers
    widths: Numbers
    judged: Flags
    anomalous: Flags

    def events(self) -> list[dict[str, Any]]:
        """Anomalies in a row, of at least three: from when to when, and how many steps."""
        places = np.flatnonzero(self.anomalous)
        runs = np.split(places, np.flatnonzero(np.diff(places) > _JOINED) + 1) if len(places) else []
        return [
            {
                "start": str(self.series.times[run[0]]),
                "end": str(self.series.times[run[-1]]),
                "steps": len(run),
                "direction": "high" if self._mean_error(run) > 0 else "low",
            }
            for run in runs
            if len(run) >= _SHORTEST_EVENT
        ]

    def _mean_error(self, places: Any) -> float:
        return float((self.series.values[places] - self.predictions[places]).mean())


def detect(series: Series, model: str, smoothing: Smoothing | None = None, *, alpha: float = ALPHA) -> Detection:
    """Look for anomalies in a series, with the forecasts of a model.

    Raises:
        BadArgument: the series is too short, or the equipment runs too little of it.
    """
    if len(series.values) < _LEAST_ROWS:
        raise BadArgument(
            f"Anomaly detection needs at least {_LEAST_ROWS} steps of 15 minutes (five days); "
            f"the file has {len(series.values)}."
        )
    learned = series.operating & ~np.isnan(series.values)
    judged = learned & _settled(series.operating)
    if model == SEASONAL_NAIVE:
        predictions = _one_day_before(series.values, learned)
        judged &= ~np.isnan(predictions)
    else:
        season = _first_season(series.values, learned)
        found = smooth(series.values, learned, [smoothing or USUAL], block=BLOCK, season=season)
        predictions = found.predictions[0]
    judged &= np.cumsum(learned) > _WARM_UP
    least = 2 * (fewest(alpha) + 1)
    if judged.sum() < least:
        raise BadArgument(
            f"The equipment operates in {int(learned.sum())} of {len(learned)} steps of the file with a reading of "
            f"{series.name}; after the first {_WARM_UP} of them at least {least} more are needed to know what is usual."
        )
    errors = np.where(judged, series.values - predictions, 0.0)
    widths = cross_widths(errors, judged, alpha)
    return Detection(series, predictions, widths, judged, judged & (np.abs(errors) > widths))


def _settled(operating: Flags) -> Flags:
    """Steps of operation that are not the first ones after a start."""
    settled = operating.copy()
    for shift in range(1, SETTLING + 1):
        settled[shift:] &= operating[:-shift]
    settled[:SETTLING] = False
    return settled


def _first_season(values: Numbers, learned: Flags) -> Numbers:
    """The daily season of the steps that warm up: each time of the day's mean deviation, zero where there is none."""
    warming = np.flatnonzero(learned)[:_WARM_UP]
    deviations = values[warming] - values[warming].mean() if len(warming) else values[warming]
    sums = np.bincount(warming % STEPS_A_DAY, weights=deviations, minlength=STEPS_A_DAY)
    counts = np.bincount(warming % STEPS_A_DAY, minlength=STEPS_A_DAY)
    season: Numbers = sums / np.maximum(counts, 1)
    return season


def _one_day_before(values: Numbers, learned: Flags) -> Numbers:
    """The value of the same time on the last day on which the equipment ran then; nan where there is none."""
    known = np.where(learned, values, np.nan)
    last = np.full(STEPS_A_DAY, np.nan)
    predictions = np.empty(len(values))
    for step in range(len(values)):
        place = step % STEPS_A_DAY
        predictions[step] = last[place]
        if learned[step]:
            last[place] = known[step]
    return predictions
