"""The failure mode and effects analysis: 53 rows over three kinds of equipment, with the fields of requirement A8.

The reasoning of a row is fixed and stands in ``fmea_rows.csv``; repair times, effectiveness and intervals are a site's
own, and drawn.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final

from assetops_data.chance import Chance

FMEA_COLUMNS: Final = (
    "fmea_id",
    "asset_class",
    "component",
    "degradation_mechanism",
    "degradation_influence",
    "functional_failure_mode",
    "detection_opportunity",
    "repair_time_hours",
    "criticality",
    "preventive_task",
    "task_type",
    "task_effectiveness",
    "task_interval_days",
)


def fmea_rows(chance: Chance) -> list[dict[str, Any]]:
    """The 53 rows as a site has written them."""
    rng = chance.stream("fmea")
    rows: list[dict[str, Any]] = []
    with Path(__file__).with_name("fmea_rows.csv").open(encoding="utf-8", newline="") as file:
        for number, usual in enumerate(csv.DictReader(file), start=1):
            own = {
                "fmea_id": f"FMEA{number:02d}",
                "repair_time_hours": max(1, round(int(usual["usual_repair_hours"]) * rng.uniform(0.7, 1.5))),
                "task_interval_days": int(usual["usual_interval_days"]) * rng.choice((1, 1, 1, 2)),
                "task_effectiveness": rng.choice(("high", "high", "medium", "medium", "low")),
            }
            rows.append({column: own.get(column, usual.get(column)) for column in FMEA_COLUMNS})
    return rows
