"""How the tools are described to an agent: name, sentence, JSON schema of the arguments."""

from __future__ import annotations

from typing import Any, Final

_EQUIPMENT: Final = {"type": "string", "description": "identifier or name, for example CWC04006 or Chiller 6"}
_START: Final = {"type": "string", "format": "date", "description": "first day, YYYY-MM-DD, included"}
_END: Final = {"type": "string", "format": "date", "description": "last day, YYYY-MM-DD, included"}
_KIND: Final = {"type": "string", "enum": ["any", "preventive", "corrective"], "default": "any"}
_GROUPS: Final = {
    "type": "array",
    "items": {"type": "string", "enum": ["WORK_ORDER", "ALERT", "ANOMALY"]},
    "description": "only these groups; all where left out",
}
_SENSOR: Final = {"type": "string", "description": "name as list_sensors gives it"}
_LIMIT: Final = {"type": "integer", "minimum": 1, "maximum": 200, "default": 50, "description": "how many to show"}
_OFFSET: Final = {"type": "integer", "minimum": 0, "default": 0, "description": "how many to leave out at the start"}
_PAGE: Final = {"limit": _LIMIT, "offset": _OFFSET}
_WINDOW: Final = {"equipment": _EQUIPMENT, "start": _START, "end": _END}
_WINDOW_NAMES: Final = ("equipment", "start", "end")


def _schema(properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


DESCRIPTIONS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "current_date_time": ("The plant's present day and time; what 'last month' refers to.", _schema({})),
    "list_equipment": (
        "The plant's equipment with identifier and name; `name` keeps what contains it. `total` is the full number.",
        _schema({"name": {"type": "string"}, **_PAGE}),
    ),
    "record_coverage": (
        "From which to which day the plant recorded work orders, alerts, anomalies at all. Outside, nothing is known.",
        _schema({}),
    ),
    "get_work_orders": (
        "Work orders of one equipment by the day on which the work was finished; preventive, corrective or any. "
        "`total` is the full number, the list comes in pages.",
        _schema({**_WINDOW, "kind": _KIND, **_PAGE}, _WINDOW_NAMES),
    ),
    "count_failure_codes": (
        "How often each failure code stands on the work orders of one equipment in a period, most frequent first.",
        _schema({**_WINDOW, "kind": _KIND}, _WINDOW_NAMES),
    ),
    "list_failure_codes": (
        "The failure codes with description and category; `text` keeps those that contain it.",
        _schema({"text": {"type": "string"}, **_PAGE}),
    ),
    "get_events": (
        "The event log of one equipment by the day on which an event was logged: work order events, alerts and "
        "anomalies. `by_group` holds the full numbers, the list comes in pages.",
        _schema({**_WINDOW, "groups": _GROUPS, **_PAGE}, _WINDOW_NAMES),
    ),
    "daily_event_counts": (
        "How many events of the log one equipment had on each day of a period; days without events are left out.",
        _schema({**_WINDOW, "groups": _GROUPS}, _WINDOW_NAMES),
    ),
    "event_date_range": (
        "First and last event of one equipment in the log, and how many there are, by group.",
        _schema({"equipment": _EQUIPMENT, "groups": _GROUPS}, ("equipment",)),
    ),
    "get_alerts": (
        "Alerts of one equipment that began in a period: rule, beginning, end. `by_rule` holds the full numbers.",
        _schema({**_WINDOW, **_PAGE}, _WINDOW_NAMES),
    ),
    "get_anomalies": (
        "Anomalies of the performance indicators of one equipment in a period: indicator, value and bounds. "
        "`by_indicator` holds the full numbers.",
        _schema({**_WINDOW, **_PAGE}, _WINDOW_NAMES),
    ),
    "list_sensors": (
        "The sensors of one equipment of which readings are stored, and for which days.",
        _schema({"equipment": _EQUIPMENT}, ("equipment",)),
    ),
    "summarize_sensor": (
        "Number, mean, smallest and largest reading of one sensor in a period. Empty readings are counted apart.",
        _schema({**_WINDOW, "sensor": _SENSOR}, (*_WINDOW_NAMES, "sensor")),
    ),
    "get_sensor_readings": (
        "The single readings of one sensor in a period, in pages; an empty reading is null.",
        _schema({**_WINDOW, "sensor": _SENSOR, **_PAGE}, (*_WINDOW_NAMES, "sensor")),
    ),
}
