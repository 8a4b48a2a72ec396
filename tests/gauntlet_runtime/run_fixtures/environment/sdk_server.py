"""The environment of `server.py` on the official SDK, with the tools that one test needs."""

import asyncio
import json
from pathlib import Path

import mcp.server.stdio
import mcp_types as types
from mcp.server.lowlevel.server import Server

TOOLS = ["sites", "fail", "gauntlet_reset"]
SITES = json.loads(Path("/app/data/sites.json").read_text())


def text(value, **more):
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], **more)


async def list_tools(ctx, params):
    tools = [types.Tool(name=name, description=name, input_schema={"type": "object"}) for name in TOOLS]
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx, params):
    match params.name:
        case "gauntlet_reset":
            return text("ready")
        case "sites":
            return text(json.dumps(SITES), structured_content={"sites": SITES})
    return text("the pump is broken", is_error=True)


async def main():
    server = Server("plant", on_list_tools=list_tools, on_call_tool=call_tool)
    async with mcp.server.stdio.stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
