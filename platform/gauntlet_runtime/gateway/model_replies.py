"""Answers of the model door, in the shapes that clients of the models' protocol read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic_core
from starlette.types import Send

from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.upstream import RequestRefused


class ProviderError(ApiError):
    """A provider's refusal of a request, in its own words."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        super().__init__(status, str(error.get("code") or "invalid_request"), str(error.get("message") or ""))
        self.error = error


def passed_on(refused: RequestRefused) -> ProviderError:
    """What the provider says to whoever made the request."""
    body = refused.body if isinstance(refused.body, dict) else {}
    said = body.get("error")
    if not isinstance(said, dict):
        reason = next((body[name] for name in ("error", "message", "detail") if body.get(name)), None)
        said = {"message": f"The model's provider refused this request with status {refused.status}{_because(reason)}"}
    return ProviderError(refused.status, said)


def _because(reason: Any) -> str:
    """What a provider says elsewhere than in an object `error`, to end a sentence with."""
    return "." if reason is None else f": {reason if isinstance(reason, str) else to_json(reason).decode()}"


def shown(parts: list[dict[str, Any]], *, wants_usage: bool) -> list[dict[str, Any]]:
    """The parts of a stream as the agent asked for them: we always ask for the usage, not every agent does."""
    if wants_usage:
        return parts
    bare = [{name: value for name, value in part.items() if name != "usage"} for part in parts]
    return [part for part, whole in zip(bare, parts, strict=True) if part.get("choices") or not whole.get("usage")]


def to_json(value: Any) -> bytes:
    """A value as JSON."""
    return pydantic_core.to_json(value, inf_nan_mode="null")


async def send_stream(send: Send, parts: list[dict[str, Any]]) -> None:
    """Answer with server-sent events."""
    content = b"".join(b"data: " + to_json(part) + b"\n\n" for part in parts) + b"data: [DONE]\n\n"
    await send_content(send, 200, content, kind=b"text/event-stream")


async def send_error(send: Send, error: ApiError) -> None:
    """A refusal in both shapes: this API's, and the one that clients of the models' protocol read.

    Those try again by themselves unless they are told not to; only what passes is worth it.
    """
    said: Mapping[str, Any] = {"type": _type(error), "param": None, "code": error.code, "message": error.message}
    if isinstance(error, ProviderError):
        said = {**said, **error.error}
    headers = [(b"x-should-retry", b"true" if error.retry_after is not None else b"false")]
    if error.retry_after is not None:
        headers.append((b"retry-after", str(max(1, math.ceil(error.retry_after))).encode()))
    await send_content(send, error.status, to_json({**error.body(), "error": said}), headers=headers)


def _type(error: ApiError) -> str:
    if error.code == "budget_exceeded":
        return "insufficient_quota"
    if error.status == 429:
        return "rate_limit_error"
    return "server_error" if error.status >= 500 else "invalid_request_error"


async def send_content(
    send: Send,
    status: int,
    content: bytes,
    *,
    kind: bytes = b"application/json",
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Answer with these bytes."""
    sent = [(b"content-length", str(len(content)).encode()), (b"content-type", kind), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": content, "more_body": False})
