"""The plant's records, read from CSV files as they are: nothing is repaired, nothing is dropped silently.

Only the standard library is used, so that the program starts in the time its interpreter takes. A table is read when
it is first asked for. A record without a readable time belongs to no period.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

_LAST: Final = datetime(9999, 12, 31)  # noqa: DTZ001 - where records without a time are sorted
GROUPS: Final = ("WORK_ORDER", "ALERT", "ANOMALY")


@dataclass(frozen=True)
class Equipment:
    """A machine of the plant under its identifier; ``name`` is what people call it."""

    id: str
    name: str


@dataclass(frozen=True)
class WorkOrder:
    """A work order; ``finished`` is None where the record has no readable time."""

    id: str
    equipment_id: str
    finished: datetime | None
    preventive: bool
    code: str
    code_description: str
    component: str
    description: str
    priority: str


@dataclass(frozen=True)
class LoggedEvent:
    """A line of the event log, at the time at which it was logged."""

    id: str
    equipment_id: str
    at: datetime | None
    group: str
    kind: str
    description: str


@dataclass(frozen=True)
class Alert:
    """An alert that a monitoring rule raised."""

    equipment_id: str
    rule: str
    start: datetime | None
    end: datetime | None


@dataclass(frozen=True)
class Anomaly:
    """A performance indicator that was watched at a time, with its bounds."""

    equipment_id: str
    at: datetime | None
    indicator: str
    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class FailureCode:
    """A code by which work orders say what was done or what had failed."""

    code: str
    description: str
    category: str


@dataclass(frozen=True)
class Reading:
    """One time stamp of one sensor; ``value`` is None where the cell is empty."""

    at: datetime
    value: float | None


def name_key(name: str) -> str:
    """The form under which `Chiller 6`, `CHILLER6` and `chiller-6` are one name."""
    return re.sub(r"[\s_\-]+", "", name).casefold()


def parse_time(text: str) -> datetime | None:
    """Read ISO times and the short form of the work order system (``4/26/20 14:14``); None where it is neither."""
    text = text.strip()
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        pass
    found = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4}) (\d{1,2}):(\d{2})", text)
    if found is None:
        return None
    month, day, year, hour, minute = (int(part) for part in found.groups())
    try:
        return datetime(year + 2000 if year < 100 else year, month, day, hour, minute)  # noqa: DTZ001 - plant time
    except ValueError:
        return None


def parse_number(text: str) -> float | None:
    """Read a number; None where the cell is empty or holds something else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


