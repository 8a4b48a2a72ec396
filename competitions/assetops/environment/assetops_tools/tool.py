"""What a tool is: its server, its words for an agent, its arguments, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from assetops_tools.scratch import Scratch
from assetops_tools.site import Site

Answer = dict[str, Any]
#: Servers and the agents of the paper that they belong to; utilities belong to all.
SERVERS: Final[Mapping[str, str]] = {
    "iot": "IoTAgent",
    "utilities": "",
    "fmsr": "FMSRAgent",
    "tsfm": "TSFMAgent",
    "wo": "WOAgent",
}
DISTRACTORS: Final = "distractors"


@dataclass
class Episode:
    """What an open episode's tools work with; ``kept`` are things that last until it ends."""

    site: Site
    scratch: Scratch
    scenario: str = ""
    kept: dict[str, list[Answer]] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A tool as it is offered. ``answer`` raises BadArgument where it cannot answer."""

    name: str
    server: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...]
    answer: Callable[[Episode, Mapping[str, Any]], Answer]
    read_only: bool = True

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments; nothing else is taken."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


TEXT: Final = {"type": "string"}
SITE: Final = {"type": "string", "description": "name of the site, for example MAIN"}
ASSET: Final = {"type": "string", "description": "the equipment's name or identifier, for example Chiller 6"}
LIMIT: Final = {"type": "integer", "minimum": 1, "maximum": 500, "default": 50, "description": "how many to show"}
OFFSET: Final = {"type": "integer", "minimum": 0, "default": 0, "description": "how many to leave out at the start"}
PAGE: Final = {"limit": LIMIT, "offset": OFFSET}
NAMES: Final = {"type": "array", "items": {"type": "string"}}
FILE: Final = {"type": "string", "description": "name of a file, exactly as a tool gave it"}


def paged(rows: list[Answer], name: str, limit: int, offset: int) -> Answer:
    """One page of ``rows``, how many there are in all, and where the next page begins."""
    shown = rows[offset : offset + limit]
    more = offset + len(shown) < len(rows)
    return {"total": len(rows), name: shown, "next_offset": offset + len(shown) if more else None}
