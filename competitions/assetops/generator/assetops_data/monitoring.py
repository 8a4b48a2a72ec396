"""Alert rules and what they point to, the alerts that they raised, and the watched performance indicators."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from assetops_data.chance import Chance
from assetops_data.classes import CHILLER
from assetops_data.codes import BY_CODE
from assetops_data.machines import Machine
from assetops_data.work_orders import Row, Span

#: Indicator: usual value, spread, the code that a high value points to, that of a low one.
INDICATORS: Final = {
    "Cooling Load": (2_400.0, 160.0, "OP01", "RF02"),
    "Delta Temperature": (5.4, 0.35, "WS03", "WS02"),
    "Flow Efficiency": (0.62, 0.04, "WS01", "IN03"),
    "Delta Setpoint": (0.4, 0.15, "CT02", "IN01"),
    "Condenser Approach": (2.2, 0.25, "WS01", "IN01"),
    "Power Factor": (0.9, 0.02, "IN05", "EL05"),
}
_MAPPED_ROWS: Final = 46


@dataclass(frozen=True)
class Rule:
    """An alert rule of one machine, and the primary codes that its alerts may point to."""

    id: str
    machine: Machine
    description: str
    sensor: str
    operator: str
    threshold: float
    unit: str
    minutes: int
    codes: tuple[str, ...]

    def row(self) -> Row:
        """The rule as a row of ``alert_rules``."""
        return {
            "rule_id": self.id,
            "equipment_id": self.machine.id,
            "description": self.description,
            "sensor": self.sensor,
            "operator": self.operator,
            "threshold": self.threshold,
            "unit": self.unit,
            "minutes": self.minutes,
        }


def rules_of(machines: Sequence[Machine], chance: Chance) -> list[Rule]:
    """77 rules: those of each machine's kind, with thresholds that somebody set for the machine."""
    rng = chance.stream("rules")
    found: list[Rule] = []
    for machine in machines:
        units = {one.name: one.unit for one in machine.kind.sensors}
        for description, sensor, operator, threshold, codes in machine.kind.rules:
            found.append(
                Rule(
                    id=f"RUL{len(found) + 1:04d}",
                    machine=machine,
                    description=f"{machine.kind.name}: {description}",
                    sensor=sensor,
                    operator=operator,
                    threshold=round(threshold * rng.choice((0.95, 1.0, 1.0, 1.05)), 2),
                    unit=units[sensor],
                    minutes=rng.choice((15, 30, 30, 60)),
                    codes=tuple(codes.split()),
                )
            )
    return found


def rule_mapping_rows(rules: Sequence[Rule], chance: Chance) -> list[Row]:
    """46 rows: only the monitored machines' rules were ever mapped to codes, and not all of them."""
    rows = [
        {"rule_id": rule.id, "primary_code": code, "primary_code_description": BY_CODE[code].description}
        for rule in rules
        if rule.machine.monitored
        for code in rule.codes
    ]
    kept = sorted(chance.stream("mapping").sample(range(len(rows)), _MAPPED_ROWS))
    return [rows[place] for place in kept]


def alert_rows(rules: Sequence[Rule], span: Span, chance: Chance, *, count: int) -> list[Row]:
    """``count`` alerts in order of time: they come in runs of days, and three machines never raise one."""
    rng = chance.stream("alerts")
    ids = sorted({rule.machine.id for rule in rules if rule.machine.kind.name != CHILLER})
    silent = set(rng.sample(ids, 3))
    speaking = [rule for rule in rules if rule.machine.id not in silent]
    weights = [(6.0 if rule.machine.monitored else 1.0) * rng.uniform(0.1, 1.0) for rule in speaking]
    rows: list[Row] = []
    while len(rows) < count:
        rule = rng.choices(speaking, weights)[0]
        at = span.begin + span.length * rng.random()
        for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
            minutes = rng.choice((rng.randint(5, 90), rng.randint(60, 1439)))
            begin = at.replace(second=0, microsecond=0)
            end = begin + timedelta(minutes=minutes)
            if end < span.end and len(rows) < count:
                rows.append({"equipment_id": rule.machine.id, "rule_id": rule.id, "start": begin, "end": end})
            at = end + timedelta(minutes=rng.randint(30, 1800))
    rows.sort(key=lambda row: (row["start"], row["rule_id"]))
    for number, row in enumerate(rows, start=1):
        row["alert_id"] = f"AL{number:05d}"
        if rng.random() < 0.01:
            row["end"] = None  # still open, or its end was lost
    return rows


def indicator_mapping_rows() -> list[Row]:
    """12 rows: what a high and a low value of each indicator points to."""
    return [
        {
            "kpi": kpi,
            "direction": direction,
            "primary_code": code,
            "primary_code_description": BY_CODE[code].description,
        }
        for kpi, (_, _, high, low) in INDICATORS.items()
        for direction, code in (("High", high), ("Low", low))
    ]


def anomaly_rows(machines: Sequence[Machine], span: Span, chance: Chance, *, count: int) -> list[Row]:
    """``count`` anomalies of the indicators of three chillers, an hour apart while one lasts."""
    rng = chance.stream("anomalies")
    watched = rng.sample([one for one in machines if one.kind.name == CHILLER], 3)
    rows: list[Row] = []
    while len(rows) < count:
        machine, kpi = rng.choice(watched), rng.choice(list(INDICATORS))
        at = (span.begin + span.length * rng.random()).replace(minute=rng.randrange(60), second=0, microsecond=0)
        high = rng.random() < 0.5
        for hour in range(rng.choice((1, 2, 3, 6, 12))):
            if len(rows) < count and at + timedelta(hours=hour) < span.end:
                rows.append(_anomaly(machine, kpi, at + timedelta(hours=hour), rng, high=high))
    rows.sort(key=lambda row: (row["time"], row["equipment_id"], row["kpi"]))
    for number, row in enumerate(rows, start=1):
        row["anomaly_id"] = f"AN{number:05d}"
    return rows


def _anomaly(machine: Machine, kpi: str, at: datetime, rng: random.Random, *, high: bool) -> Row:
    usual, spread, _, _ = INDICATORS[kpi]
    middle = usual + rng.gauss(0, spread / 4)
    lower, upper = middle - 2 * spread, middle + 2 * spread
    value = upper + abs(rng.gauss(0, spread)) + spread / 10 if high else lower - abs(rng.gauss(0, spread)) - spread / 10
    found: dict[str, Any] = {"equipment_id": machine.id, "time": at, "kpi": kpi}
    return {**found, "value": round(value, 3), "lower": round(lower, 3), "upper": round(upper, 3)}
