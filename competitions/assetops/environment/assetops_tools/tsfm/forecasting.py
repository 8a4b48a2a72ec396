"""Forecasts of one series, with intervals, by the models that run anywhere."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from assetops_tools.errors import BadArgument
from assetops_tools.tsfm.conformal import half_width
from assetops_tools.tsfm.registry import HOLT_WINTERS, SEASONAL_NAIVE, STEPS_A_DAY, THETA
from assetops_tools.tsfm.series import Flags, Numbers, Series
from assetops_tools.tsfm.smoothing import CANDIDATES, USUAL, Smoothing, smooth

INTERVAL_ALPHA: Final = 0.1
LONGEST_CONTEXT: Final = 28 * STEPS_A_DAY
LEAST_OBSERVED: Final = 0.5
USUAL_THETA: Final = 2.0
_THETAS: Final = (1.5, 2.0, 3.0, 5.0)
_THETA_CONTEXT: Final = 7 * STEPS_A_DAY
Parameters = Mapping[str, float]


@dataclass(frozen=True)
class Forecast:
    """The next steps of a series; the interval holds nine in ten values where the past is like the future."""

    values: Numbers
    lower: Numbers
    upper: Numbers


@dataclass(frozen=True)
class Tuned:
    """What fine-tuning found, and how it fared on the last fifth of the history, which it had not seen.

    Errors are of forecasts one day ahead; those of ``base`` are of the model as it comes.
    """

    parameters: dict[str, float]
    observations: int
    mean_absolute_error: float
    root_mean_squared_error: float
    base_mean_absolute_error: float


def context_of(series: Series, *, least: int) -> Numbers:
    """The last four weeks of a series without holes.

    Raises:
        BadArgument: there are fewer than ``least`` steps, or most of them are missing.
    """
    values = series.filled()[-LONGEST_CONTEXT:]
    if len(values) < least:
        raise BadArgument(
            f"The file covers {len(values)} steps of 15 minutes; this model needs at least {least} to go on."
        )
    observed = 1 - series.missing / len(series.values)
    if observed < LEAST_OBSERVED:
        raise BadArgument(f"Only {observed:.0%} of the steps of {series.name} have a reading; that is too little.")
    return values


def forecast(model: str, values: Numbers, horizon: int, parameters: Parameters) -> Forecast:
    """The next ``horizon`` steps after ``values``, with the model's parameters where it was fine-tuned."""
    if model == SEASONAL_NAIVE:
        return _with_interval(
            np.tile(values[-STEPS_A_DAY:], -(-horizon // STEPS_A_DAY))[:horizon], naive_errors(values)
        )
    if model == HOLT_WINTERS:
        smoothing = Smoothing(parameters["level"], parameters["season"]) if parameters else USUAL
        found = smooth(values, _all(values), [smoothing], block=STEPS_A_DAY, season=_first_season(values))
        errors = (values - found.predictions[0])[STEPS_A_DAY:]
        return _with_interval(found.ahead(len(values), horizon)[0], errors)
    if model == THETA:
        theta = parameters.get("theta", USUAL_THETA)
        seen, last = values[:-STEPS_A_DAY], values[-STEPS_A_DAY:]
        errors = last - _Theta(seen).ahead(STEPS_A_DAY, theta)
        return _with_interval(_Theta(values).ahead(horizon, theta), errors)
    raise ValueError(f"{model} is none of the models that run anywhere")


def tune(model: str, values: Numbers) -> Tuned:
    """Choose a model's parameters on the first four fifths of a history, and measure them on the last."""
    cut = len(values) - max(STEPS_A_DAY, len(values) // 5)
    if model == HOLT_WINTERS:
        return _tune_smoothing(values, cut)
    if model == THETA:
        return _tune_theta(values, cut)
    raise BadArgument(f"{model} has nothing to tune.")


def naive_errors(values: Numbers) -> Numbers:
    """What the seasonal naive forecast would have erred by, from the second day on."""
    errors: Numbers = values[STEPS_A_DAY:] - values[:-STEPS_A_DAY]
    return errors


def _tune_smoothing(values: Numbers, cut: int) -> Tuned:
    found = smooth(values, _all(values), [*CANDIDATES, USUAL], block=STEPS_A_DAY, season=_first_season(values))
    errors = values - found.predictions
    seen = np.abs(errors[:-1, STEPS_A_DAY:cut]).mean(axis=1)
    best = int(np.argmin(seen))
    chosen = CANDIDATES[best]
    parameters = {"level": chosen.level, "season": chosen.season}
    return _measured(parameters, errors[best, cut:], errors[-1, cut:])


def _tune_theta(values: Numbers, cut: int) -> Tuned:
    inner = _Theta(values[: cut - STEPS_A_DAY])
    seen = values[cut - STEPS_A_DAY : cut]
    best = min(_THETAS, key=lambda theta: float(np.abs(seen - inner.ahead(STEPS_A_DAY, theta)).mean()))
    whole = _Theta(values[:cut])
    ahead = len(values) - cut
    return _measured(
        {"theta": best}, values[cut:] - whole.ahead(ahead, best), values[cut:] - whole.ahead(ahead, USUAL_THETA)
    )


def _measured(parameters: dict[str, float], errors: Numbers, base: Numbers) -> Tuned:
    return Tuned(
        parameters=parameters,
        observations=len(errors),
        mean_absolute_error=float(np.abs(errors).mean()),
        root_mean_squared_error=float(np.sqrt((errors**2).mean())),
        base_mean_absolute_error=float(np.abs(base).mean()),
    )


class _Theta:
    """The theta method of statsmodels, on the series less its daily season (Assimakopoulos, Nikolopoulos 2000)."""

    def __init__(self, values: Numbers) -> None:
        # Imported late: it takes a second, and most episodes forecast nothing.
        from statsmodels.tsa.forecasting.theta import ThetaModel

        values = values[-_THETA_CONTEXT:]
        self._next = len(values)
        self._season = _profile(values)
        plain = values - self._season[np.arange(len(values)) % STEPS_A_DAY]
        # Nothing to estimate where every day is like the other, and statsmodels divides by the spread.
        self._constant = float(plain[0]) if np.ptp(plain) <= 1e-9 * max(1.0, float(np.abs(plain).max())) else None
        if self._constant is None:
            with _without_warnings():
                self._fitted: Any = ThetaModel(plain, period=1, deseasonalize=False).fit(disp=False)

    def ahead(self, steps: int, theta: float) -> Numbers:
        """The next steps."""
        if self._constant is not None:
            return self._with_season(np.full(steps, self._constant))
        with _without_warnings():
            plain = np.asarray(self._fitted.forecast(steps, theta=theta), dtype=np.float64)
        return self._with_season(plain)

    def _with_season(self, plain: Numbers) -> Numbers:
        whole: Numbers = plain + self._season[(self._next + np.arange(len(plain))) % STEPS_A_DAY]
        return whole


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Without what statsmodels says about how it estimates, which the reader of an answer cannot act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _profile(values: Numbers) -> Numbers:
    """The mean deviation of each step of the day from the mean of its day."""
    whole = values[len(values) % STEPS_A_DAY :].reshape(-1, STEPS_A_DAY)
    deviations = (whole - whole.mean(axis=1, keepdims=True)).mean(axis=0)
    profile: Numbers = np.roll(deviations, len(values) % STEPS_A_DAY)
    return profile


def _first_season(values: Numbers) -> Numbers:
    first = values[:STEPS_A_DAY]
    season: Numbers = first - first.mean()
    return season


def _with_interval(values: Numbers, errors: Numbers) -> Forecast:
    width = half_width(errors, INTERVAL_ALPHA)
    width = width if np.isfinite(width) else float(np.abs(errors).max(initial=0.0))
    return Forecast(values, values - width, values + width)


def _all(values: Numbers) -> Flags:
    return np.ones(len(values), dtype=bool)
