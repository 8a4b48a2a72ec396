"""Invents a plant's records, as dirty as those of a real one, in the table shapes of the AssetOps sample data.

What is dirty, on purpose (requirement A10): empty cells, work orders without a time, names of one machine in several
spellings, rows that give only the identifier or only the name, two date formats in one column, work orders that reach
the event log weeks after the work, clocks that disagree by minutes between tables, machines that are silent for
months, sensor readings that are missing, stuck or zero while the machine is off, and a byte-order mark.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from quickstart_generator.vocabulary import CODES, INDICATORS, RULES, SENSORS

WORK_ORDER_COLUMNS: Final = (
    "wo_id",
    "wo_description",
    "collection",
    "primary_code",
    "primary_code_description",
    "secondary_code",
    "secondary_code_description",
    "equipment_id",
    "equipment_name",
    "preventive",
    "work_priority",
    "actual_finish",
    "duration",
    "actual_labor_hours",
)
EVENT_COLUMNS: Final = (
    "event_id",
    "event_group",
    "event_category",
    "event_type",
    "description",
    "equipment_id",
    "equipment_name",
    "event_time",
    "note",
)
ALERT_COLUMNS: Final = ("equipment_id", "equipment_name", "rule_id", "start_time", "end_time")
ANOMALY_COLUMNS: Final = ("timestamp", "KPI", "asset_name", "value", "upper_bound", "lower_bound", "anomaly_score")
Row = dict[str, Any]


@dataclass(frozen=True)
class Machine:
    """A machine under its identifier and the name that people use."""

    id: str
    name: str


@dataclass
class Plant:
    """The tables while they are filled."""

    machines: list[Machine]
    begin: datetime
    monitored_from: datetime
    end: datetime
    work_orders: list[Row] = field(default_factory=list)
    events: list[tuple[datetime, Row]] = field(default_factory=list)
    alerts: list[Row] = field(default_factory=list)
    anomalies: list[tuple[datetime, Row]] = field(default_factory=list)


def make_plant(folder: Path, rng: random.Random) -> Plant:
    """Write a plant's tables into ``folder`` and return what was invented."""
    folder.mkdir(parents=True, exist_ok=True)
    begin = datetime(rng.choice((2012, 2013, 2014)), rng.randint(1, 6), rng.randint(1, 28), 8, 0)  # noqa: DTZ001
    end_year = rng.choice((2022, 2023, 2024))
    end = datetime(end_year, rng.randint(7, 11), rng.randint(8, 27), 16, 0)  # noqa: DTZ001 - plant time has no zone
    plant = Plant(_machines(rng), begin, datetime(end_year - 4, 1, 4), end)  # noqa: DTZ001
    silent = rng.sample(plant.machines, 2)  # these never raise an alert: nothing is also an answer
    watched = rng.sample([one for one in plant.machines if one not in silent], 3)
    for machine in plant.machines:
        _add_work_orders(plant, machine, rng)
        if machine not in silent:
            _add_alerts(plant, machine, rng)
        if machine in watched:
            _add_anomalies(plant, machine, rng)
    _write_tables(folder, plant)
    for machine in rng.sample([one for one in plant.machines if one.id.startswith("CWC")], 3):
        _write_sensors(folder, plant, machine, rng)
    return plant


def _machines(rng: random.Random) -> list[Machine]:
    series = rng.randint(10, 89)
    chillers = sorted(rng.sample(range(1, 25), 8))
    handlers = sorted(rng.sample(range(1, 12), 2))
    return [Machine(f"CWC{series}{number:03d}", f"Chiller {number}") for number in chillers] + [
        Machine(f"AHC{series}{number:03d}", f"AHU {number}") for number in handlers
    ]


def _spelling(name: str, rng: random.Random) -> str:
    """One of the ways in which people write a machine's name."""
    roll = rng.random()
    if roll < 0.80:
        return name
    return rng.choice((name.upper().replace(" ", ""), name.lower(), name.upper(), name.replace(" ", "-")))


def _who(machine: Machine, rng: random.Random) -> Row:
    """Identifier and name; now and then only one of the two was filled in."""
    roll = rng.random()
    return {
        "equipment_id": "" if roll < 0.02 else machine.id,
        "equipment_name": "" if roll > 0.97 else _spelling(machine.name, rng),
    }


def _short(at: datetime) -> str:
    return f"{at.month}/{at.day}/{at:%y} {at.hour}:{at:%M}"


