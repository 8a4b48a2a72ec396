"""The gateway's side of an environment: an MCP program that serves one open episode at a time."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import mcp_types
import pydantic_core
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError

from gauntlet_runtime.gateway.errors import EnvironmentFailed
from gauntlet_runtime.gateway.pipes import open_pipes

RESERVED_PREFIX: Final = "gauntlet_"  # tools of the contract between platform and environment, never the agent's
START_SECONDS: Final = 60.0
RESET_SECONDS: Final = 60.0
_PAGES: Final = 100
_LISTINGS: Final = 20  # in a row after each of which the list had changed again
_GONE: Final = (mcp_types.CONNECTION_CLOSED, mcp_types.REQUEST_TIMEOUT)


class EnvironmentLink:
    """A running environment program. Every method but ``close`` raises EnvironmentFailed where it died or hung."""

    def __init__(self, stdin: int, stdout: int, *, call_seconds: float) -> None:
        self._call_seconds = call_seconds
        self.served = False  # it has told its tools
        self.ended = asyncio.Event()
        self._tools: list[dict[str, Any]] | None = None
        self._changes = 0
        self._listing = asyncio.Lock()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._dispatcher: JSONRPCDispatcher[TransportContext] | None = None
        self._task = asyncio.create_task(self._serve(stdin, stdout))

    async def _serve(self, stdin: int, stdout: int) -> None:
        """Hold the session open until the program ends; the SDK wants it entered and left in one task."""
        try:
            reader, writer = await open_pipes(stdin, stdout, write_seconds=self._call_seconds)
            dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(reader, writer)
            async with ClientSession(dispatcher=dispatcher, message_handler=self._on_message) as session:
                await session.initialize()
                self._dispatcher = dispatcher
                self._ready.set_result(None)
                await reader.ended.wait()
        except Exception as error:  # noqa: BLE001 - whatever the program sent, it is the program that is lost
            if not self._ready.done():
                self._ready.set_exception(EnvironmentFailed(f"it did not start ({type(error).__name__})"))
                self._ready.exception()  # may have no waiter any more
        finally:
            if not self._ready.done():
                self._ready.cancel()
            self.ended.set()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._changes += 1
            self._tools = None

    async def _request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._dispatcher is None:
            await self.started()
        assert self._dispatcher is not None  # noqa: S101 - started() raises otherwise
        try:
            return await self._dispatcher.send_raw_request(method, params, {"timeout": seconds})
        except MCPError as error:
            if error.code == mcp_types.REQUEST_TIMEOUT:
                raise EnvironmentFailed(f"it gave no answer within {seconds:.0f} seconds") from error
            if error.code in _GONE:
                raise EnvironmentFailed("it ended") from error
            raise

    async def started(self) -> None:
        """Wait until the handshake was answered."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.shield(self._ready)
        except TimeoutError:
            raise EnvironmentFailed(f"it did not start within {START_SECONDS:.0f} seconds") from None
        except asyncio.CancelledError:
            if self._ready.cancelled():
                raise EnvironmentFailed("it ended while it was starting") from None
            raise

    async def tools(self) -> list[dict[str, Any]]:
        """Every tool as the environment describes it, listed once (and again where it says that the list changed)."""
        if self._tools is None:
            async with self._listing:
                if self._tools is None:  # nobody listed them meanwhile
                    return await self._list_until_it_stays()
        return self._tools

    async def _list_until_it_stays(self) -> list[dict[str, Any]]:
        for _ in range(_LISTINGS):
            changes = self._changes
            listed = await self._list_tools()
            if changes == self._changes:  # else it changed while it was being listed
                self._tools, self.served = listed, True
                return listed
        raise EnvironmentFailed("its list of tools changes whenever it is listed")

    async def _list_tools(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            try:
                page = await self._request("tools/list", {"cursor": cursor} if cursor else {}, RESET_SECONDS)
            except MCPError as error:
                raise EnvironmentFailed("it does not list its tools") from error
            listed.extend(_sound_tools(page))
            cursor = page.get("nextCursor")
            if not cursor:
                return listed
        raise EnvironmentFailed("its list of tools does not end")

    async def call(self, tool: str, arguments: dict[str, Any], *, seconds: float | None = None) -> dict[str, Any]:
        """A tool's raw MCP result; a JSON-RPC error of the environment becomes a result that says so."""
        patience = self._call_seconds if seconds is None else seconds
        try:
            result = await self._request("tools/call", {"name": tool, "arguments": arguments}, patience)
        except MCPError as error:
            return error_result(error.message)
        if not isinstance(result.get("content"), list) or not isinstance(result.get("_meta") or {}, dict):
            raise EnvironmentFailed("it answered a tool call with something that is no result")
        return result

    async def offers(self, tool: str) -> bool:
        """Whether this tool, reserved or not, is in the list."""
        return any(offered.get("name") == tool for offered in await self.tools())

    async def reset(self, *, key: str, seed: int) -> None:
        """Put the environment into a scenario's initial state."""
        result = await self.call("gauntlet_reset", {"scenario": key, "seed": seed}, seconds=RESET_SECONDS)
        if result.get("isError"):
            raise EnvironmentFailed("it refused to set up the scenario")

    async def say(self, message: str) -> tuple[str, bool]:
        """The simulated user's reply, and whether the user is done."""
        payload = _payload(await self.call("gauntlet_user", {"message": message}))
        if not isinstance(payload, dict) or not isinstance(payload.get("reply"), str):
            raise EnvironmentFailed("its simulated user gave no reply")
        return payload["reply"], bool(payload.get("done", False))

    async def state(self) -> Any | None:
        """What ``gauntlet_state`` returns, or None where it is not offered."""
        if not await self.offers("gauntlet_state"):
            return None
        return _payload(await self.call("gauntlet_state", {}, seconds=RESET_SECONDS))

    def keeps_state(self) -> bool:
        """Whether the tools listed last include gauntlet_state; never asks the program."""
        return any(tool.get("name") == "gauntlet_state" for tool in self._tools or [])

    def close(self) -> None:
        """Let go of the program; its supervisor ends it."""
        self._task.cancel()


def _sound_tools(page: dict[str, Any]) -> list[dict[str, Any]]:
    tools = page.get("tools")
    try:
        for tool in tools if isinstance(tools, list) else []:
            mcp_types.Tool.model_validate(tool, by_name=False)
    except ValidationError as error:
        raise EnvironmentFailed("it lists a tool that is none") from error
    return tools if isinstance(tools, list) else []


def visible(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools that an agent may see and call."""
    return [tool for tool in tools if not str(tool.get("name", "")).startswith(RESERVED_PREFIX)]


def error_result(text: str) -> dict[str, Any]:
    """An MCP tool result that says what went wrong."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _payload(result: dict[str, Any]) -> Any:
    """What a reserved tool returned: its structured content, else its text, read as JSON where it is that.

    Not by Python's reader: half a character or endless depth would come out of it, which no record can hold. The SDK
    wraps whatever is no object as ``{"result": …}``.
    """
    if result.get("isError"):
        raise EnvironmentFailed("one of its reserved tools failed")
    structured = result.get("structuredContent")
    if structured is not None:
        return structured["result"] if isinstance(structured, dict) and set(structured) == {"result"} else structured
    blocks = [block for block in result["content"] if isinstance(block, dict)]
    text = "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    try:
        return pydantic_core.from_json(text)
    except ValueError:
        return text
