"""Writes what the historian recorded of the monitored machines, with all that goes wrong on the way to it.

Gaps (rows that never came), single lost rows, empty cells, sensors that are stuck for hours, one machine whose clock is
a minute late, and days on which a chiller stands still and its power reads 0.0 though all around it runs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assetops_data.chance import Chance, Numbers
from assetops_data.classes import CHILLER
from assetops_data.machines import Machine
from assetops_data.physics import (
    Columns,
    Disturbance,
    Surroundings,
    chiller_duty,
    chiller_readings,
    handler_duty,
    handler_readings,
    place_disturbances,
)
from assetops_data.tables import write_columns
from assetops_data.weather import STEPS_A_DAY, Axis, Flags, daily_mean, occupancy, outdoor_temperature

#: Decimals that the historian keeps, by the kind of a sensor.
_DECIMALS: Final = {
    "temperature": 2,
    "setpoint": 1,
    "power": 1,
    "load": 1,
    "efficiency": 3,
    "flow": 2,
    "pressure": 1,
    "position": 1,
    "status": 0,
}
#: Sensor, factor, shift of the anomalies that may happen.
_CHILLER_TROUBLE: Final = (
    ("Power Input", 1.35, 0.0),
    ("Supply Temperature", 1.0, 4.0),
    ("Condenser Water Flow", 0.55, 0.0),
)
_HANDLER_TROUBLE: Final = (
    ("Supply Fan Power", 1.4, 0.0),
    ("Supply Air Temperature", 1.0, 5.0),
    ("Filter Differential Pressure", 1.6, 0.0),
)
STANDSTILL_DAYS: Final = 6


@dataclass(frozen=True)
class Stretch:
    """A time from ``begin`` to before ``end`` in which the record is not what it should be.

    ``kind``: gap (no rows; ``sensor`` is empty), flat (one value repeated), empty (no values), standstill (power 0.0).
    """

    equipment_id: str
    sensor: str
    begin: datetime
    end: datetime
    kind: str


@dataclass(frozen=True)
class Injected:
    """An anomaly of a running machine, from ``begin`` to before ``end``, first seen at ``sensor``."""

    equipment_id: str
    sensor: str
    begin: datetime
    end: datetime
    factor: float
    shift: float


@dataclass
class Recording:
    """What is written of one machine, and what was done to it."""

    machine: Machine
    axis: Axis
    columns: Columns
    kept: Flags
    delay: int = 0
    stretches: list[Stretch] | None = None

    def note(self, sensor: str, first: int, last: int, kind: str) -> None:
        """Remember a stretch, given in steps."""
        stretch = Stretch(self.machine.id, sensor, self.axis.at(first), self.axis.at(last), kind)
        self.stretches = [*(self.stretches or []), stretch]


def write_telemetry(
    folder: Path, machines: list[Machine], axis: Axis, chance: Chance
) -> tuple[list[Stretch], list[Injected]]:
    """Write ``telemetry/<equipment_id>.csv`` of each monitored machine; what is wrong in them, by place."""
    (folder / "telemetry").mkdir(exist_ok=True)
    around = Surroundings(axis, outdoor_temperature(axis, chance), occupancy(axis))
    stretches: list[Stretch] = []
    injected: list[Injected] = []
    ranks: dict[str, int] = {}
    for machine in (one for one in machines if one.monitored):
        rank = ranks.get(machine.kind.name, 0)
        ranks[machine.kind.name] = rank + 1
        recording, trouble = _record(machine, around, chance.under("telemetry", machine.id), rank=rank)
        stretches += recording.stretches or []
        injected += [
            Injected(machine.id, one.sensor, axis.at(one.first), axis.at(one.last), one.factor, one.shift)
            for one in trouble.values()
        ]
        _write(folder / "telemetry" / f"{machine.id}.csv", recording)
    return stretches, injected


def _record(
    machine: Machine, around: Surroundings, chance: Chance, *, rank: int
) -> tuple[Recording, dict[str, Disturbance]]:
    axis = around.axis
    still: tuple[int, int] | None = None
    if machine.kind.name == CHILLER:
        on = chiller_duty(around, chance, rank=rank)
        if rank == 0:
            still = _standstill(around, on, chance)
            on[still[0] : still[1]] = False
        trouble = place_disturbances(chance, on, _CHILLER_TROUBLE, days=axis.days)
        columns = chiller_readings(around, chance, on=on, disturbances=trouble)
    else:
        on = handler_duty(around, chance, rank=rank)
        trouble = place_disturbances(chance, on, _HANDLER_TROUBLE, days=axis.days)
        columns = handler_readings(around, chance, on=on, disturbances=trouble)
    late = 60 if machine.kind.name != CHILLER and rank == 1 else 0
    recording = Recording(machine, axis, columns, np.ones(axis.count, dtype=bool), delay=late)
    rng = chance.stream("losses")
    if still is not None:
        recording.note("Power Input", *still, "standstill")
    untouched = [*([still] if still else []), *((one.first - 96, one.last + 96) for one in trouble.values())]
    _stick_and_empty(recording, rng, chance, untouched)
    _lose_rows(recording, rng, chance, untouched)
    return recording, trouble


def _standstill(around: Surroundings, on: Flags, chance: Chance) -> tuple[int, int]:
    """From a Monday to its Saturday in the warmest third of the record, when the leading chiller would run."""
    axis = around.axis
    length = min(STANDSTILL_DAYS, axis.days)
    warmth = daily_mean(axis, around.outdoor)
    means = np.convolve(warmth, np.ones(length) / length, mode="valid")
    usable = np.arange(len(means))
    inner = usable[(usable >= min(8, len(means) - 1)) & (usable < max(1, len(means) - 8))]
    mondays = inner[(inner + axis.begin.weekday()) % 7 == 0]
    candidates = next(days for days in (mondays, inner, usable) if len(days))
    warmest = candidates[np.argsort(-means[candidates], kind="stable")][: max(1, len(candidates) // 3)]
    day = int(warmest[chance.stream("standstill").randrange(len(warmest))])
    return day * STEPS_A_DAY, (day + length) * STEPS_A_DAY


def _free(first: int, last: int, taken: list[tuple[int, int]]) -> bool:
    return all(last <= begin or first >= end for begin, end in taken)


def _stick_and_empty(
    recording: Recording, rng: random.Random, chance: Chance, untouched: list[tuple[int, int]]
) -> None:
    """Sensors that are stuck for six hours to two and a half days, cells that are empty alone or for a day."""
    count = recording.axis.count
    for sensor, values in recording.columns.items():
        if sensor in ("Run Status", "Schedule", "Chiller Efficiency"):
            continue
        for kind, share, shortest, longest in (("flat", 75, 24, 240), ("empty", 150, 48, 128)):
            for _ in range(max(1, recording.axis.days // share)):
                length = rng.randint(shortest, longest)
                first = rng.randrange(max(1, count - length))
                if rng.random() < 0.45 or not _free(first, first + length, untouched):
                    continue
                values[first : first + length] = values[first] if kind == "flat" else np.nan
                recording.note(sensor, first, first + length, kind)
        values[_outside(chance.uniform(f"empty {sensor}", count) < 0.004, untouched)] = np.nan


def _lose_rows(recording: Recording, rng: random.Random, chance: Chance, untouched: list[tuple[int, int]]) -> None:
    """Gaps of two hours to four days, and single rows."""
    count = recording.axis.count
    for _ in range(max(1, recording.axis.days // 45)):
        length = rng.choice((rng.randint(8, 48), rng.randint(48, 384)))
        first = rng.randrange(max(1, count - length))
        if _free(first, first + length, untouched):
            recording.kept[first : first + length] = False
            recording.note("", first, first + length, "gap")
    recording.kept &= ~_outside(chance.uniform("lost rows", count) < 0.003, untouched)


def _outside(flags: Flags, untouched: list[tuple[int, int]]) -> Flags:
    """The flags without those in stretches that stay as they are."""
    for begin, end in untouched:
        flags[max(0, begin) : end] = False
    return flags


def _write(path: Path, recording: Recording) -> None:
    kept = recording.kept
    measured = [one for one in recording.machine.kind.sensors if one.measured]
    times = recording.axis.times[kept] + np.timedelta64(recording.delay, "s")
    stamps: NDArray[np.str_] = np.datetime_as_string(times, unit="s")
    cells = [_cells(recording.columns[one.name][kept], _DECIMALS[one.kind]) for one in measured]
    write_columns(path, ["timestamp", *(one.name for one in measured)], [stamps.tolist(), *cells])


def _cells(values: Numbers, decimals: int) -> list[str]:
    """The values as they are written; nan is empty. Each different number is put into words once."""
    missing = np.isnan(values)
    scaled = np.rint(np.where(missing, 0.0, values) * 10**decimals).astype(np.int64)
    numbers, places = np.unique(scaled, return_inverse=True)
    words = np.array([f"{number / 10**decimals:.{decimals}f}" for number in numbers.tolist()], dtype=object)
    written = words[places]
    written[missing] = ""
    found: list[str] = written.tolist()
    return found
