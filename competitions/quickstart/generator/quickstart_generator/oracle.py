"""The independent oracle: computes answers from the tables with pandas.

It shares no code with the environment's tools, so that a fault in one of them shows as a disagreement and not as a
wrong truth. Periods are whole days, both ends included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import pandas as pd

GROUPS = {"WORK_ORDER": "work_orders", "ALERT": "alerts", "ANOMALY": "anomalies"}


@dataclass(frozen=True)
class Days:
    """From ``start`` to ``end``, both included."""

    start: date
    end: date

    @property
    def arguments(self) -> dict[str, str]:
        """The period as tool arguments."""
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}

    def rows(self, times: pd.Series) -> pd.Series:
        """Which of the times lie in the period; missing ones do not."""
        return times.between(pd.Timestamp(self.start), pd.Timestamp(self.end) + pd.Timedelta(days=1), inclusive="left")


class PlantOracle:
    """Answers about the plant whose tables lie in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _table(self, name: str, *, time: str) -> pd.DataFrame:
        table = pd.read_csv(self._folder / name, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        text = table[time].where(table[time] != "")
        table["at"] = pd.to_datetime(text, format="mixed", dayfirst=False).dt.tz_localize(None)
        return table

    def _owners(self, table: pd.DataFrame) -> pd.Series:
        names = table["equipment_name"].map(_plain).map(self._id_by_name)
        return table["equipment_id"].where(table["equipment_id"] != "", names)

    @cached_property
    def _raw_events(self) -> pd.DataFrame:
        return self._table("event.csv", time="event_time")

    @cached_property
    def _id_by_name(self) -> dict[str, str]:
        both = self._raw_events[["equipment_id", "equipment_name"]]
        both = both[(both != "").all(axis=1)].drop_duplicates()
        return dict(zip(both["equipment_name"].map(_plain), both["equipment_id"], strict=True))

    @cached_property
    def events(self) -> pd.DataFrame:
        """The event log with a column ``owner`` (equipment identifier) and ``at``."""
        return self._raw_events.assign(owner=self._owners(self._raw_events))

    @cached_property
    def work_orders(self) -> pd.DataFrame:
        """Work orders with ``owner`` and ``at``, the time of finishing."""
        table = self._table("all_wo_with_code_component_events.csv", time="actual_finish")
        preventive = table["preventive"].str.upper() == "TRUE"
        return table.assign(owner=self._owners(table), kind=preventive.map({True: "preventive", False: "corrective"}))

    @cached_property
    def alerts(self) -> pd.DataFrame:
        """Alerts with ``owner`` and ``at``, the time of beginning."""
        table = self._table("alert_events.csv", time="start_time")
        return table.assign(owner=self._owners(table))

    @cached_property
    def anomalies(self) -> pd.DataFrame:
        """Anomalies with ``owner`` and ``at``."""
        table = self._table("anomaly_events.csv", time="timestamp")
        return table.assign(owner=table["asset_name"].map(_plain).map(self._id_by_name))

    @cached_property
    def sensors(self) -> dict[str, pd.DataFrame]:
        """Readings by equipment identifier: indexed by time, one column a sensor that ever read something."""
        found = {}
        for path in sorted(self._folder.glob("*sensordata*.csv")):
            table = pd.read_csv(path)
            name = str(table["asset_id"].iloc[0])
            table.index = pd.DatetimeIndex(pd.to_datetime(table["timestamp"]))
            table = table.drop(columns=["asset_id", "timestamp"])
            table.columns = [column.replace(name, "", 1).strip() for column in table.columns]
            found[self._id_by_name[_plain(name)]] = table
        return found

    def equipment(self) -> list[str]:
        """Identifiers of all equipment."""
        owners = pd.concat([self.events["owner"], self.work_orders["owner"], self.alerts["owner"]])
        return sorted(set(owners.dropna()))

    def finished(self, equipment: str, days: Days, kind: str | None = None) -> pd.DataFrame:
        """Work orders of an equipment that were finished in the period."""
        table = self.work_orders
        table = table[(table["owner"] == equipment) & days.rows(table["at"])]
        return table if kind is None else table[table["kind"] == kind]

    def logged(self, equipment: str, days: Days, groups: list[str] | None = None) -> pd.DataFrame:
        """Lines of the event log of an equipment in the period."""
        table = self.events
        table = table[(table["owner"] == equipment) & days.rows(table["at"])]
        return table if groups is None else table[table["event_group"].isin(groups)]

    def by_group(self, equipment: str, days: Days) -> dict[str, int]:
        """How many events of each group were logged."""
        counts = self.logged(equipment, days)["event_group"].value_counts()
        return {name: int(counts.get(group, 0)) for group, name in GROUPS.items()}

    def days_with_events(self, equipment: str, days: Days, groups: list[str]) -> int:
        """On how many days at least one event of the groups was logged."""
        return int(self.logged(equipment, days, groups)["at"].dt.normalize().nunique())

    def first_and_last(self, equipment: str, group: str) -> tuple[date, date] | None:
        """The days of the first and the last event of a group, or None where there is none."""
        table = self.events
        times = table[(table["owner"] == equipment) & (table["event_group"] == group)]["at"].dropna()
        return None if times.empty else (times.min().date(), times.max().date())

    def codes(self, equipment: str, days: Days, kind: str | None = None) -> pd.Series:
        """How often each failure code was used, most frequent first; work orders without one are left out."""
        codes = self.finished(equipment, days, kind)["primary_code"]
        return codes[codes != ""].value_counts()

    def rules(self, equipment: str, days: Days) -> pd.Series:
        """How often each monitoring rule raised an alert."""
        table = self.alerts
        return table[(table["owner"] == equipment) & days.rows(table["at"])]["rule_id"].value_counts()

    def indicators(self, equipment: str, days: Days) -> pd.Series:
        """How often each performance indicator was anomalous."""
        table = self.anomalies
        return table[(table["owner"] == equipment) & days.rows(table["at"])]["KPI"].value_counts()

    def readings(self, equipment: str, sensor: str, days: Days) -> pd.Series:
        """A sensor's readings in the period, empty ones as NaN."""
        series = self.sensors[equipment][sensor]
        return series[days.rows(series.index.to_series())]

    def coverage(self, group: str) -> tuple[date, date]:
        """The first and last day on which the plant logged anything of a group."""
        times = self.events[self.events["event_group"] == group]["at"]
        return times.min().date(), times.max().date()

    def today(self) -> date:
        """The plant's present day."""
        last: pd.Timestamp = self.events["at"].max()
        return last.date()


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
