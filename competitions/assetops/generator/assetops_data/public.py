"""Imports the public AssetOpsBench sample data into the layout of a data folder, so that the same tools serve it.

What the sample data do not say stays empty: thresholds of rules, when an order was reported, which sensors tell of a
failure mode. Names are kept as they are; a row that gives only a name gets that machine's identifier.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from assetops_data.machines import MAIN
from assetops_data.site import write_present, write_switches
from assetops_data.tables import write_columns, write_table

Row = dict[str, Any]
_ORDERS: Final = "all_wo_with_code_component_events.csv"
_READINGS: Final = "chiller6_june2020_sensordata_couchdb.csv"
_SHORT_TIME: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4}) (\d{1,2}):(\d{2})")
_KINDS: Final = {"temperature": "temperature", "power": "power", "flow": "flow", "status": "status", "%": "load"}


def import_public(source: Path, folder: Path) -> None:
    """Write the sample data in ``source`` into ``folder`` as the environment reads it.

    Raises:
        FileNotFoundError: a file of the sample data is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = _machines(source)
    by_name = {_key(name): identifier for identifier, name in names.items()}

    def owner(row: Row, name: str = "equipment_name") -> str:
        return str(row.get("equipment_id") or by_name.get(_key(row[name]), ""))

    orders = [_order(row, owner(row)) for row in _rows(source, _ORDERS)]
    events = [_event(row, owner(row)) for row in _rows(source, "event.csv")]
    write_table(folder, "equipment", (_equipment(identifier, name) for identifier, name in names.items()))
    write_table(folder, "work_orders", orders)
    write_table(folder, "events", events)
    alerts = enumerate(_rows(source, "alert_events.csv"), start=1)
    write_table(folder, "alerts", (_alert(number, row, owner(row)) for number, row in alerts))
    anomalies = enumerate(_rows(source, "anomaly_events.csv"), start=1)
    write_table(folder, "anomalies", (_anomaly(number, row, owner(row, "asset_name")) for number, row in anomalies))
    _write_knowledge(source, folder)
    columns = _write_readings(source, folder, by_name)
    write_table(folder, "sensors", _sensors(source, names, columns))
    write_switches(folder, None)
    write_present(folder, max(at for row in events if (at := row["time"]) is not None))


def _machines(source: Path) -> dict[str, str]:
    """Identifier and name of every machine that a table names, by identifier; the most frequent name counts."""
    seen: dict[str, Counter[str]] = {}
    for table in ("event.csv", _ORDERS, "alert_events.csv"):
        for row in _rows(source, table):
            if row["equipment_id"] and row["equipment_name"]:
                seen.setdefault(row["equipment_id"], Counter())[row["equipment_name"]] += 1
    return {identifier: seen[identifier].most_common(1)[0][0] for identifier in sorted(seen)}


def _equipment(identifier: str, name: str) -> Row:
    return {"equipment_id": identifier, "equipment_name": name, "site_name": MAIN, "asset_class": _kind(name)}


def _kind(name: str) -> str:
    """The kind that a machine's name begins with."""
    return re.sub(r"\s*\d+$", "", name)


def _order(row: Row, equipment_id: str) -> Row:
    return {
        **{key: row[key] for key in ("wo_id", "equipment_name", "primary_code", "primary_code_description")},
        "equipment_id": equipment_id,
        "description": row["wo_description"],
        "secondary_code": row["secondary_code"],
        "component": row["collection"],
        "preventive": row["preventive"].upper() == "TRUE",
        "priority": row["work_priority"],
        "finished": parse_time(row["actual_finish"]),
    }


def _event(row: Row, equipment_id: str) -> Row:
    return {
        "event_id": row["event_id"],
        "equipment_id": equipment_id,
        "equipment_name": row["equipment_name"],
        "time": parse_time(row["event_time"]),
        "group": row["event_group"],
        "type": row["event_type"],
        "description": row["description"],
    }


def _alert(number: int, row: Row, equipment_id: str) -> Row:
    start, end = parse_time(row["start_time"]), parse_time(row["end_time"])
    named = {"alert_id": f"AL{number:05d}", "equipment_id": equipment_id, "rule_id": row["rule_id"]}
    return {**named, "start": start, "end": end}


