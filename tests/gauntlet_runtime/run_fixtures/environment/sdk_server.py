"""A small environment: two parts of a plant and a user, and a few tools that misbehave when they are told to."""

import asyncio
import json
import os
import sys
from pathlib import Path

import mcp.server.stdio
import mcp_types as types
from mcp.server.lowlevel.server import Server

STATE = {"scenario": None, "seed": None, "calls": 0, "resets": 0}


def schema(**properties):
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in properties.items()}}


TOOLS = {
    "sites": schema(),
    "echo": schema(text="string"),
    "large": schema(bytes="integer"),
    "fail": schema(),
    "slow": schema(seconds="number"),
    "die": schema(),
    "die_once": schema(marker="string"),
    "nonsense": schema(),
    "gauntlet_reset": schema(scenario="string", seed="integer"),
    "gauntlet_user": schema(message="string"),
    "gauntlet_state": schema(),
}


def text(value, **more):
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], **more)


def structured(value):
    return text(json.dumps(value), structured_content=value)


async def list_tools(ctx, params):
    return types.ListToolsResult(
        tools=[types.Tool(name=name, description=f"the tool {name}", input_schema=TOOLS[name]) for name in TOOLS]
    )


async def call_tool(ctx, params):
    arguments = params.arguments or {}
    match params.name:
        case "gauntlet_reset":
            if arguments["scenario"] == "cannot-reset":
                return text("no such scenario", is_error=True)
            if arguments["scenario"] == "dies-in-reset":
                os._exit(3)
            STATE.update(scenario=arguments["scenario"], seed=arguments["seed"], calls=0, resets=STATE["resets"] + 1)
            return structured({"ok": True})
        case "gauntlet_user":
            if arguments["message"] == "die":
                os._exit(3)
            return structured({"reply": f"you said: {arguments['message']}", "done": arguments["message"] == "bye"})
        case "gauntlet_state":
            if STATE["scenario"] == "dies-in-state":
                os._exit(3)
            return structured(dict(STATE))
    STATE["calls"] += 1
    match params.name:
        case "sites":
            data = Path("/app/data/sites.json")
            return structured({"sites": json.loads(data.read_text()) if data.exists() else ["main"]})
        case "echo":
            return structured({"text": arguments.get("text", "")})
        case "large":
            return text("x" * int(arguments["bytes"]))
        case "fail":
            return text("the pump is broken", is_error=True)
        case "slow":
            await asyncio.sleep(float(arguments["seconds"]))
            return text("done")
        case "die":
            os._exit(3)
        case "nonsense":
            sys.stdout.write("this is no JSON-RPC\n")
            sys.stdout.flush()
            return text("never seen")
    return text(f"unknown tool {params.name}", is_error=True)


async def main():
    if "--dead" in sys.argv:
        sys.exit("this environment never starts")
    server = Server("plant", on_list_tools=list_tools, on_call_tool=call_tool)
    async with mcp.server.stdio.stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
