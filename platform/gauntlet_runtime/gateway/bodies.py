"""Reading bounded request bodies and writing JSON answers, at the level of ASGI messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pydantic_core
from starlette.types import Receive, Scope, Send

from gauntlet_runtime.gateway.errors import ApiError


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body.

    Raises:
        ApiError: 413, it is larger than ``limit`` bytes; 400, the client hung up in the middle.
    """
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > limit:
            raise too_large(limit)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ApiError(400, "incomplete_body", "The connection closed before the body was complete.")
        body += message.get("body", b"")
        if len(body) > limit:
            raise too_large(limit)
        if not message.get("more_body", False):
            return bytes(body)


def too_large(limit: int) -> ApiError:
    """The refusal of a body that is too large."""
    return ApiError(413, "too_large", f"A request body of this kind may have {limit} bytes.")


async def send_json(send: Send, status: int, body: Mapping[str, Any] | None, *, allow: bytes | None = None) -> None:
    """Answer with JSON, or with nothing where ``body`` is None."""
    content = b"" if body is None else pydantic_core.to_json(body, inf_nan_mode="null")
    headers = [(b"content-length", str(len(content)).encode())]
    if body is not None:
        headers.append((b"content-type", b"application/json"))
    if allow is not None:
        headers.append((b"allow", allow))
    retry_after = body.get("retry_after") if body is not None else None
    if retry_after is not None:
        headers.append((b"retry-after", str(max(1, round(retry_after))).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})
