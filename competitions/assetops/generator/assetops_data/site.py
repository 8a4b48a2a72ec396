"""A whole site: every table of a data folder, made from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any, Final

from assetops_data.chance import Chance
from assetops_data.classes import CLASSES
from assetops_data.codes import CODES
from assetops_data.fmea import fmea_rows
from assetops_data.machines import Machine, machines_of
from assetops_data.monitoring import (
    Rule,
    alert_rows,
    anomaly_rows,
    indicator_mapping_rows,
    rule_mapping_rows,
    rules_of,
)
from assetops_data.tables import write_table
from assetops_data.telemetry import Injected, Stretch, write_telemetry
from assetops_data.weather import Axis
from assetops_data.work_orders import Cause, Row, Span, spelling, work_order_rows

__all__ = ["Injected", "Machine", "Site", "Size", "Stretch", "write_site"]
_DAYS_A_YEAR: Final = 365.25


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is recorded; the usual numbers are those of the paper's site (requirement A9)."""

    years: int = 11
    alert_years: float = 4.0
    telemetry_days: int = 365
    work_orders: int = 4392
    alerts: int = 1995
    anomalies: int = 542

    def __post_init__(self) -> None:
        if self.telemetry_days < 1 or self.years < 1 or not 0 < self.alert_years <= self.years:
            raise ValueError(
                "A site has at least one day of telemetry, one year, and alerts in some part of its years."
            )
        if min(self.work_orders, self.alerts, self.anomalies) < 0:
            raise ValueError("A count of records must not be negative.")


@dataclass(frozen=True, kw_only=True)
class Site:
    """What was invented; ``stretches`` and ``injected`` stand in no table: they are for who makes scenarios.

    ``begin`` is when the records begin, ``monitored_from`` when alerts and anomalies do, ``telemetry_from`` the first
    step of the telemetry, which ends with the last whole day before ``now``, the site's present.
    """

    machines: tuple[Machine, ...]
    begin: datetime
    monitored_from: datetime
    telemetry_from: datetime
    now: datetime
    size: Size
    stretches: tuple[Stretch, ...] = field(default=())
    injected: tuple[Injected, ...] = field(default=())


def write_site(
    folder: Path, *, seed: bytes, size: Size | None = None, switches: Mapping[str, Any] | None = None
) -> Site:
    """Write a site's records into ``folder``: equal seeds and sizes give equal bytes.

    ``switches`` goes into ``environment.json``, where nothing is said: the tools, and no distractors.

    Raises:
        ValueError: ``seed`` is empty.
    """
    if not seed:
        raise ValueError("A site needs a seed.")
    size = size or Size()
    folder.mkdir(parents=True, exist_ok=True)
    chance = Chance(seed, "assetops site")
    now = _present(chance.stream("present"))
    begin = now - timedelta(days=round(size.years * _DAYS_A_YEAR))
    monitored_from = now - timedelta(days=round(size.alert_years * _DAYS_A_YEAR))
    machines = machines_of(chance, begin=begin.date())
    axis = Axis(datetime.combine(now.date(), time.min) - timedelta(days=size.telemetry_days), size.telemetry_days)
    _write_kinds(folder, machines, chance)
    _write_records(folder, machines, chance, spans=(Span(begin, now), Span(monitored_from, now)), size=size)
    stretches, injected = write_telemetry(folder, machines, axis, chance)
    write_switches(folder, switches)
    write_present(folder, now)
    return Site(
        machines=tuple(machines),
        begin=begin,
        monitored_from=monitored_from,
        telemetry_from=axis.begin,
        now=now,
        size=size,
        stretches=tuple(stretches),
        injected=tuple(injected),
    )


def write_switches(folder: Path, switches: Mapping[str, Any] | None) -> None:
    """Write ``environment.json``: which tools the environment offers."""
    _write_json(folder / "environment.json", {"tools": True, "distractors": False, **(switches or {})})


def write_present(folder: Path, now: datetime) -> None:
    """Write ``present.json``: what the site's people call now."""
    _write_json(folder / "present.json", {"now": now.isoformat(timespec="seconds")})


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _present(rng: random.Random) -> datetime:
    day = datetime(rng.choice((2021, 2022, 2023, 2024)), rng.randint(7, 11), rng.randint(8, 27))  # noqa: DTZ001 - plant time
    return day + timedelta(hours=rng.randint(9, 16), minutes=rng.choice((0, 15, 30, 45)))


