"""A small episode API as DESIGN 5.3 describes it, with the official MCP server side, on a real loopback socket."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

TOOLS = [
    Tool(
        name="count",
        description="How many work orders a piece of equipment has.",
        input_schema={"type": "object", "properties": {"equipment": {"type": "string"}}, "required": ["equipment"]},
        output_schema={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
    ),
    *[
        Tool(name=name, description=name, input_schema={"type": "object"})
        for name in ("names", "result_dict", "prose", "json_text", "refuse", "echo", "meet")
    ],
]


def _tool_result(name: str, arguments: dict[str, Any]) -> CallToolResult:
    def text(words: str) -> list[TextContent]:
        return [TextContent(type="text", text=words)]

    match name:
        case "count":
            found = {"count": len(arguments["equipment"])}
            return CallToolResult(content=text(json.dumps(found)), structured_content=found)
        case "names":  # a list, wrapped as the SDK's own servers wrap it
            return CallToolResult(content=text('["a", "b"]'), structured_content={"result": ["a", "b"]})
        case "result_dict":  # a dict whose only key happens to be the wrapping's
            return CallToolResult(content=text('{"result": 5}'), structured_content={"result": 5})
        case "prose":
            return CallToolResult(content=text("nothing to see"))
        case "json_text":
            return CallToolResult(content=text('{"a": [1, 2]}'))
        case "echo":
            return CallToolResult(content=text(json.dumps(arguments)), structured_content=arguments)
        case "refuse":
            return CallToolResult(content=text("no such equipment"), is_error=True)
        case _:
            return CallToolResult(content=text(f"Unknown tool: {name}"), is_error=True)


@dataclass
class EpisodeServer:
    """What the test asks the server to do, and what the server saw."""

    scenarios: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)  # (path's end, status, body)
    seen: list[tuple[str, str, Any]] = field(default_factory=list)  # (method, path, body)
    keys: list[str | None] = field(default_factory=list)  # Idempotency-Key of POST /episodes
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)
    meeting: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))
    end_in_call: bool = False  # the next tool call finds the episode over
    url: str = ""

    def bodies(self, tail: str) -> list[Any]:
        """The bodies of all requests whose path ends with ``tail``."""
        return [body for _, path, body in self.seen if path.endswith(tail)]


def _problem(status: int, code: str, message: str, **more: Any) -> JSONResponse:
    return JSONResponse({"code": code, "message": message, **more}, status_code=status)


def _application(state: EpisodeServer, *, stateless: bool) -> Starlette:
    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=TOOLS)

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        import anyio

        episode = context.request.scope["episode"]
        state.calls.append((episode, params.name, dict(params.arguments or {})))
        if params.name == "meet":  # answers only when two calls are there at the same time
            await anyio.to_thread.run_sync(lambda: state.meeting.wait(20))
            return CallToolResult(content=[TextContent(type="text", text="met")])
        return _tool_result(params.name, dict(params.arguments or {}))

    manager = StreamableHTTPSessionManager(
        Server("episode", on_list_tools=list_tools, on_call_tool=call_tool), json_response=True, stateless=stateless
    )

    async def open_episode(request: Request) -> Response:
        key = request.headers.get("idempotency-key")
        state.keys.append(key)
        if key in state.given:
            return JSONResponse(state.given[key])
        if not state.scenarios:
            return Response(status_code=204)
        scenario = state.scenarios.pop(0)
        episode = f"e{len(state.given) + 1}"
        opened = {
            "id": episode,
            "scenario": scenario,
            "messages": [{"role": "user", "text": scenario["text"]}],
            "deadline": (datetime.now(UTC) + timedelta(seconds=60)).isoformat(),
            "seconds_left": 60.0,
            "budget": {"turns": 60, "tool_calls": 50},
        }
        state.given[key or episode] = opened
        state.open.append(episode)
        return JSONResponse(opened, status_code=201)

    async def list_episodes(_request: Request) -> Response:
        return JSONResponse({"episodes": [{"id": episode} for episode in state.open]})

    async def act(request: Request) -> Response:
        episode, action = request.path_params["episode"], request.path_params["action"]
        if episode not in state.open:
            return _problem(410, "episode_closed", "This episode is over.")
        body = json.loads(await request.body())
        if action == "answer":
            state.answers[episode] = body
            state.open.remove(episode)
        if action == "messages":
            return JSONResponse({"reply": f"you said {body['text']}", "done": True, "seconds_left": 12.5})
        return JSONResponse({"budget": {"turns": 59, "tool_calls": 50}})

    async def tools(scope: Scope, receive: Receive, send: Send) -> None:
        episode = scope["path"].split("/")[2]
        if state.end_in_call and episode in state.open and state.calls:
            state.open.remove(episode)
        if episode not in state.open:
            await _problem(410, "episode_closed", "This episode is over.")(scope, receive, send)
            return
        scope["episode"] = episode
        await manager.handle_request(scope, receive, send)

    async def respond(request: Request) -> Response:
        """Note the request; refuse where the test asked for it, else pass it on."""
        raw = await request.body()
        state.seen.append((request.method, request.url.path, json.loads(raw) if raw else None))
        assert request.client is not None
        state.connections.add((request.client.host, request.client.port))
        for refusal in state.refusals:
            if request.url.path.endswith(refusal[0]):
                state.refusals.remove(refusal)
                return JSONResponse(refusal[2], status_code=refusal[1])
        if "action" in request.path_params:
            return await act(request)
        return await (open_episode(request) if request.method == "POST" else list_episodes(request))

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    class Tools:
        """The same for MCP, which speaks ASGI and not requests and responses."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await tools(scope, receive, send)

    return Starlette(
        routes=[
            Route("/episodes", respond, methods=["POST", "GET"]),
            Route("/episodes/{episode}/mcp", Tools()),
            Route("/episodes/{episode}/{action:str}", respond, methods=["POST", "PUT"]),
        ],
        lifespan=lifespan,
    )


class Listening:
    """An ASGI application on a loopback port, in a thread."""

    def __init__(self, app: Any) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def __enter__(self) -> Listening:
        self._socket.listen()  # from here on a client's connection waits in the queue: no need to wait for the server
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()


@pytest.fixture
def listening() -> type[Listening]:
    """Serve an ASGI application on loopback: ``with listening(app) as server: server.url``."""
    return Listening


@pytest.fixture(params=["stateless", "stateful"])
def episodes(request: pytest.FixtureRequest) -> Iterator[EpisodeServer]:
    """The episode API with one scenario, once with and once without MCP sessions on the server's side."""
    state = EpisodeServer(scenarios=[{"id": "s1", "text": "How many pumps?", "show": {"unit": "pumps"}}])
    with Listening(_application(state, stateless=request.param == "stateless")) as server:
        state.url = server.url
        yield state