def _long(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _mixed(at: datetime, rng: random.Random, *, usual: str) -> str:
    """The time in the usual format of its column; one in fifty came through another system."""
    other = rng.random() < 0.02
    return _short(at) if (usual == "short") != other else _long(at)


def _uuid(prefix: str, rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{prefix}_{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _add_work_orders(plant: Plant, machine: Machine, rng: random.Random) -> None:
    per_year = rng.choice((10, 14, 18, 24, 30))
    trouble = rng.uniform(0.12, 0.4)  # share of corrective work
    at = plant.begin + timedelta(days=rng.uniform(0, 40))
    while at < plant.end:
        _add_work_order(plant, machine, at, corrective=rng.random() < trouble, rng=rng)
        gap = rng.expovariate(per_year / 365.0)
        if rng.random() < 0.01:
            gap += rng.uniform(90, 260)  # out of service: nothing is done to it for months
        at += timedelta(days=gap + 0.1)


def _add_work_order(plant: Plant, machine: Machine, at: datetime, *, corrective: bool, rng: random.Random) -> None:
    kind = "corrective" if corrective else "preventive"
    codes = [code for code in CODES if code.kind == kind]
    code = rng.choices(codes, [one.weight for one in codes])[0]
    detail = rng.randrange(2)
    at = at.replace(hour=rng.randint(7, 20), minute=rng.choice((0, 15, 30, 41)), second=0, microsecond=0)
    number = f"WO{200_000 + len(plant.work_orders) * 7 + rng.randrange(7)}"
    coded = rng.random() > 0.04
    plant.work_orders.append(
        {
            "wo_id": number,
            "wo_description": f"{code.description}, {code.details[detail].lower()}" if rng.random() > 0.03 else "",
            "collection": code.component if rng.random() > 0.03 else "",
            "primary_code": code.code if coded else "",
            "primary_code_description": code.description if coded else "",
            "secondary_code": f"{code.code}{'ab'[detail]}" if coded else "",
            "secondary_code_description": code.details[detail] if coded else "",
            **_who(machine, rng),
            "preventive": "FALSE" if corrective else "TRUE",
            "work_priority": rng.choice((1, 2)) if corrective else 5,
            "actual_finish": _mixed(at, rng, usual="short") if rng.random() > 0.01 else "",
            "duration": rng.choice(("3:00", "3:00", "1:00", "1:15", "2:00", "")),
            "actual_labor_hours": rng.choice(("1:00", "1:00", "0:00", "2:00", "")),
        }
    )
    late = rng.random() < 0.06
    logged = at + (timedelta(days=rng.uniform(3, 70)) if late else timedelta())
    if logged <= plant.end:
        text = "entered late" if late and rng.random() < 0.5 else ""
        _log(plant, machine, logged, ("WORK_ORDER", "CM" if corrective else "PM", code.code), rng, event_id=number,
             description=code.description, note=text)  # fmt: skip


def _log(
    plant: Plant,
    machine: Machine,
    at: datetime,
    kind: tuple[str, str, str],
    rng: random.Random,
    *,
    event_id: str,
    description: str,
    note: str = "",
) -> None:
    group, category, event_type = kind
    row = {
        "event_id": event_id,
        "event_group": group,
        "event_category": category,
        "event_type": event_type,
        "description": description if rng.random() > 0.02 else "",
        **_who(machine, rng),
        "event_time": _mixed(at, rng, usual="long"),
        "note": note,
    }
    plant.events.append((at, row))


def _bursts(plant: Plant, rng: random.Random, *, quiet_days: float) -> Iterable[datetime]:
    """Days on which something is wrong: runs of days with quiet time between them."""
    at = plant.monitored_from + timedelta(days=rng.uniform(0, quiet_days))
    while at < plant.end:
        for _ in range(rng.randint(1, 12)):
            yield at.replace(hour=0, minute=0, second=0, microsecond=0)
            at += timedelta(days=rng.choice((1, 1, 1, 2)))
            if at >= plant.end:
                return
        at += timedelta(days=rng.expovariate(1 / quiet_days))


def _add_alerts(plant: Plant, machine: Machine, rng: random.Random) -> None:
    usual = rng.sample(sorted(RULES), 3)
    for day in _bursts(plant, rng, quiet_days=rng.choice((25, 40, 70))):
        for _ in range(rng.choice((1, 1, 1, 2))):
            at = day + timedelta(minutes=rng.randrange(20, 1420))
            rule = rng.choices(usual, (5, 2, 1))[0]
            ends = at + timedelta(minutes=rng.randrange(5, 900))
            shift = timedelta(minutes=rng.choice((0, 0, 0, 1, 2, 7)))  # the two systems' clocks disagree
            plant.alerts.append(
                {
                    **_who(machine, rng),
                    "rule_id": rule,
                    "start_time": _short(at),
                    "end_time": _short(ends) if rng.random() > 0.03 else "",
                }
            )
            _log(plant, machine, at + shift, ("ALERT", "ALERT", rule), rng, event_id=_uuid("al", rng),
                 description=RULES[rule])  # fmt: skip


def _add_anomalies(plant: Plant, machine: Machine, rng: random.Random) -> None:
    weights = [rng.randint(1, 6) for _ in INDICATORS]
    for day in _bursts(plant, rng, quiet_days=60):
        for _ in range(rng.randint(1, 5)):
            at = day + timedelta(minutes=rng.randrange(10, 1425))
            indicator = rng.choices(sorted(INDICATORS), weights)[0]
            usual = INDICATORS[indicator]
            lower, upper = usual * rng.uniform(0.9, 0.97), usual * rng.uniform(1.02, 1.08)
            high = rng.random() < 0.6
            value = upper * rng.uniform(1.001, 1.06) if high else lower * rng.uniform(0.94, 0.999)
            plant.anomalies.append(
                (
                    at,
                    {
                        "timestamp": _short(at),
                        "KPI": indicator,
                        "asset_name": _spelling(machine.name, rng).lower(),
                        "value": f"{value:.6g}",
                        "upper_bound": f"{upper:.6g}" if rng.random() > 0.02 else "",
                        "lower_bound": f"{lower:.6g}",
                        "anomaly_score": f"{rng.uniform(0.95, 0.999):.6f}",
                    },
                )
            )
            side = "above upper bound" if high else "below lower bound"
            _log(plant, machine, at, ("ANOMALY", "ANOMALY", f"KPI {indicator} {side}"), rng, event_id=_uuid("an", rng),
                 description=f"The indicator '{indicator}' is {side}.")  # fmt: skip


def _write_tables(folder: Path, plant: Plant) -> None:
    _write(folder / "all_wo_with_code_component_events.csv", WORK_ORDER_COLUMNS, plant.work_orders)
    _write(folder / "event.csv", EVENT_COLUMNS, [row for _, row in sorted(plant.events, key=lambda item: item[0])])
    _write(folder / "alert_events.csv", ALERT_COLUMNS, plant.alerts)
    anomalies = [row for _, row in sorted(plant.anomalies, key=lambda item: item[0])]
    _write(folder / "anomaly_events.csv", ANOMALY_COLUMNS, anomalies)
    rules = [{"rule_id": key, "rule_name": name, "rule_logic": ""} for key, name in RULES.items()]
    _write(folder / "alert_rule.csv", ("rule_id", "rule_name", "rule_logic"), rules)
    primary = [
        {"category": one.category, "primary_code": one.code, "primary_code_description": one.description}
        for one in CODES
    ]
    _write(folder / "primary_failure_codes.csv", tuple(primary[0]), primary, mark=True)
    full = [
        {**row, "secondary_code": f"{one.code}{'ab'[index]}", "secondary_code_description": detail}
        for row, one in zip(primary, CODES, strict=True)
        for index, detail in enumerate(one.details)
    ]
    _write(folder / "failure_codes.csv", tuple(full[0]), full, mark=True)


def _write_sensors(folder: Path, plant: Plant, machine: Machine, rng: random.Random) -> None:
    """Write one to two months of quarter-hourly readings, some of them missing, stuck, or zero while it is off."""
    last = plant.end.replace(day=1, hour=0, minute=0) - timedelta(days=rng.choice((31, 62, 93)))
    at = begin = last.replace(day=1)
    finish = begin + timedelta(days=rng.randint(40, 58))
    gap_from = begin + timedelta(days=rng.randint(8, 14))
    gap_to = gap_from + timedelta(days=rng.randint(3, 5))  # the recorder was down: no rows at all
    off_from = gap_to + timedelta(days=rng.randint(4, 8))
    off_to = off_from + timedelta(days=rng.randint(3, 6))
    stuck_from = off_to + timedelta(days=rng.randint(2, 5), hours=rng.randrange(24))
    stuck_to = stuck_from + timedelta(hours=rng.randint(9, 30))
    sensors = rng.sample(SENSORS, 4)
    stuck = sensors[0][0]
    held: dict[str, str] = {}
    rows: list[Row] = []
    while at < finish:
        row: Row = {"asset_id": machine.name, "timestamp": at.isoformat()}
        for name, usual, spread, swing in sensors:
            value = _reading(at, usual, spread, swing, rng)
            if off_from <= at < off_to and name in {"Power Input", "Tonnage", "Condenser Water Flow"}:
                value = 0.0
            cell = "" if rng.random() < 0.012 else f"{value:.3f}"
            if name == stuck and stuck_from <= at < stuck_to:
                cell = held.setdefault(name, cell or f"{usual:.3f}")
            row[f"{machine.name} {name}"] = cell
        row[f"{machine.name} Run Status"] = ""  # the column exists, nobody ever connected it
        if not gap_from <= at < gap_to:
            rows.append(row)
        at += timedelta(minutes=15 if rng.random() > 0.004 else 17)
    name = machine.name.lower().replace(" ", "")
    _write(folder / f"{name}_sensordata.csv", tuple(rows[0]), rows)


def _reading(at: datetime, usual: float, spread: float, swing: float, rng: random.Random) -> float:
    hour = at.hour + at.minute / 60
    return usual + swing * math.sin((hour - 9) / 24 * 2 * math.pi) + rng.gauss(0, spread)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row], *, mark: bool = False) -> None:
    with path.open("w", encoding="utf-8-sig" if mark else "utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
