"""The plant as an MCP program: `python server.py` speaks MCP over standard input and output.

The data folder is /app/data, or what GAUNTLET_DATA names. Two tools are for the platform and not for the agent:
gauntlet_reset begins an episode, gauntlet_state tells what was asked in it. The records never change, so a reset has
only that count to clear.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from plant_arguments import BadArgument
from plant_records import PlantRecords
from plant_tools import ANSWERS
from tool_descriptions import DESCRIPTIONS

RESET = "gauntlet_reset"
STATE = "gauntlet_state"
_READ_ONLY = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


class PlantProgram:
    """One plant, and what the open episode asked of it."""

    def __init__(self, records: PlantRecords) -> None:
        self._records = records
        self._calls: Counter[str] = Counter()
        self._scenario: str | None = None

    def answer(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the tool answers.

        Raises:
            BadArgument: the tool or its arguments cannot be used so.
        """
        if name == RESET:
            return self._reset(arguments)
        if name == STATE:
            return {"scenario": self._scenario, "calls": dict(self._calls)}
        if name not in ANSWERS:
            raise BadArgument(f"There is no tool {name!r}.")
        self._refuse_unknown(name, arguments)
        self._calls[name] += 1
        return ANSWERS[name](self._records, arguments)

    def _reset(self, arguments: dict[str, Any]) -> dict[str, Any]:
        scenario = arguments.get("scenario")
        if not isinstance(scenario, str) or not scenario:
            raise BadArgument("scenario is required and must be text.")
        if not self._records.equipment:
            raise BadArgument("The data folder holds no records of any equipment.")
        self._scenario = scenario
        self._calls.clear()
        # Read the log now: the first question of an agent should not wait for it.
        return {"ready": True, "equipment": len(self._records.equipment), "events": len(self._records.events)}

    @staticmethod
    def _refuse_unknown(name: str, arguments: dict[str, Any]) -> None:
        known = DESCRIPTIONS[name][1]["properties"]
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            takes = ", ".join(known) or "no arguments"
            raise BadArgument(f"{name} does not take {', '.join(unknown)}; it takes {takes}.")


def tools() -> list[types.Tool]:
    """The tools, the reserved ones among them: the platform hides those from the agent."""
    offered = [
        types.Tool(name=name, description=text, input_schema=schema, annotations=_READ_ONLY)
        for name, (text, schema) in DESCRIPTIONS.items()
    ]
    reset = {
        "type": "object",
        "properties": {"scenario": {"type": "string"}, "seed": {"type": "integer"}},
        "required": ["scenario"],
    }
    return [
        *offered,
        types.Tool(name=RESET, description="Begin an episode.", input_schema=reset),
        types.Tool(name=STATE, description="What the episode asked so far.", input_schema={"type": "object"}),
    ]


def build_server(program: PlantProgram) -> Server[Any]:
    """The MCP server around a plant."""

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools())

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            found = program.answer(params.name, dict(params.arguments or {}))
        except BadArgument as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
        text = json.dumps(found, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=found)

    return Server("quickstart-plant", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve() -> None:
    """Answer on standard input and output until the input ends."""
    server = build_server(PlantProgram(PlantRecords(Path(os.environ.get("GAUNTLET_DATA", "/app/data")))))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