class PlantRecords:
    """The tables of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _rows(self, name: str) -> Iterator[dict[str, str]]:
        path = self._folder / name
        if not path.is_file():
            return
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                yield {key: (value or "").strip() for key, value in row.items() if key}

    @cached_property
    def equipment(self) -> list[Equipment]:
        """Every machine that any table names by identifier, in the order of identifiers."""
        names: dict[str, Counter[str]] = {}
        for table in ("event.csv", "all_wo_with_code_component_events.csv", "alert_events.csv"):
            for row in self._rows(table):
                if row["equipment_id"] and row["equipment_name"]:
                    names.setdefault(row["equipment_id"], Counter())[row["equipment_name"]] += 1
        # One machine has several spellings; it is called by the most frequent.
        return [Equipment(id=key, name=names[key].most_common(1)[0][0]) for key in sorted(names)]

    @cached_property
    def _ids_by_name(self) -> dict[str, str]:
        known = {name_key(one.name): one.id for one in self.equipment}
        known.update({name_key(one.id): one.id for one in self.equipment})
        return known

    def find(self, name: str) -> Equipment | None:
        """The machine of that identifier or name, however it is written."""
        found = self._ids_by_name.get(name_key(name))
        return next((one for one in self.equipment if one.id == found), None)

    def _id_of(self, name: str) -> str:
        return self._ids_by_name.get(name_key(name), name)

    @cached_property
    def work_orders(self) -> list[WorkOrder]:
        """All work orders, in the order of their times; those without one last."""
        orders = [
            WorkOrder(
                id=row["wo_id"],
                equipment_id=self._id_of(row["equipment_id"] or row["equipment_name"]),
                finished=parse_time(row["actual_finish"]),
                preventive=row["preventive"].casefold() in {"true", "1", "yes", "y"},
                code=row["primary_code"],
                code_description=row["primary_code_description"],
                component=row["collection"],
                description=row["wo_description"],
                priority=row["work_priority"],
            )
            for row in self._rows("all_wo_with_code_component_events.csv")
        ]
        return sorted(orders, key=lambda one: (one.finished or _LAST, one.id))

    @cached_property
    def events(self) -> list[LoggedEvent]:
        """The event log, in the order of its times; lines without one last."""
        events = [
            LoggedEvent(
                id=row["event_id"],
                equipment_id=self._id_of(row["equipment_id"] or row["equipment_name"]),
                at=parse_time(row["event_time"]),
                group=row["event_group"].upper(),
                kind=row["event_type"],
                description=row["description"],
            )
            for row in self._rows("event.csv")
        ]
        return sorted(events, key=lambda one: (one.at or _LAST, one.id))

    @cached_property
    def alerts(self) -> list[Alert]:
        """Alerts with their beginning and end, in the order of their beginning."""
        alerts = [
            Alert(
                equipment_id=self._id_of(row["equipment_id"] or row["equipment_name"]),
                rule=row["rule_id"],
                start=parse_time(row["start_time"]),
                end=parse_time(row["end_time"]),
            )
            for row in self._rows("alert_events.csv")
        ]
        return sorted(alerts, key=lambda one: (one.start or _LAST, one.rule, one.equipment_id))

    @cached_property
    def rule_names(self) -> dict[str, str]:
        """The names of the monitoring rules, by identifier."""
        return {row["rule_id"]: row["rule_name"] for row in self._rows("alert_rule.csv")}

    @cached_property
    def anomalies(self) -> list[Anomaly]:
        """Anomalies of performance indicators, in the order of their times."""
        anomalies = [
            Anomaly(
                equipment_id=self._id_of(row["asset_name"]),
                at=parse_time(row["timestamp"]),
                indicator=row["KPI"],
                value=parse_number(row["value"]),
                lower=parse_number(row["lower_bound"]),
                upper=parse_number(row["upper_bound"]),
            )
            for row in self._rows("anomaly_events.csv")
        ]
        return sorted(anomalies, key=lambda one: (one.at or _LAST, one.indicator))

    @cached_property
    def failure_codes(self) -> list[FailureCode]:
        """The primary failure codes, in the order of the file."""
        table = "primary_failure_codes.csv"
        if not (self._folder / table).is_file():
            table = "failure_codes.csv"
        codes: dict[str, FailureCode] = {}
        for row in self._rows(table):
            code = row["primary_code"]
            codes.setdefault(code, FailureCode(code, row["primary_code_description"], row["category"]))
        return list(codes.values())

    @cached_property
    def sensors(self) -> dict[str, dict[str, list[Reading]]]:
        """Readings by equipment identifier and sensor name, in the order of their times."""
        found: dict[str, dict[str, list[Reading]]] = {}
        for path in sorted(self._folder.glob("*sensordata*.csv")):
            for row in self._rows(path.name):
                at = parse_time(row["timestamp"])
                if at is None:
                    continue
                asset = row["asset_id"]
                sensors = found.setdefault(self._id_of(asset), {})
                for column, cell in row.items():
                    if column not in {"asset_id", "timestamp"}:
                        name = column.removeprefix(asset).strip()
                        sensors.setdefault(name, []).append(Reading(at, parse_number(cell)))
        for sensors in found.values():
            for readings in sensors.values():
                readings.sort(key=lambda one: one.at)
        return found

    def coverage(self) -> dict[str, tuple[date, date]]:
        """First and last day on which anything of a group was logged, over the whole plant."""
        days: dict[str, tuple[date, date]] = {}
        for group in GROUPS:
            times = [one.at.date() for one in self.events if one.at and one.group == group]
            if times:
                days[group] = (min(times), max(times))
        return days

    def now(self) -> datetime:
        """The plant's present: the last time in its event log (a stored plant does not age)."""
        return max((one.at for one in self.events if one.at), default=datetime(1970, 1, 1))  # noqa: DTZ001
