"""What each tool answers: one function a tool, from records and arguments to a JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from plant_arguments import (
    read_choice,
    read_equipment,
    read_filter,
    read_groups,
    read_page,
    read_period,
    read_sensor,
)
from plant_records import GROUPS, PlantRecords, Reading, name_key

Arguments = Mapping[str, Any]
Answer = dict[str, Any]
KINDS = ("any", "preventive", "corrective")
COUNT_NAMES = {"WORK_ORDER": "work_orders", "ALERT": "alerts", "ANOMALY": "anomalies"}


def list_equipment(records: PlantRecords, arguments: Arguments) -> Answer:
    """All equipment, or what matches ``name``."""
    limit, offset = read_page(arguments)
    wanted = name_key(read_filter(arguments, "name"))
    found = [one for one in records.equipment if wanted in name_key(one.name) or wanted in name_key(one.id)]
    return _page([{"id": one.id, "name": one.name} for one in found], "equipment", limit, offset)


def get_work_orders(records: PlantRecords, arguments: Arguments) -> Answer:
    """Work orders of an equipment that were finished in a period."""
    equipment, period = read_equipment(arguments, records), read_period(arguments)
    kind = read_choice(arguments, "kind", choices=KINDS, default="any")
    limit, offset = read_page(arguments)
    found = [
        {
            "id": order.id,
            "finished": _iso(order.finished),
            "kind": "preventive" if order.preventive else "corrective",
            "code": order.code or None,
            "code_description": order.code_description or None,
            "component": order.component or None,
            "description": order.description or None,
            "priority": order.priority or None,
        }
        for order in records.work_orders
        if order.equipment_id == equipment.id
        and period.holds(order.finished)
        and kind in ("any", "preventive" if order.preventive else "corrective")
    ]
    return {"equipment": equipment.id, **_page(found, "work_orders", limit, offset)}


def count_failure_codes(records: PlantRecords, arguments: Arguments) -> Answer:
    """How often each code stands on the work orders of an equipment in a period, most frequent first."""
    equipment, period = read_equipment(arguments, records), read_period(arguments)
    kind = read_choice(arguments, "kind", choices=KINDS, default="any")
    counts: Counter[tuple[str, str]] = Counter()
    uncoded = 0
    for order in records.work_orders:
        if order.equipment_id != equipment.id or not period.holds(order.finished):
            continue
        if kind not in ("any", "preventive" if order.preventive else "corrective"):
            continue
        if order.code:
            counts[order.code, order.code_description] += 1
        else:
            uncoded += 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    codes = [{"code": code, "description": text, "count": count} for (code, text), count in ranked]
    return {"equipment": equipment.id, "codes": codes, "without_code": uncoded}


def get_events(records: PlantRecords, arguments: Arguments) -> Answer:
    """Lines of the event log of an equipment in a period, with their number by group."""
    equipment, period = read_equipment(arguments, records), read_period(arguments)
    groups = read_groups(arguments, choices=GROUPS)
    limit, offset = read_page(arguments)
    found = [
        one
        for one in records.events
        if one.equipment_id == equipment.id and one.group in groups and period.holds(one.at)
    ]
    counts = Counter(one.group for one in found)
    lines = [
        {
            "id": one.id,
            "time": _iso(one.at),
            "group": one.group,
            "type": one.kind,
            "description": one.description or None,
        }
        for one in found
    ]
    by_group = {COUNT_NAMES[group]: counts[group] for group in GROUPS if group in groups}
    return {"equipment": equipment.id, "by_group": by_group, **_page(lines, "events", limit, offset)}


def daily_event_counts(records: PlantRecords, arguments: Arguments) -> Answer:
    """How many events an equipment had on each day of a period; days without any are left out."""
    equipment, period = read_equipment(arguments, records), read_period(arguments)
    groups = read_groups(arguments, choices=GROUPS)
    days: dict[str, Counter[str]] = {}
    for one in records.events:
        if one.equipment_id == equipment.id and one.group in groups and one.at and period.holds(one.at):
            days.setdefault(one.at.date().isoformat(), Counter())[one.group] += 1
    listed = [
        {"day": day, **{COUNT_NAMES[group]: days[day][group] for group in GROUPS if group in groups}}
        for day in sorted(days)
    ]
    return {"equipment": equipment.id, "days_with_events": len(listed), "days": listed}


def event_date_range(records: PlantRecords, arguments: Arguments) -> Answer:
    """When the event log of an equipment begins and ends, by group, and how many lines it has."""
    equipment = read_equipment(arguments, records)
    groups = read_groups(arguments, choices=GROUPS)
    ranges: dict[str, Any] = {}
    for group in groups:
        times = [one.at for one in records.events if one.at and one.equipment_id == equipment.id and one.group == group]
        ranges[COUNT_NAMES[group]] = {
            "first": _iso(min(times, default=None)),
            "last": _iso(max(times, default=None)),
            "total": len(times),
        }
    return {"equipment": equipment.id, "ranges": ranges}


def record_coverage(records: PlantRecords, arguments: Arguments) -> Answer:
    """From which to which day the plant recorded anything of each group."""
    del arguments
    coverage = records.coverage()
    return {
        COUNT_NAMES[group]: {"from": first.isoformat(), "to": last.isoformat()}
        for group, (first, last) in coverage.items()
    }


def get_alerts(records: PlantRecords, arguments: Arguments) -> Answer:
    """Alerts of an equipment that began in a period, with rule, beginning and end."""
    equipment, period = read_equipment(arguments, records), read_period(arguments)
    limit, offset = read_page(arguments)
    found = [
        {
            "rule": one.rule,
            "rule_name": records.rule_names.get(one.rule),
            "start": _iso(one.start),
            "end": _iso(one.end),
        }
        for one in records.alerts
        if one.equipment_id == equipment.id and period.holds(one.start)
    ]
    counts = Counter(str(one["rule"]) for one in found)
    by_rule = [{"rule": rule, "count": count} for rule, count in sorted(counts.items(), key=_most_first)]
    return {"equipment": equipment.id, "by_rule": by_rule, **_page(found, "alerts", limit, offset)}


def get_anomalies(records: PlantRecords, arguments: Arguments) -> Answer:
    """Anomalies of the performance indicators of an equipment in a period."""
    equipment, period = read_equipment(arguments, records), read_period(arguments)
    limit, offset = read_page(arguments)
    found = [
        {
            "time": _iso(one.at),
            "indicator": one.indicator,
            "value": one.value,
            "lower_bound": one.lower,
            "upper_bound": one.upper,
        }
        for one in records.anomalies
        if one.equipment_id == equipment.id and period.holds(one.at)
    ]
    counts = Counter(str(one["indicator"]) for one in found)
    by_indicator = [{"indicator": name, "count": count} for name, count in sorted(counts.items(), key=_most_first)]
    return {"equipment": equipment.id, "by_indicator": by_indicator, **_page(found, "anomalies", limit, offset)}


def list_failure_codes(records: PlantRecords, arguments: Arguments) -> Answer:
    """The failure codes, or those whose code, description or category holds ``text``."""
    limit, offset = read_page(arguments)
    wanted = read_filter(arguments, "text").casefold()
    found = [
        {"code": one.code, "description": one.description, "category": one.category}
        for one in records.failure_codes
        if wanted in one.code.casefold() or wanted in one.description.casefold() or wanted in one.category.casefold()
    ]
    return _page(found, "failure_codes", limit, offset)


def list_sensors(records: PlantRecords, arguments: Arguments) -> Answer:
    """The sensors of an equipment of which anything is recorded, with the days of the record."""
    equipment = read_equipment(arguments, records)
    sensors = [
        {
            "sensor": name,
            "first": _iso(readings[0].at),
            "last": _iso(readings[-1].at),
            "readings": sum(1 for one in readings if one.value is not None),
        }
        for name, readings in sorted(records.sensors.get(equipment.id, {}).items())
    ]
    return {"equipment": equipment.id, "sensors": sensors}


def summarize_sensor(records: PlantRecords, arguments: Arguments) -> Answer:
    """Number, mean, smallest and largest of a sensor's readings in a period; empty readings are counted apart."""
    equipment, sensor, found = _readings(records, arguments)
    values = [one.value for one in found if one.value is not None]
    return {
        "equipment": equipment,
        "sensor": sensor,
        "readings": len(values),
        "empty": len(found) - len(values),
        "mean": round(sum(values) / len(values), 4) if values else None,
        "minimum": min(values, default=None),
        "maximum": max(values, default=None),
        "first": _iso(found[0].at) if found else None,
        "last": _iso(found[-1].at) if found else None,
    }


