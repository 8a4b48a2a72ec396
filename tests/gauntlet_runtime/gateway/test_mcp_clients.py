"""The official SDK's client against the gateway: both doors, both handshakes, the fast path and the SDK's."""

from __future__ import annotations

import pytest

from gauntlet_scoring.trajectory import Outcome

CLIENT = """
import asyncio, os, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(door, mode):
    e = next_episode()
    path = f"/episodes/{e['id']}/mcp"
    if door == "unix":
        http = httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(uds=os.environ["GAUNTLET_SOCKET"]), timeout=30)
        server = streamable_http_client("http://gauntlet" + path, http_client=http)
    else:
        server = os.environ["GAUNTLET_URL"] + path
    async with Client(server, mode=mode) as client:
        say(client.protocol_version)
        say(sorted(tool.name for tool in (await client.list_tools()).tools))
        result = await client.call_tool("sites", {})
        say(result.structured_content, result.is_error)
        result = await client.call_tool("fail", {})
        say(result.content[0].text, result.is_error)
        result = await client.call_tool("no_such_tool", {"a": 1})
        say(result.content[0].text, result.is_error)
        result = await client.call_tool("sites", {}, meta={"progressToken": "t"})
        say(result.structured_content)
    say(answer(e)[0])
"""


@pytest.mark.parametrize(
    ("server", "door", "mode"),
    [
        ("sdk_server.py", "tcp", "auto"),
        ("server.py", "tcp", "legacy"),
        ("server.py", "unix", "auto"),
        ("server.py", "unix", "legacy"),
    ],
)
def test_the_sdks_client_works_through_both_doors(room, server, door, mode):
    outcome = room.agent(f"{CLIENT}\nasyncio.run(main({door!r}, {mode!r}))", server=server)
    version, tools, sites, sites_error, failed, failed_error, unknown, unknown_error, again, closed = outcome.said
    assert version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
    assert {"sites", "fail"}.issubset(tools)
    assert not any(name.startswith("gauntlet_") for name in tools)
    assert (sites, sites_error) == ({"sites": ["north", "south"]}, False)
    assert (failed, failed_error) == ("the pump is broken", True)
    assert (unknown, unknown_error) == ("Unknown tool: no_such_tool", True)
    assert again == sites
    assert closed == 200
    assert outcome.episodes[0].outcome is Outcome.ANSWERED
    assert outcome.episodes[0].tool_calls == 4


def test_the_fast_path_and_the_sdk_answer_alike(room):
    outcome = room.agent("""
e = next_episode()
fast = tool(e, "deep")
slow = rpc(e, "tools/call", {"name": "deep", "arguments": {}, "task": None})
say(fast[0], slow[0], fast[1]["result"]["structuredContent"], slow[1]["result"]["structuredContent"])
say(rpc(e, "ping")[1]["result"], rpc(e, "resources/list")[1]["error"]["code"])
say(*(rpc(e, "tools/call", params)[1]["error"]["code"] for params in ({}, {"name": "deep", "arguments": 5})))
say(ask("POST", f"/episodes/{e['id']}/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}))
say(ask("GET", f"/episodes/{e['id']}/mcp")[0], ask("DELETE", f"/episodes/{e['id']}/mcp")[0])
answer(e)
""")
    deep = {"a": [{"b": [1, 2.5, None, True, "\u2028"]}]}
    assert outcome.said == [200, 200, deep, deep, {}, -32601, -32602, -32602, [202, None], 405, 405]


def test_a_request_without_the_right_headers_is_told_so_in_json(room):
    outcome = room.agent("""
e = next_episode()
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
for headers in ({"Content-Type": "text/plain"}, {"Accept": "text/html"}):
    status, answer_body = raw("POST", f"/episodes/{e['id']}/mcp", body, **headers)
    say(status, answer_body["code"], answer_body["error"]["message"] == answer_body["message"])
answer(e)
""")
    assert outcome.said == [415, "unsupported_media_type", True, 406, "not_acceptable", True]


def test_an_mcp_client_is_told_the_sentence_when_its_episode_is_over(room):
    outcome = room.agent("""
import asyncio
from mcp import Client, MCPError

async def main():
    e = next_episode()
    async with Client(os.environ["GAUNTLET_URL"] + f"/episodes/{e['id']}/mcp") as client:
        answer(e)
        try:
            await client.call_tool("sites", {})
        except MCPError as error:
            say(error.message)
asyncio.run(main())
""")
    assert outcome.said == ["This episode was answered already; the first answer counts."]
