"""Reading bounded request bodies and writing JSON answers, at the level of ASGI messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pydantic_core
from starlette.types import Receive, Scope, Send

from gauntlet_runtime.gateway.errors import ApiError

HELD_BYTES: Final = 512 << 20  # that requests under way may take in memory, read as JSON: a gateway has 2 GiB
_VALUE_BYTES: Final = 128  # of each value that JSON becomes, about; its marks may be three bytes


class BodyRoom:
    """The memory for the bodies that are being handled: a MiB of brackets takes fifty once it is read."""

    def __init__(self, most: int = HELD_BYTES) -> None:
        self._most = most
        self._held = 0

    @contextmanager
    def held(self, body: bytes) -> Iterator[None]:
        """Hold a body inside the block; one alone may be as large as it is.

        Raises:
            ApiError: 503, there is no room for it at the moment.
        """
        size = len(body) + _VALUE_BYTES * sum(body.count(mark) for mark in (b"[", b"{", b","))
        if self._held and self._held + size > self._most:
            raise ApiError(503, "too_many_requests", "The requests under way are too large together.", retry_after=1.0)
        self._held += size
        try:
            yield
        finally:
            self._held -= size


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
