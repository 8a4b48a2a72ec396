"""Writes the tables of a data folder: UTF-8 CSV with a header, ISO times, LF line ends."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from assetops_data.fmea import FMEA_COLUMNS

#: Every table that a data folder has beside ``telemetry/``, and its columns.
TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "equipment": ("equipment_id", "equipment_name", "site_name", "asset_class", "installed_on"),
    "sensors": ("equipment_id", "sensor", "unit", "kind", "installed", "measured", "tags"),
    "fmea": FMEA_COLUMNS,
    "failure_modes": ("asset_class", "failure_mode"),
    "failure_mode_sensors": ("asset_class", "failure_mode", "sensor", "relevant"),
    "work_orders": (
        *("wo_id", "equipment_id", "equipment_name", "description", "primary_code", "primary_code_description"),
        *("secondary_code", "component", "preventive", "priority", "reported", "started", "finished", "labor_hours"),
    ),
    "events": ("event_id", "equipment_id", "equipment_name", "time", "group", "type", "description"),
    "alerts": ("alert_id", "equipment_id", "rule_id", "start", "end"),
    "anomalies": ("anomaly_id", "equipment_id", "time", "kpi", "value", "lower", "upper"),
    "alert_rules": ("rule_id", "equipment_id", "description", "sensor", "operator", "threshold", "unit", "minutes"),
    "alert_rule_mapping": ("rule_id", "primary_code", "primary_code_description"),
    "anomaly_mapping": ("kpi", "direction", "primary_code", "primary_code_description"),
    "failure_codes": ("code", "description", "category", "primary_code"),
    "primary_failure_codes": ("primary_code", "description", "category"),
}


def write_table(folder: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one of ``TABLES``; a missing cell is empty, a time ISO, a truth TRUE or FALSE."""
    columns = TABLES[name]
    with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(columns)
        out.writerows([cell(row.get(column)) for column in columns] for row in rows)


def write_columns(path: Path, header: Sequence[str], columns: Sequence[Sequence[str]]) -> None:
    """Write a table that is given by columns of finished cells."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(header)
        file.writelines(f"{','.join(row)}\n" for row in zip(*columns, strict=True))


def cell(value: object) -> str:
    """A value as it stands in a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return str(value)
