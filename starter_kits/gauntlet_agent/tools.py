"""The scenario's tools: an MCP session that synchronous code can use.

The official SDK is asynchronous and costs about 0.5 s to import, so it is imported in the background and runs
in one background thread for the whole process. One session serves one episode; calls may come from several threads.
"""

from __future__ import annotations

import importlib
import json
import os
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gauntlet_agent.errors import GatewayError, GatewayUnreachable, ToolError, refusal

if TYPE_CHECKING:
    import asyncio

    import httpx2
    from mcp import Client
    from mcp.types import CallToolResult

T = TypeVar("T")
_CONNECT_SECONDS: Final = 30.0


def load_client_early() -> None:
    """Begin to import the MCP client in a thread of its own, while the program waits for its first episode.

    The import takes most of a second, which the first tool call would otherwise spend on the episode's clock.
    """
    threading.Thread(target=importlib.import_module, args=("mcp",), name="mcp-import", daemon=True).start()


@dataclass(frozen=True)
class Tool:
    """A tool that the scenario offers.

    Attributes:
        name: what :meth:`Episode.call` takes
        description: the organizer's words, for a language model to read
        input_schema: JSON Schema of the arguments
    """

    name: str
    description: str
    input_schema: dict[str, Any]


class _Background:
    """An event loop in a daemon thread, so that an agent that crashes is not kept alive by it."""

    def __init__(self) -> None:
        import asyncio

        self.process = os.getpid()
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._http: httpx2.AsyncClient | None = None
        threading.Thread(target=self.loop.run_forever, name="gauntlet-tools", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        import asyncio

        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def http_client(self) -> httpx2.AsyncClient:
        """Return the client that all sessions share; called in the loop only.

        The environment is not consulted: a proxy or certificate variable that an image carries must not come between
        an agent and its gateway.
        """
        if self._http is None:
            import ssl

            import httpx2

            # The address is plain http; an empty context saves reading the certificates of the system.
            self._http = httpx2.AsyncClient(
                trust_env=False,
                verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
            )
        return self._http


_background: _Background | None = None
_starting = threading.Lock()


def _get_background() -> _Background:
    global _background
    with _starting:
        if _background is None or _background.process != os.getpid():  # a forked child has no copy of the thread
            _background = _Background()
        return _background


class ToolSession:
    """The MCP session of one episode. Made without a connection; the first use opens it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opening = threading.Lock()
        self._client: Client | None = None
        self._process = 0
        self._stop: asyncio.Event | None = None
        self._tools: list[Tool] | None = None

    def offered(self) -> list[Tool]:
        """Return the tools, asked for once.

        Raises:
            ToolError, GatewayError, GatewayUnreachable
        """
        if self._tools is None:
            self._tools = self._run(_list_tools(self._opened()))
        return list(self._tools)

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool and return what it gave; see :func:`content`.

        Raises:
            ToolError: the tool, or the gateway in its name, reports an error
            GatewayError, GatewayUnreachable
        """
        result = self._run(_call_tool(self._opened(), name, arguments))
        if result.is_error:
            raise ToolError(_text(result) or f"The tool {name!r} failed without a word.")
        return content(result)

    def close(self) -> None:
        """Let the connection go, without waiting for it."""
        if self._stop is not None and self._process == os.getpid():
            _get_background().loop.call_soon_threadsafe(self._stop.set)
        self._client = self._stop = None

    def _opened(self) -> Client:
        with self._opening:
            if self._client is None or self._process != os.getpid():
                self._client, self._stop = self._run(self._open())
                self._process = os.getpid()
            return self._client

    async def _open(self) -> tuple[Client, asyncio.Event]:
        """Enter the client in a task of its own: it has to be left by the task that entered it."""
        import asyncio

        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        stop = asyncio.Event()
        task = asyncio.create_task(self._hold(ready, stop))
        _held.add(task)
        task.add_done_callback(_held.discard)
        return await ready, stop

    async def _hold(self, ready: asyncio.Future[Client], stop: asyncio.Event) -> None:
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        # The session ends with the episode, which the gateway knows best: no request is spent on saying so.
        transport = streamable_http_client(
            self._url, http_client=_get_background().http_client(), terminate_on_close=False
        )
        try:
            async with Client(transport) as client:
                ready.set_result(client)
                await stop.wait()
        except BaseException as error:  # noqa: BLE001  whatever it is belongs to the thread that waits for it
            if not ready.done():
                ready.set_exception(_innermost(error))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the background loop and speak of what goes wrong in this library's words."""
        try:
            return _get_background().run(work)
        except Exception as error:
            raise _translated(error, url=self._url) from error


_held: set[asyncio.Task[None]] = set()  # a loop keeps only weak references to its tasks


async def _list_tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += [
            Tool(name=tool.name, description=tool.description or "", input_schema=dict(tool.input_schema))
            for tool in page.tools
        ]
        cursor = page.next_cursor
        if not cursor:
            return tools


async def _call_tool(client: Client, name: str, arguments: dict[str, Any]) -> CallToolResult:
    return await client.call_tool(name, arguments)


def content(result: CallToolResult) -> Any:
    """Return what a tool gave: its structured content; without any, its text read as JSON; else the text.

    The SDK's servers wrap a list or a scalar as ``{"result": ...}``; the wrapping is taken off again, which the text
    beside it gives away (it holds the bare value).
    """
    text = _text(result)
    structured = result.structured_content
    if structured is None:
        if text or not result.content:
            return _parsed(text)
        return [part.model_dump(mode="json") for part in result.content]  # pictures and the like
    if isinstance(structured, dict) and set(structured) == {"result"} and _parsed(text) != structured:
        return structured["result"]
    return structured


def _text(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _innermost(error: BaseException) -> BaseException:
    """Dig the one cause out of the groups that task groups wrap around it."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _translated(error: Exception, *, url: str) -> Exception:
    import httpx2
    from mcp import MCPError

    if isinstance(error, MCPError):
        data = error.error.data
        if isinstance(data, dict) and isinstance(data.get("code"), str):
            known: GatewayError = refusal(int(data.get("status") or 0), {"message": error.error.message, **data})
            return known
        return ToolError(error.error.message)
    if isinstance(error, httpx2.HTTPError):
        return GatewayUnreachable(f"The tools at {url} cannot be reached ({error or type(error).__name__}).")
    if isinstance(error, RuntimeError):  # the SDK's word for a result that breaks the tool's own output schema
        return ToolError(str(error))
    return error
