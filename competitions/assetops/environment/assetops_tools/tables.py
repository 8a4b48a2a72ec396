"""The tables of a data folder, as the storage behind the tools holds them.

Times are ISO texts to the second, so that comparing them as texts compares the times, in every storage alike. Whatever
is neither a number nor a truth is text. An empty cell is None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

TEXT: Final = "text"
NUMBER: Final = "number"
WHOLE: Final = "whole number"
TRUTH: Final = "truth"
TELEMETRY: Final = "telemetry/"  # before the equipment's identifier: its table of readings

#: The columns of each table that are no text.
TYPES: Final[Mapping[str, Mapping[str, str]]] = {
    "equipment": {},
    "sensors": {"installed": TRUTH, "measured": TRUTH},
    "fmea": {"repair_time_hours": WHOLE, "task_interval_days": WHOLE},
    "failure_modes": {},
    "failure_mode_sensors": {"relevant": TRUTH},
    "work_orders": {"preventive": TRUTH, "priority": WHOLE, "labor_hours": NUMBER},
    "events": {},
    "alerts": {},
    "anomalies": {"value": NUMBER, "lower": NUMBER, "upper": NUMBER},
    "alert_rules": {"threshold": NUMBER, "minutes": WHOLE},
    "alert_rule_mapping": {},
    "anomaly_mapping": {},
    "failure_codes": {},
    "primary_failure_codes": {},
}
#: What records are asked by, which a storage had better index.
INDEXES: Final[Mapping[str, tuple[str, ...]]] = {
    "sensors": ("equipment_id",),
    "work_orders": ("equipment_id", "finished"),
    "events": ("equipment_id", "time"),
    "alerts": ("equipment_id", "start"),
    "anomalies": ("equipment_id", "time"),
    "alert_rules": ("equipment_id",),
    "failure_mode_sensors": ("asset_class",),
}
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def type_of(table: str, column: str) -> str:
    """The type of a column; every column of readings but the time stamp is a number."""
    if table.startswith(TELEMETRY):
        return TEXT if column == "timestamp" else NUMBER
    return TYPES[table].get(column, TEXT)


def files_of(folder: Path) -> dict[str, Path]:
    """The tables that a data folder holds, and their files."""
    found = {name: folder / f"{name}.csv" for name in TYPES if (folder / f"{name}.csv").is_file()}
    for path in sorted((folder / "telemetry").glob("*.csv")):
        if _IDENTIFIER.fullmatch(path.stem):
            found[f"{TELEMETRY}{path.stem}"] = path
    return found