def _anomaly(number: int, row: Row, equipment_id: str) -> Row:
    return {
        "anomaly_id": f"AN{number:05d}",
        "equipment_id": equipment_id,
        "time": parse_time(row["timestamp"]),
        "kpi": row["KPI"],
        "value": row["value"],
        "lower": row["lower_bound"],
        "upper": row["upper_bound"],
    }


def _write_knowledge(source: Path, folder: Path) -> None:
    """Rules, mappings, codes and the failure analysis."""
    rules = [{"rule_id": row["rule_id"], "description": row["rule_name"]} for row in _rows(source, "alert_rule.csv")]
    write_table(folder, "alert_rules", rules)
    write_table(folder, "alert_rule_mapping", _rows(source, "alert_rule_failure_code_mapping.csv"))
    indicators = _rows(source, "anomaly_to_failure_code_mapping.csv")
    renamed = ({**row, "kpi": row["kpi_name"], "direction": row["anomaly_type"]} for row in indicators)
    write_table(folder, "anomaly_mapping", renamed)
    codes = (
        {**row, "code": row["secondary_code"], "description": row["secondary_code_description"]}
        for row in _rows(source, "failure_codes.csv")
    )
    write_table(folder, "failure_codes", codes)
    primary = (
        {**row, "description": row["primary_code_description"]} for row in _rows(source, "primary_failure_codes.csv")
    )
    write_table(folder, "primary_failure_codes", primary)
    analysis = list(_rows(source, "failure_mode.csv"))
    write_table(folder, "fmea", (_analysis(number, row) for number, row in enumerate(analysis, start=1)))
    modes = dict.fromkeys((row["Equipment"], row["Failure Mode"]) for row in analysis)
    write_table(folder, "failure_modes", ({"asset_class": kind, "failure_mode": mode} for kind, mode in modes))
    write_table(folder, "failure_mode_sensors", ())


def _analysis(number: int, row: Row) -> Row:
    return {
        "fmea_id": f"FMEA{number:02d}",
        "asset_class": row["Equipment"],
        "functional_failure_mode": row["Failure Mode"],
        "degradation_mechanism": row["Degradation Mechanism"],
        "degradation_influence": row["Influencing Factors"],
    }


def _write_readings(source: Path, folder: Path, by_name: dict[str, str]) -> dict[str, list[str]]:
    """The readings of the one machine that has any, without its name before each column; the columns by identifier."""
    rows = list(_rows(source, _READINGS))
    name = rows[0]["asset_id"]
    identifier = by_name[_key(name)]
    own = [column for column in rows[0] if column not in ("asset_id", "timestamp")]
    short = [column.removeprefix(name).strip() for column in own]
    (folder / "telemetry").mkdir(exist_ok=True)
    cells = [[row[column] for row in rows] for column in ("timestamp", *own)]
    write_columns(folder / "telemetry" / f"{identifier}.csv", ["timestamp", *short], cells)
    return {identifier: short}


def _sensors(source: Path, names: dict[str, str], columns: dict[str, list[str]]) -> Iterator[Row]:
    """The meters, which are installed on every machine, and what is recorded of one."""
    meters = [row for row in _rows(source, "meter.csv") if row["calculated"].upper() != "TRUE"]
    for identifier in names:
        for column in columns.get(identifier, ()):
            kind = next((kind for word, kind in _KINDS.items() if word in column.casefold()), "")
            yield {"equipment_id": identifier, "sensor": column, "kind": kind, "installed": True, "measured": True}
        for row in meters:
            installed = {"installed": True, "measured": False, "tags": row["component"]}
            named = {
                "equipment_id": identifier,
                "sensor": row["meter"],
                "unit": row["unit"],
                "kind": row["measurement"],
            }
            yield {**named, **installed}


def parse_time(text: str) -> datetime | None:
    """Read ISO times and the short form of the work order system (``4/26/20 14:14``); None where it is neither."""
    text = text.strip()
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        found = _SHORT_TIME.fullmatch(text)
    if found is None:
        return None
    month, day, year, hour, minute = (int(part) for part in found.groups())
    try:
        return datetime(year + 2000 if year < 100 else year, month, day, hour, minute)  # noqa: DTZ001 - plant time
    except ValueError:
        return None


def _key(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).casefold()


def _rows(source: Path, name: str) -> Iterator[Row]:
    with (source / name).open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            yield {key: (value or "").strip() for key, value in row.items() if key}
