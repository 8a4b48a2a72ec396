"""A limit on the bodies of requests, in front of Django: its ASGI handler writes a body to the disk before any view."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig

Message = Mapping[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

FORM_BYTES: Final = 1 << 20  # what a form takes beside its file: boundaries, part headers, a name


class BodyTooLarge(RequestDataTooBig):
    """The same refusal inside Django; its text is a sentence for the sender."""


class _TooLarge(Exception):
    """More came than is taken; raised into the application while it reads, and caught around it."""


def sentence() -> str:
    """What the sender of too large a request reads."""
    most = settings.MAX_BUNDLE_BYTES
    return f"The upload is larger than the {most:,} bytes that are taken. Leave out what is not needed."


def limit_bodies(application: Application) -> Application:
    """Answer 413 to a request whose declared, or real, length is more than any upload may have.

    By the declared length before a byte is read; without one, as soon as too much has come.
    """

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        most = settings.MAX_BUNDLE_BYTES + FORM_BYTES
        if _declared(scope) > most:
            await refuse(scope, send, status=413, code="too_large", message=sentence())
            return
        try:
            await application(scope, _counted(receive, most), send)
        except _TooLarge:
            await refuse(scope, send, status=413, code="too_large", message=sentence())

    return limited


def _declared(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0


def _counted(receive: Receive, most: int) -> Receive:
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise _TooLarge
        return message

    return counted


async def refuse(scope: Scope, send: Send, *, status: int, code: str, message: str) -> None:
    """Answer in front of Django: as the API does below its address, else as plain text."""
    if scope["path"].startswith("/api/"):
        kind, body = b"application/json", json.dumps({"code": code, "message": message}).encode()
    else:
        kind, body = b"text/plain; charset=utf-8", message.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