def _write_kinds(folder: Path, machines: Sequence[Machine], chance: Chance) -> None:
    """What is known of the equipment and its kinds."""
    write_table(folder, "equipment", (_equipment(one) for one in machines))
    write_table(folder, "sensors", (row for one in machines for row in _sensors(one)))
    write_table(folder, "fmea", fmea_rows(chance))
    modes = [(kind, mode) for kind in CLASSES for mode in kind.modes]
    write_table(folder, "failure_modes", ({"asset_class": k.name, "failure_mode": m.name} for k, m in modes))
    write_table(
        folder,
        "failure_mode_sensors",
        (
            {
                "asset_class": kind.name,
                "failure_mode": mode.name,
                "sensor": sensor.name,
                "relevant": sensor.name in mode.sensors,
            }
            for kind, mode in modes
            for sensor in kind.sensors
        ),
    )
    write_table(
        folder,
        "failure_codes",
        (
            {
                "code": f"{one.code}{'abcd'[place]}",
                "description": f"{one.description}: {detail}",
                "category": one.category,
                "primary_code": one.code,
            }
            for one in CODES
            for place, detail in enumerate(one.details)
        ),
    )
    primary = ({"primary_code": c.code, "description": c.description, "category": c.category} for c in CODES)
    write_table(folder, "primary_failure_codes", primary)


def _equipment(machine: Machine) -> Row:
    return {
        "equipment_id": machine.id,
        "equipment_name": machine.name,
        "site_name": machine.site,
        "asset_class": machine.kind.name,
        "installed_on": machine.installed_on.isoformat(),
    }


def _sensors(machine: Machine) -> list[Row]:
    return [
        {
            "equipment_id": machine.id,
            "sensor": one.name,
            "unit": one.unit,
            "kind": one.kind,
            "installed": one.installed,
            "measured": one.measured and machine.monitored,
            "tags": one.tags,
        }
        for one in machine.kind.sensors
    ]


def _write_records(
    folder: Path, machines: Sequence[Machine], chance: Chance, *, spans: tuple[Span, Span], size: Size
) -> None:
    """Work orders over all years, alerts and anomalies over those of monitoring, and the log of all three."""
    whole, monitored = spans
    rules = rules_of(machines, chance)
    alerts = alert_rows(rules, monitored, chance, count=size.alerts)
    anomalies = anomaly_rows(machines, monitored, chance, count=size.anomalies)
    orders = work_order_rows(machines, whole, chance, count=size.work_orders, causes=_causes(alerts, rules))
    write_table(folder, "work_orders", orders)
    write_table(folder, "alert_rules", (rule.row() for rule in rules))
    write_table(folder, "alert_rule_mapping", rule_mapping_rows(rules, chance))
    write_table(folder, "anomaly_mapping", indicator_mapping_rows())
    write_table(folder, "alerts", alerts)
    write_table(folder, "anomalies", anomalies)
    write_table(folder, "events", _log(machines, rules, chance, orders=orders, alerts=alerts, anomalies=anomalies))


def _causes(alerts: Sequence[Row], rules: Sequence[Rule]) -> dict[str, list[Cause]]:
    codes = {rule.id: rule.codes for rule in rules}
    found: dict[str, list[Cause]] = {}
    for row in alerts:
        found.setdefault(row["equipment_id"], []).append(Cause(row["start"], codes[row["rule_id"]]))
    return found


def _log(
    machines: Sequence[Machine],
    rules: Sequence[Rule],
    chance: Chance,
    *,
    orders: Sequence[Row],
    alerts: Sequence[Row],
    anomalies: Sequence[Row],
) -> list[Row]:
    """The event log. An order stands at its end, or, written late, at when it was; clocks differ by minutes."""
    rng = chance.stream("log")
    described = {rule.id: rule.description for rule in rules}
    names = {machine.id: machine.name for machine in machines}
    rows: list[Row] = []
    for row in orders:
        at = row["finished"] or row["reported"]
        text = row["primary_code_description"]
        rows.append(_event(row, row["wo_id"], "WORK_ORDER", row["primary_code"], text, at=max(at, row["reported"])))
    for row in alerts:
        skew = timedelta(minutes=rng.choice((-2, -1, 1, 3))) if rng.random() < 0.08 else timedelta(0)
        text = described[row["rule_id"]]
        rows.append(_event(row, row["alert_id"], "ALERT", row["rule_id"], text, at=row["start"] + skew))
    for row in anomalies:
        text = f"{row['kpi']} {'above upper' if row['value'] > row['upper'] else 'below lower'} bound"
        rows.append(_event(row, row["anomaly_id"], "ANOMALY", row["kpi"], text, at=row["time"]))
    for row in rows:
        row["equipment_name"] = spelling(names[row["equipment_id"]], rng)
    rows.sort(key=lambda row: (row["time"], row["event_id"]))
    return rows


def _event(row: Row, *what: str, at: datetime) -> Row:
    """A line of the log; ``what`` is its identifier, group, type and description."""
    named = dict(zip(("event_id", "group", "type", "description"), what, strict=True))
    return {**named, "equipment_id": row["equipment_id"], "time": at}
