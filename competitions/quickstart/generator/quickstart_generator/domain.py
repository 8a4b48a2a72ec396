"""What the plant's ground truth may name, from its environment's own descriptions: the validator asks for it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any, Final

from gauntlet_scoring.validation.vocabulary import Agent, Tool, Vocabulary

_DESCRIPTIONS: Final = Path(__file__).resolve().parents[2] / "environment" / "tool_descriptions.py"
_SHARED: Final = ("current_date_time", "list_equipment")


def plant_vocabulary() -> Vocabulary:
    """Two agents: the one of work orders and events, and the one of sensors; both know the day and the equipment."""
    described: dict[str, tuple[str, dict[str, Any]]] = runpy.run_path(str(_DESCRIPTIONS))["DESCRIPTIONS"]
    tools = {name: _tool(schema) for name, (_, schema) in described.items()}
    own = {name: tool for name, tool in tools.items() if name not in _SHARED}
    return Vocabulary(
        agents={
            "WOAgent": Agent(
                type="Workorder", server="wo", tools={name: tool for name, tool in own.items() if "sensor" not in name}
            ),
            "IoTAgent": Agent(
                type="IoT", server="iot", tools={name: tool for name, tool in own.items() if "sensor" in name}
            ),
        },
        shared={"plant": {name: tools[name] for name in _SHARED}},
    )


def _tool(schema: dict[str, Any]) -> Tool:
    required = tuple(schema["required"])
    return Tool(required=required, optional=tuple(name for name in schema["properties"] if name not in required))
