"""An episode's tools as a Model Context Protocol server over streamable HTTP.

The SDK's server answers everything: both handshakes, listing, errors, versions. One kind of request, ``tools/call``,
is most of the traffic; a well-formed one is answered here, because a transport, a dispatcher and three validations
for each call cost the agent twice what the call itself does. Whatever is not plainly well-formed goes to the SDK.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import pydantic_core
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp_types import (
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive, Scope, Send

from gauntlet_runtime.gateway.actions import Actions
from gauntlet_runtime.gateway.bodies import BodyRoom, read_body, send_json
from gauntlet_runtime.gateway.environment import visible
from gauntlet_runtime.gateway.episode import Episode
from gauntlet_runtime.gateway.errors import ApiError

BODY_BYTES: Final = 1 << 20
_EPISODE: Final = "gauntlet.episode"
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_SERVER_ERROR: Final = -32000
_PLAIN_PARAMS: Final = frozenset({"name", "arguments", "_meta"})


class ToolDoor:
    """``/episodes/{id}/mcp`` for every episode of a job."""

    def __init__(self, actions: Actions, room: BodyRoom) -> None:
        self._actions = actions
        self._room = room
        self._server: Server[dict[str, Any]] = Server(
            "gauntlet", version="1", on_list_tools=self._list_tools, on_call_tool=self._call_tool
        )
        self._server.middleware.clear()  # OpenTelemetry spans that nobody collects
        self._manager = StreamableHTTPSessionManager(self._server, stateless=True, json_response=True)
        self._stamp = {SERVER_INFO_META_KEY: {"name": "gauntlet", "version": "1"}}

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve inside this context; once."""
        return self._manager.run()

    async def __call__(self, episode: Episode, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request about this episode's tools."""
        if scope["method"] != "POST":
            # Replies are JSON, never a stream, and there is no session to end.
            await send_json(send, 405, _error(None, _INVALID_REQUEST, "POST one JSON-RPC message."), allow=b"POST")
            return
        unfit = _unfit_headers(scope)
        if unfit is not None:
            self._actions.malformed(episode)
            await send_json(send, unfit.status, {**_error(None, _INVALID_REQUEST, unfit.message), **unfit.body()})
            return
        try:
            body = await read_body(scope, receive, BODY_BYTES)
        except ApiError as error:
            self._actions.malformed(episode)
            await send_json(send, error.status, {**_error(None, _INVALID_REQUEST, error.message), **error.body()})
            return
        try:
            with self._room.held(body):
                await self._answer(episode, body, scope, send)
        except ApiError as error:
            self._actions.refused(episode)
            await send_json(send, error.status, episode_error(error))

    async def _answer(self, episode: Episode, body: bytes, scope: Scope, send: Send) -> None:
        try:
            request = pydantic_core.from_json(body, allow_inf_nan=False)
        except ValueError:
            self._actions.malformed(episode)
            await send_json(send, 400, _error(None, _PARSE_ERROR, "The body is not valid JSON."))
            return
        if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
            self._actions.malformed(episode)
            await send_json(
                send, 400, _error(None, _INVALID_REQUEST, "The body must be one JSON-RPC 2.0 request or notification.")
            )
            return
        modern = _plain_call(request, scope)
        if modern is None:
            await self._by_the_sdk(episode, body, scope, send)
        else:
            await self._answer_call(episode, request, modern, send)

    async def _answer_call(self, episode: Episode, request: dict[str, Any], modern: bool, send: Send) -> None:
        params = request["params"]
        try:
            result = await self._actions.call_tool(episode, params["name"], params.get("arguments") or {})
        except ApiError as error:
            await send_json(send, error.status, {**_error(request["id"], _SERVER_ERROR, error.message), **error.body()})
            return
        if modern:
            result = {**result, "resultType": "complete", "_meta": {**(result.get("_meta") or {}), **self._stamp}}
        await send_json(send, 200, {"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def _by_the_sdk(self, episode: Episode, body: bytes, scope: Scope, send: Send) -> None:
        delivered = False

        async def receive() -> Message:
            nonlocal delivered
            if delivered:
                return {"type": "http.disconnect"}
            delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in (400, 406, 415):
                self._actions.malformed(episode)
            await send(message)

        await self._manager.handle_request({**scope, _EPISODE: episode}, receive, count)

    async def _list_tools(
        self, context: ServerRequestContext[dict[str, Any]], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        episode = _episode_of(context)
        with episode.waiting():
            return ListToolsResult.model_validate({"tools": visible(await episode.link.tools())}, by_name=False)

    async def _call_tool(
        self, context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult:
        result = await self._actions.call_tool(_episode_of(context), params.name, params.arguments or {})
        return CallToolResult.model_validate(result, by_name=False)


def _episode_of(context: ServerRequestContext[dict[str, Any]]) -> Episode:
    assert context.request is not None  # noqa: S101 - every request comes in over HTTP
    episode: Episode = context.request.scope[_EPISODE]
    return episode


def _plain_call(request: dict[str, Any], scope: Scope) -> bool | None:
    """None where the SDK has to judge the request; else whether it is a well-formed call of the newer protocol."""
    if request.get("method") != "tools/call":
        return None
    identity, params = request.get("id"), request.get("params")
    if isinstance(identity, bool) or not isinstance(identity, int | str) or not isinstance(params, dict):
        return None
    if not _PLAIN_PARAMS.issuperset(params) or not isinstance(params.get("name"), str):
        return None
    if not isinstance(params.get("arguments", {}), dict):
        return None
    headers = _headers_of(scope)
    version = headers.get("mcp-protocol-version")
    if version is None or version in HANDSHAKE_PROTOCOL_VERSIONS:
        return False
    if any(name.startswith("mcp-param-") for name in headers):
        return None
    return True if isinstance(classify_inbound_request(request, headers=headers), InboundModernRoute) else None


def _headers_of(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _unfit_headers(scope: Scope) -> ApiError | None:
    """What the SDK would refuse in plain text, refused as JSON."""
    headers = _headers_of(scope)
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return ApiError(415, "unsupported_media_type", "Send JSON, with the header Content-Type: application/json.")
    if not any(kind in headers.get("accept", "") for kind in ("application/json", "application/*", "*/*")):
        return ApiError(406, "not_acceptable", "Send the header Accept: application/json, text/event-stream.")
    return None


def _error(identity: Any, code: int, message: str) -> dict[str, Any]:
    """A JSON-RPC error, so that an MCP client shows the sentence."""
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}


def episode_error(error: ApiError) -> dict[str, Any]:
    """An episode's refusal, readable both as this API's error and as JSON-RPC's."""
    return {**_error(None, _SERVER_ERROR, error.message), **error.body()}
