"""The site as an MCP program: `python server.py [--only SERVER]` speaks MCP over standard input and output.

The data folder is /app/data, or what GAUNTLET_DATA names. It offers the tools of five servers (iot, utilities, fmsr,
tsfm, wo) under plain names; a tool's `_meta` says whose it is and to which agent it belongs. With --only the tools of
one server alone. Two tools are for the platform and not for the agent: gauntlet_reset begins an episode, gauntlet_state
tells what was done in it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from assetops_tools.errors import BadArgument, StorageFailed
from assetops_tools.program import RESET, STATE, SiteProgram, storage_opener
from assetops_tools.tool import DISTRACTORS, SERVERS, Tool
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_RESET_SCHEMA = {
    "type": "object",
    "properties": {"scenario": {"type": "string"}, "seed": {"type": "integer"}},
    "required": ["scenario"],
}


def listed(program: SiteProgram) -> list[types.Tool]:
    """The tools, the reserved ones among them: the platform hides those from the agent."""
    return [
        *(_described(one) for one in program.tools.values()),
        types.Tool(name=RESET, description="Begin an episode.", input_schema=_RESET_SCHEMA),
        types.Tool(name=STATE, description="What the episode did so far.", input_schema={"type": "object"}),
    ]


def _described(tool: Tool) -> types.Tool:
    belongs = {"server": tool.server, "agent": SERVERS.get(tool.server, "")}
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations(
            title=f"{tool.server}: {tool.name}",
            read_only_hint=tool.read_only,
            idempotent_hint=tool.read_only,
            open_world_hint=False,
        ),
        _meta={f"gauntlet/{key}": value for key, value in belongs.items() if value},
    )


def build_server(program: SiteProgram) -> Server[Any]:
    """The MCP server around a site."""

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed(program))

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            found = program.answer(params.name, dict(params.arguments or {}))
        except BadArgument as error:
            return _refusal(str(error))
        except StorageFailed as error:
            sys.stderr.write(f"{error}\n")
            return _refusal("The records cannot be read at the moment.")
        text = json.dumps(found, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=found)

    return Server("assetops-site", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def _refusal(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


async def serve(only: str | None) -> None:
    """Answer on standard input and output until the input ends."""
    folder = Path(os.environ.get("GAUNTLET_DATA", "/app/data"))
    with tempfile.TemporaryDirectory(prefix="assetops-") as scratch:
        place = Path(scratch)
        program = SiteProgram(folder, place / "files", open_storage=storage_opener(folder, place), only=only)
        async with stdio_server() as (incoming, outgoing):
            server = build_server(program)
            await server.run(incoming, outgoing, server.create_initialization_options())


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description="Serve an AssetOps site over standard input and output.")
    parser.add_argument("--only", choices=[*SERVERS, DISTRACTORS], help="offer the tools of this server alone")
    anyio.run(serve, parser.parse_args().only)


if __name__ == "__main__":
    main()
