"""The time axis of the telemetry, the weather above the site and how busy its people keep it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assetops_data.chance import Chance, Numbers

STEP: Final = timedelta(minutes=15)
STEPS_A_DAY: Final = 96
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Axis:
    """``days`` whole days from midnight ``begin`` on, in steps of 15 minutes; plant time, which has no zone."""

    begin: datetime
    days: int

    @property
    def count(self) -> int:
        """How many steps there are."""
        return self.days * STEPS_A_DAY

    @cached_property
    def times(self) -> NDArray[np.datetime64]:
        """The steps, to the second."""
        start = np.datetime64(self.begin.isoformat(timespec="seconds"), "s")
        steps: NDArray[np.datetime64] = start + np.arange(self.count) * np.timedelta64(15 * 60, "s")
        return steps

    @cached_property
    def hour(self) -> Numbers:
        """Hour of the day of each step, with its fraction."""
        hours: Numbers = np.tile(np.arange(STEPS_A_DAY) / 4.0, self.days)
        return hours

    @cached_property
    def day(self) -> NDArray[np.int64]:
        """Number of the day of each step, from zero."""
        return np.repeat(np.arange(self.days), STEPS_A_DAY)

    @cached_property
    def weekend(self) -> Flags:
        """Whether a step is on a Saturday or Sunday."""
        flags: Flags = (self.day + self.begin.weekday()) % 7 >= 5
        return flags

    @cached_property
    def season(self) -> Numbers:
        """From -1 in the middle of January to 1 in the middle of July."""
        of_year = (self.begin.timetuple().tm_yday + self.day) / 365.25
        wave: Numbers = -np.cos(2 * np.pi * (of_year - 15 / 365.25))
        return wave

    def at(self, step: int) -> datetime:
        """The time of a step."""
        return self.begin + step * STEP


def outdoor_temperature(axis: Axis, chance: Chance) -> Numbers:
    """Degrees Celsius: a yearly wave, a daily one, and fronts that pass within days."""
    daily = np.sin(2 * np.pi * (axis.hour - 9.0) / 24.0)
    fronts = chance.wander("fronts", axis.count, steps=2 * STEPS_A_DAY)
    air: Numbers = 14.0 + 11.0 * axis.season + (4.0 + 1.5 * axis.season) * daily + 2.6 * fronts
    return air


def occupancy(axis: Axis) -> Numbers:
    """The share of people and machines at work, in [0, 1]."""
    ramp = np.clip((axis.hour - 5.5) / 2.5, 0, 1) * np.clip((20.5 - axis.hour) / 3.0, 0, 1)
    share: Numbers = np.where(axis.weekend, 0.2 + 0.25 * ramp, 0.25 + 0.75 * ramp)
    return share


def daily_mean(axis: Axis, values: Numbers) -> Numbers:
    """The mean of each day."""
    means: Numbers = values.reshape(axis.days, STEPS_A_DAY).mean(axis=1)
    return means
