"""The oracle for telemetry and failure modes: readings, gaps, operation, and which sensor tells of which failure."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import pandas as pd

from assetops_scenarios.records import Days, Machine, Records

_TO_MIDNIGHT: Final = pd.Timedelta(days=1) - pd.Timedelta(seconds=1)


class SensorOracle:
    """Answers about what machines measure."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self._shares: dict[tuple[str, Days], float] = {}
        self._empty: dict[tuple[str, str], list[date]] = {}
        self._still: dict[str, list[Days]] = {}

    def recorded(self) -> list[Machine]:
        """The machines of which readings are recorded."""
        return [one for one in self.records.machines if self.records.telemetry(one.id) is not None]

    def listed(self, equipment: str, flag: str) -> list[str]:
        """The machine's sensors that are ``installed``, or ``measured``."""
        table = self.records.sensors
        return sorted(table[(table["equipment_id"] == equipment) & table[flag]]["sensor"])

    def kinds(self, equipment: str) -> dict[str, str]:
        """What each of the machine's sensors measures."""
        table = self.records.sensors[self.records.sensors["equipment_id"] == equipment]
        return dict(zip(table["sensor"], table["kind"], strict=True))

    def span(self, equipment: str) -> Days:
        """The first and the last day with a row."""
        table = self._table(equipment)
        return Days(table.index.min().date(), table.index.max().date())

    def rows(self, equipment: str, days: Days) -> pd.DataFrame:
        """The rows of the period as recorded, empty cells as NaN."""
        table = self._table(equipment)
        return table.loc[pd.Timestamp(days.start) : pd.Timestamp(days.end) + _TO_MIDNIGHT]

    def readings(self, equipment: str, sensor: str, days: Days) -> pd.Series:
        """A sensor's readings of the period, without the empty ones."""
        return self.rows(equipment, days)[sensor].dropna()

    def longest_gap(self, equipment: str, days: Days) -> pd.Timedelta:
        """The longest time between two consecutive rows."""
        longest: pd.Timedelta = self.rows(equipment, days).index.to_series().diff().max()
        return longest

    def power(self, equipment: str) -> str | None:
        """The sensor of the electrical power, where there is one."""
        return self._named(equipment, "power input") or self._named(equipment, "fan power")

    def idle(self, equipment: str, days: Days) -> bool:
        """Whether the machine drew no power at any reading of the period, of which most must be there."""
        readings = self.readings(equipment, self.power(equipment) or "", days)
        whole = 96 * ((days.end - days.start).days + 1)
        return len(readings) > 0.8 * whole and bool((readings == 0).all())

    def still_weeks(self, equipment: str) -> list[Days]:
        """The whole weeks in which the machine drew no power."""
        if equipment not in self._still:
            self._still[equipment] = [one for one in self.weeks(equipment) if self.idle(equipment, one)]
        return self._still[equipment]

    def running_share(self, equipment: str, days: Days) -> float:
        """The share of readings with power drawn."""
        if (equipment, days) not in self._shares:
            readings = self.readings(equipment, self.power(equipment) or "", days)
            self._shares[equipment, days] = float((readings > 0).mean()) if len(readings) else 0.0
        return self._shares[equipment, days]

    def running_readings(self, equipment: str, sensor: str, days: Days) -> int:
        """How many readings of a sensor were taken while power was drawn."""
        rows = self.rows(equipment, days)
        return int((rows[sensor].notna() & (rows[self.power(equipment) or ""] > 0)).sum())

    def weeks(self, equipment: str, *, length: int = 7) -> list[Days]:
        """The whole weeks of the record, each from a Monday."""
        span = self.span(equipment)
        monday = span.start + timedelta(days=(7 - span.start.weekday()) % 7)
        found = []
        while monday + timedelta(days=length - 1) <= span.end:
            found.append(Days(monday, monday + timedelta(days=length - 1)))
            monday += timedelta(days=7)
        return found

    def empty_days(self, equipment: str, sensor: str) -> list[date]:
        """Days within the record on which the sensor has no reading at all."""
        if (equipment, sensor) not in self._empty:
            readings = self._table(equipment)[sensor].dropna()
            span = self.span(equipment)
            every = pd.date_range(span.start, span.end, freq="D")
            missing = every.difference(pd.DatetimeIndex(readings.index).normalize())
            self._empty[equipment, sensor] = [day.date() for day in missing]
        return self._empty[equipment, sensor]

    def _table(self, equipment: str) -> pd.DataFrame:
        table = self.records.telemetry(equipment)
        if table is None:
            raise KeyError(f"nothing is recorded of {equipment}")
        return table

    def _named(self, equipment: str, words: str) -> str | None:
        table = self.records.telemetry(equipment)
        columns = [] if table is None else [str(name) for name in table.columns]
        return next((name for name in columns if words in name.lower()), None)


class FailureOracle:
    """Answers about failure modes and the sensors that tell of them."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def classes(self) -> list[str]:
        """The classes of assets of which failure modes are known."""
        return sorted(set(self.records.failure_modes["asset_class"]))

    def modes(self, asset_class: str) -> list[str]:
        """The failure modes of a class."""
        table = self.records.failure_modes
        return sorted(set(table[table["asset_class"] == asset_class]["failure_mode"]))

    def sensors_of(self, asset_class: str, mode: str) -> list[str]:
        """The sensors that tell of a failure mode."""
        table = self._relevant(asset_class)
        return sorted(set(table[table["failure_mode"] == mode]["sensor"]))

    def modes_told_by(self, asset_class: str, sensors: list[str]) -> list[str]:
        """The failure modes of which at least one of the sensors tells."""
        table = self._relevant(asset_class)
        return sorted(set(table[table["sensor"].isin(sensors)]["failure_mode"]))

    def sensors(self, asset_class: str) -> list[str]:
        """All sensors that tell of any failure mode of the class."""
        return sorted(set(self._relevant(asset_class)["sensor"]))

    def _relevant(self, asset_class: str) -> pd.DataFrame:
        table = self.records.failure_mode_sensors
        return table[(table["asset_class"] == asset_class) & table["relevant"]]
