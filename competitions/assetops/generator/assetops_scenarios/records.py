"""The records of a site as tables, read with pandas from the CSV files of a data folder.

This is the ground on which the oracle stands. It shares no code with the environment's tools, so that a fault in one
of them shows as a disagreement and not as a wrong truth. Periods are whole days, both ends included.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Final

import pandas as pd

GROUPS: Final = {"WORK_ORDER": "work_orders", "ALERT": "alerts", "ANOMALY": "anomalies"}


@dataclass(frozen=True)
class Machine:
    """A piece of equipment of the site."""

    id: str
    name: str
    site: str
    asset_class: str


@dataclass(frozen=True)
class Days:
    """From ``start`` to ``end``, both included."""

    start: date
    end: date

    @property
    def arguments(self) -> dict[str, str]:
        """The period as tool arguments."""
        return {"start": self.start.isoformat(), "end": self.end.isoformat()}

    @property
    def history(self) -> dict[str, str]:
        """The period as the telemetry tool names its ends."""
        return {"start": self.start.isoformat(), "final": self.end.isoformat()}

    def rows(self, times: pd.Series) -> pd.Series:
        """Which of the times lie in the period; missing ones do not."""
        return times.between(pd.Timestamp(self.start), pd.Timestamp(self.end) + pd.Timedelta(days=1), inclusive="left")


class Records:
    """The tables in ``folder``. Rows that name their machine only by name are given its identifier (``owner``)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._telemetry: dict[str, pd.DataFrame] = {}

    def _table(self, name: str, **times: str) -> pd.DataFrame:
        table = pd.read_csv(self._folder / name, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        for column, source in times.items():
            text = table[source].where(table[source] != "")
            table[column] = pd.to_datetime(text, format="mixed", dayfirst=False).dt.tz_localize(None)
        return table

    def _owned(self, table: pd.DataFrame) -> pd.DataFrame:
        if "equipment_name" not in table:
            return table.assign(owner=table["equipment_id"])
        names = table["equipment_name"].map(plain).map({plain(one.name): one.id for one in self.machines})
        return table.assign(owner=table["equipment_id"].where(table["equipment_id"] != "", names))

    @cached_property
    def machines(self) -> list[Machine]:
        """All equipment, by identifier."""
        rows = self._table("equipment.csv").sort_values("equipment_id")
        columns = ("equipment_id", "equipment_name", "site_name", "asset_class")
        return [Machine(*(str(row[column]) for column in columns)) for row in rows.to_dict("records")]

    @cached_property
    def sites(self) -> list[str]:
        """The names of the sites."""
        return sorted({one.site for one in self.machines})

    @cached_property
    def sensors(self) -> pd.DataFrame:
        """Sensors with what they measure, and booleans ``installed`` and ``measured``."""
        table = self._table("sensors.csv")
        return table.assign(**{name: table[name].str.upper() == "TRUE" for name in ("installed", "measured")})

    @cached_property
    def work_orders(self) -> pd.DataFrame:
        """Work orders with ``owner``, ``at`` (the time of finishing) and ``kind``."""
        table = self._owned(self._table("work_orders.csv", at="finished"))
        preventive = table["preventive"].str.upper() == "TRUE"
        return table.assign(work=preventive.map({True: "preventive", False: "corrective"}))

    @cached_property
    def events(self) -> pd.DataFrame:
        """The event log with ``owner`` and ``at``."""
        return self._owned(self._table("events.csv", at="time"))

    @cached_property
    def alerts(self) -> pd.DataFrame:
        """Alerts with ``owner`` and ``at`` (their start)."""
        return self._owned(self._table("alerts.csv", at="start"))

    @cached_property
    def anomalies(self) -> pd.DataFrame:
        """Anomalies of indicators with ``owner`` and ``at``."""
        return self._owned(self._table("anomalies.csv", at="time"))

    @cached_property
    def rules(self) -> pd.DataFrame:
        """Monitoring rules."""
        return self._table("alert_rules.csv")

    @cached_property
    def rule_codes(self) -> pd.DataFrame:
        """Which failure codes a monitoring rule points to."""
        return self._table("alert_rule_mapping.csv")

    @cached_property
    def indicator_codes(self) -> pd.DataFrame:
        """Which failure codes an anomaly of an indicator points to."""
        return self._table("anomaly_mapping.csv")

    @cached_property
    def primary_codes(self) -> dict[str, str]:
        """Failure codes and what they mean."""
        table = self._table("primary_failure_codes.csv")
        return dict(zip(table["primary_code"], table["description"], strict=True))

    @cached_property
    def failure_modes(self) -> pd.DataFrame:
        """Failure modes by class of asset."""
        return self._table("failure_modes.csv")

    @cached_property
    def failure_mode_sensors(self) -> pd.DataFrame:
        """Which sensors tell of a failure mode, by class of asset."""
        table = self._table("failure_mode_sensors.csv")
        return table.assign(relevant=table["relevant"].str.upper() == "TRUE")

    def telemetry(self, equipment: str) -> pd.DataFrame | None:
        """The machine's readings as numbers, by time; None where nothing of it is recorded."""
        if equipment not in self._telemetry:
            path = self._folder / "telemetry" / f"{equipment}.csv"
            if not path.is_file():
                return None
            table = (
                pd.read_csv(path, encoding="utf-8-sig", parse_dates=["timestamp"]).set_index("timestamp").sort_index()
            )
            self._telemetry[equipment] = table.apply(pd.to_numeric, errors="coerce")
        return self._telemetry[equipment]

    @cached_property
    def now(self) -> pd.Timestamp:
        """The site's present moment."""
        content = json.loads((self._folder / "present.json").read_text(encoding="utf-8"))
        return pd.Timestamp(content["now"]).tz_localize(None)

    def machine(self, equipment: str) -> Machine:
        """The machine with this identifier."""
        return next(one for one in self.machines if one.id == equipment)


def plain(name: str) -> str:
    """A name without case, spaces and signs."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
