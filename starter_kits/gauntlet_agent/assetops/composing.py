"""From what the agents found to the answer: text for people, and data in the shape that the question asks for.

The shape (`show["answer_format"]`) names fields and describes them in words; what was found has names of its own. A
field takes the value of its name, else of a name that means the same, turned into the kind that its description says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

ABSTAIN: Final[dict[str, Any]] = {"abstain": True}
#: Names that mean the same. The first that was found is taken.
_SAME: Final[Mapping[str, tuple[str, ...]]] = {
    "highest": ("max", "peak"),
    "lowest": ("min",),
    "mean": ("average", "mean_value"),
    "readings": ("total_observations", "count"),
    "observations": ("total_observations", "readings"),
    "asset": ("asset_name", "equipment_name", "equipment", "assetnum"),
    "equipment": ("equipment_id", "assetnum", "asset"),
    "kind": ("asset_class", "class", "asset_type"),
    "kinds": ("classes",),
    "installed_sensors": ("installed",),
    "recorded_sensors": ("measured",),
    "sensors": ("sensor", "measured", "installed"),
    "failure_modes": ("failure_mode", "modes"),
    "file": ("result_file", "file_path", "results_file"),
    "result_file": ("results_file", "file_path"),
    "anomalies": ("anomaly_count", "anomalous", "total_anomalies", "anomalies_found"),
    "checkpoint": ("model_checkpoint", "checkpoints"),
    "models": ("model_ids", "checkpoints"),
    "events": ("count",),
    "jobs": ("work_orders",),
    "repairs": ("corrective", "work_orders"),
    "running": ("share_running", "share"),
    "available": ("supported",),
    "task": ("task_supported", "supported"),
    "model": ("model_available",),
    "column": ("target_column", "sensor", "target_columns"),
    "sensor": ("target_columns", "sensors"),
    "steps": ("horizon", "forecast_horizon"),
    "values": ("horizon", "forecast_horizon"),
    "value": ("latest", "mean"),
}


def compose(show: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer's data: one value a field of the requested shape, as far as something was found for it.

    Args:
        show: what the organizer shows beside the question
        findings: what the steps found, in their order; later ones come first where both have a name
    """
    wanted = show.get("answer_format")
    merged: dict[str, Any] = {}
    for found in findings:
        merged |= {name: value for name, value in found.items() if value is not None}
    if not isinstance(wanted, Mapping):
        return merged
    data: dict[str, Any] = {}
    for field, kind in wanted.items():
        value = _value(field, str(kind), merged)
        if value is not None:
            data[field] = value
    return data


def _value(field: str, kind: str, merged: Mapping[str, Any]) -> Any:
    for name in (field, *_SAME.get(field, ()), field.removesuffix("s"), f"{field}s"):
        if name in merged:
            value = _as(kind, merged[name])
            if value is not None:
                return value
    return None


def _as(kind: str, value: Any) -> Any:
    """A value in the kind that a field's description begins with; None where it cannot be that."""
    words = kind.casefold()
    if words.startswith("integer"):
        return len(value) if isinstance(value, list) else _number(value, whole=True)
    if words.startswith("number"):
        return _number(value, whole=False)
    if words.startswith("list"):
        return list(value) if isinstance(value, list | tuple) else [value]
    if words.startswith("true or false"):
        return bool(value) if isinstance(value, bool | int) else None
    if words.startswith("date"):
        found = re.search(r"\d{4}-\d{2}-\d{2}", str(value))
        return found.group() if found else None
    if words.startswith("month"):
        found = re.search(r"\d{4}-\d{2}", str(value))
        return found.group() if found else None
    if words.startswith("text"):
        return (
            str(value[0])
            if isinstance(value, list) and value
            else None
            if isinstance(value, list | dict)
            else str(value)
        )
    return value


def _number(value: Any, *, whole: bool) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if number.is_integer() or whole else number


def in_words(data: Mapping[str, Any]) -> str:
    """The data as a sentence."""
    parts = []
    for name, value in data.items():
        shown = ", ".join(map(str, value)) or "none" if isinstance(value, list) else value
        parts.append(f"{name.replace('_', ' ')}: {shown}")
    return f"{'; '.join(parts)}." if parts else ""
