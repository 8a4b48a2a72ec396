"""What can be said of work orders, alerts, anomalies and events: plain functions over rows.

Only the standard library is imported, and nothing of this package: the whole file is also what the WO agent sends to
`run_wo_code`, where it reads the business objects' tables itself (:func:`load`). Days are text, YYYY-MM-DD; rows have
the tables' columns.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Rows = Sequence[Row]

#: Table: its file, and the column that holds the time by which a row belongs to a period.
TABLES = {
    "orders": ("work_orders.csv", "finished"),
    "alerts": ("alerts.csv", "start"),
    "anomalies": ("anomalies.csv", "time"),
    "events": ("events.csv", "time"),
}
BUNDLE_DAYS = 14


def load(
    table: str,
    machine: Iterable[str],
    start: str | None = None,
    end: str | None = None,
    kind: str | None = None,
    folder: str = "/app/data",
) -> list[Row]:
    """The rows of one machine (its identifier and its name) in a period, straight from a table's file."""
    name, column = TABLES[table]
    wanted = {_plain(one) for one in machine if one}
    with open(Path(folder) / name, encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file)
                if _plain(row.get("equipment_id") or row.get("equipment_name")) in wanted]  # fmt: skip
    return within(rows, column, start, end, kind)


def within(
    rows: Rows, column: str, start: str | None = None, end: str | None = None, kind: str | None = None
) -> list[Row]:
    """The rows of a period and kind of work, in the order of time; those without a time are left out."""
    kept = [row for row in rows if day(row, column) and (not start or day(row, column) >= start)
            and (not end or day(row, column) <= end) and (kind is None or kind_of(row) == kind)]  # fmt: skip
    return sorted(kept, key=lambda row: (moment(row[column]), str(row.get("wo_id", ""))))


def moment(text: Any) -> datetime:
    """A time of the tables, without its zone."""
    return datetime.fromisoformat(str(text).replace("Z", "+00:00").replace("/", "-")).replace(tzinfo=None)


def day(row: Row, column: str) -> str:
    """The day of a row; empty where it has none."""
    return moment(row[column]).date().isoformat() if row.get(column) else ""


def kind_of(row: Row) -> str:
    """Preventive or corrective."""
    if row.get("kind") in ("preventive", "corrective"):
        return str(row["kind"])
    return "preventive" if str(row.get("preventive")).upper() == "TRUE" else "corrective"


def counted(rows: Rows, column: str) -> dict[str, int]:
    """How often each value of a column occurs, most first; empty ones are left out."""
    counts = Counter(str(row[column]) for row in rows if row.get(column))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def by_month(rows: Rows, column: str) -> dict[str, int]:
    """How many rows each month has, YYYY-MM."""
    return dict(Counter(day(row, column)[:7] for row in rows if day(row, column)).most_common())


def bundles(orders: Rows, days: int = BUNDLE_DAYS) -> dict[str, Any]:
    """Repairs that could have been done together: from each first one all within some days, two or more of them."""
    times = [moment(row["finished"]) for row in orders if row.get("finished") and kind_of(row) == "corrective"]
    times, found = sorted(times), []
    while times:
        inside = [at for at in times if (at - times[0]).total_seconds() <= days * 86400]
        times = times[len(inside) :]
        if len(inside) > 1:
            found.append(len(inside))
    return {"bundles": len(found), "largest": max(found, default=0), "sizes": found}


def descriptions(events: Rows, groups: list[str], most: int) -> dict[str, int]:
    """The descriptions that stand in the log most often, with their counts, of some groups of events."""
    counts = counted([row for row in events if row.get("group") in groups], "description")
    return dict(list(counts.items())[:most])


def rules_to_act_on(alerts: Rows, orders: Rows, codes_of_rule: dict[str, list[str]], days: int) -> dict[str, Any]:
    """Rules that fired on enough days, and of whose codes no job was finished."""
    fired = {rule: len({day(row, "start") for row in alerts if row.get("rule_id") == rule})
             for rule in counted(alerts, "rule_id")}  # fmt: skip
    done = {row.get("primary_code") for row in orders}
    rules = sorted(
        rule for rule, number in fired.items() if number >= days and not done & set(codes_of_rule.get(rule, ()))
    )
    return {"open_job": bool(rules), "rules": rules, "days_of_rules": fired}


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name or "").lower())
