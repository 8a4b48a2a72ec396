"""What chillers and air handlers do: plausible physics, before anything is lost or stuck on its way to the historian.

Chiller: load follows the weather and working hours; return - supply = load / (flow * heat capacity) > 0; efficiency =
power / tonnage; what the condenser takes up is load plus power. A machine that is off draws no power and gives no
efficiency. Air handler: fan power grows with the cube of the flow, the filter's pressure with its square and its age.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from assetops_data.chance import Chance, Numbers
from assetops_data.weather import STEPS_A_DAY, Axis, Flags, daily_mean

KW_PER_TON: Final = 3.517
HEAT_OF_WATER: Final = 4.187  # kJ/(kg K), and kJ/(l K) near enough
Columns = dict[str, Numbers]


@dataclass(frozen=True)
class Surroundings:
    """What all machines of a place share."""

    axis: Axis
    outdoor: Numbers
    busy: Numbers


@dataclass(frozen=True)
class Disturbance:
    """From ``first`` to before ``last`` (steps) a quantity is multiplied and shifted: an anomaly of known place."""

    sensor: str
    first: int
    last: int
    factor: float = 1.0
    shift: float = 0.0


def chiller_duty(around: Surroundings, chance: Chance, *, rank: int) -> Flags:
    """When a chiller runs: rank 0 leads, and all day; those behind it join on warmer days, in working hours."""
    axis = around.axis
    warmth = daily_mean(axis, around.outdoor)
    threshold = float(np.quantile(warmth, (0.04, 0.22, 0.40, 0.55)[min(rank, 3)]))
    runs_that_day = (warmth > threshold)[axis.day]
    if rank == 0:
        return runs_that_day
    begin = 6.0 + chance.uniform("start of day", axis.days)[axis.day] * 1.5
    end = 19.0 + chance.uniform("end of day", axis.days)[axis.day] * 2.0
    weekend_off = axis.weekend & (chance.uniform("weekends", axis.days)[axis.day] < 0.7)
    duty: Flags = runs_that_day & (axis.hour >= begin) & (axis.hour < end) & ~weekend_off
    return duty


def handler_duty(around: Surroundings, chance: Chance, *, rank: int) -> Flags:
    """When an air handler runs: from the early morning into the evening, at weekends only some of them."""
    axis = around.axis
    begin = 5.0 + chance.uniform("start of day", axis.days)[axis.day]
    end = 20.5 + chance.uniform("end of day", axis.days)[axis.day] * 1.5
    rest = axis.weekend & (rank > 0)
    duty: Flags = (axis.hour >= begin) & (axis.hour < end) & ~rest
    return duty


def chiller_readings(
    around: Surroundings, chance: Chance, *, on: Flags, disturbances: Mapping[str, Disturbance]
) -> Columns:
    """All quantities of a chiller, in the units of its sensors; nan where there is none."""
    axis, rng = around.axis, chance.stream("design")
    capacity = rng.choice((350.0, 450.0, 550.0, 700.0, 850.0))
    best = rng.uniform(0.50, 0.60)
    running = on.astype(float)

    def noise(name: str, spread: float) -> Numbers:
        return spread * chance.normal(name, axis.count)

    warm = np.clip((around.outdoor - 4.0) / 30.0, 0.0, 1.0)
    part = np.clip(0.28 + 0.8 * warm * (0.35 + 0.65 * around.busy) + noise("load", 0.015), 0.25, 1.05)
    tons = np.round(capacity * part * running, 1)
    condenser_in = 12.0 + 0.55 * np.clip(around.outdoor, 2.0, None) + noise("condenser", 0.25)
    fouling = 0.05 * (axis.day % 240) / 240.0
    wanted = best + 0.006 * (condenser_in - 22.0) + 0.25 * (1.0 - part) ** 2 + fouling + noise("efficiency", 0.008)
    power = np.round(disturbed(wanted * tons, "Power Input", disturbances), 1)
    flow = disturbed(capacity * 0.19 * running * (1 + noise("flow", 0.01)), "Condenser Water Flow", disturbances)
    setpoint = np.where(axis.season < -0.4, 7.8, 6.7)
    relaxed = 13.0 + 0.15 * around.outdoor + noise("standstill", 0.1)
    leaving = disturbed(setpoint + noise("supply", 0.15) + 0.4 * (part > 0.97), "Supply Temperature", disturbances)
    supply = np.where(on, leaving, relaxed)
    rise = np.where(on, tons * KW_PER_TON / (capacity * 0.151 * HEAT_OF_WATER), 0.4 + np.abs(noise("rest", 0.05)))
    taken_up = (tons * KW_PER_TON + power) / np.where(on, np.maximum(flow, 1.0) * HEAT_OF_WATER, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        efficiency = np.where(tons > 0, power / tons, np.nan)
    return {
        "Supply Temperature": supply,
        "Return Temperature": supply + rise,
        "Setpoint Temperature": setpoint,
        "Power Input": power,
        "Tonnage": tons,
        "Chiller Efficiency": efficiency,
        "Chiller % Loaded": 100.0 * tons / capacity,
        "Condenser Water Supply Temperature": condenser_in,
        "Condenser Water Return To Tower Temperature": condenser_in + np.where(on, taken_up, 0.2),
        "Condenser Water Flow": np.where(on, flow, 0.0),
        "Liquid Refrigerant Evaporator Temperature": np.where(
            on, supply - 1.2 - 2.0 * part + noise("evaporator", 0.1), relaxed + 1.0
        ),
        "Run Status": running,
        # The schedule is exported for a few hours now and then; the rest of the column has always been empty.
        "Schedule": np.where(chance.wander("schedule", axis.count, steps=8) > 2.2, running, np.nan),
    }


def handler_readings(
    around: Surroundings, chance: Chance, *, on: Flags, disturbances: Mapping[str, Disturbance]
) -> Columns:
    """All quantities of an air handler, in the units of its sensors."""
    axis, rng = around.axis, chance.stream("design")
    full = rng.choice((9.0, 11.0, 13.0))
    outside_share = rng.uniform(0.15, 0.3)
    running = on.astype(float)

    def noise(name: str, spread: float) -> Numbers:
        return spread * chance.normal(name, axis.count)

    warm = np.clip((around.outdoor - 8.0) / 24.0, 0.0, 1.0)
    flow = full * running * np.clip(0.55 + 0.4 * warm * around.busy + noise("flow", 0.012), 0.4, 1.05)
    setpoint = np.where(axis.season > 0.2, 14.0, 16.0)
    returned = 21.5 + 1.6 * around.busy + 0.04 * around.outdoor + noise("return", 0.15)
    mixed = outside_share * around.outdoor + (1 - outside_share) * returned + noise("mixed", 0.2)
    leaving = disturbed(setpoint + noise("supply", 0.2), "Supply Air Temperature", disturbances)
    share = flow / full
    days_since_change = (axis.day + rng.randrange(90)) % 90
    dirt = disturbed(
        (70.0 + 1.3 * days_since_change) * share**2 * (1 + noise("filter", 0.02)),
        "Filter Differential Pressure",
        disturbances,
    )
    fan = disturbed((1.2 * running + 13.0 * share**3) * (1 + noise("fan", 0.015)), "Supply Fan Power", disturbances)
    need = np.clip((mixed - setpoint) / 11.0, 0.0, 1.0)
    return {
        "Supply Air Temperature": np.where(on, leaving, 20.0 + 0.05 * around.outdoor + noise("standstill", 0.1)),
        "Return Air Temperature": returned,
        "Mixed Air Temperature": np.where(on, mixed, returned - 0.8),
        "Outside Air Temperature": around.outdoor + noise("outside", 0.1),
        "Supply Air Setpoint": setpoint,
        "Supply Air Flow": flow,
        "Supply Fan Power": fan,
        "Static Pressure": running * (180.0 + 170.0 * share) * (1 + noise("static", 0.01)),
        "Filter Differential Pressure": dirt,
        "Cooling Coil Valve Position": running * 100.0 * np.clip(need + noise("valve", 0.01), 0.0, 1.0),
        "Run Status": running,
    }


def disturbed(values: Numbers, sensor: str, disturbances: Mapping[str, Disturbance]) -> Numbers:
    """The values with the sensor's disturbances in them."""
    changed = values.copy()
    for one in disturbances.values():
        if one.sensor == sensor:
            changed[one.first : one.last] = changed[one.first : one.last] * one.factor + one.shift
    return changed


def place_disturbances(
    chance: Chance, on: Flags, choices: tuple[tuple[str, float, float], ...], *, days: int
) -> dict[str, Disturbance]:
    """About one disturbance in 60 days, each where the machine runs at its beginning, of 3 to 12 hours."""
    rng = chance.stream("disturbances")
    running = np.flatnonzero(on[: max(1, len(on) - STEPS_A_DAY)])
    found: dict[str, Disturbance] = {}
    if len(running) == 0:
        return found
    for number in range(max(2, days // 60)):
        sensor, factor, shift = rng.choice(choices)
        first = int(running[rng.randrange(len(running))])
        last = first + rng.randint(12, 48)
        if any(other.first - 96 < last and first < other.last + 96 for other in found.values()):
            continue
        strength = rng.uniform(0.9, 1.15)
        found[str(number)] = Disturbance(sensor, first, last, 1 + (factor - 1) * strength, shift * strength)
    return found