def get_sensor_readings(records: PlantRecords, arguments: Arguments) -> Answer:
    """The single readings of a sensor in a period."""
    limit, offset = read_page(arguments)
    equipment, sensor, found = _readings(records, arguments)
    listed = [{"time": _iso(one.at), "value": one.value} for one in found]
    return {"equipment": equipment, "sensor": sensor, **_page(listed, "readings", limit, offset)}


def current_date_time(records: PlantRecords, arguments: Arguments) -> Answer:
    """The plant's present."""
    del arguments
    now = records.now()
    return {"now": _iso(now), "day": now.date().isoformat()}


def _readings(records: PlantRecords, arguments: Arguments) -> tuple[str, str, list[Reading]]:
    equipment = read_equipment(arguments, records)
    sensors = records.sensors.get(equipment.id, {})
    sensor = read_sensor(arguments, sorted(sensors), equipment)
    period = read_period(arguments)
    return equipment.id, sensor, [one for one in sensors[sensor] if period.holds(one.at)]


def _page(found: Sequence[Answer], name: str, limit: int, offset: int) -> Answer:
    shown = list(found[offset : offset + limit])
    more = offset + len(shown) < len(found)
    return {"total": len(found), name: shown, "next_offset": offset + len(shown) if more else None}


def _iso(at: datetime | None) -> str | None:
    return at.isoformat(timespec="minutes") if at else None


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


ANSWERS: dict[str, Callable[[PlantRecords, Arguments], Answer]] = {
    function.__name__: function
    for function in (
        current_date_time,
        list_equipment,
        record_coverage,
        get_work_orders,
        count_failure_codes,
        list_failure_codes,
        get_events,
        daily_event_counts,
        event_date_range,
        get_alerts,
        get_anomalies,
        list_sensors,
        summarize_sensor,
        get_sensor_readings,
    )
}
