"""Bodies that are too large are turned away in front of Django, which would write them to the disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gauntlet.body_limit import FORM_BYTES, limit_bodies

pytestmark = pytest.mark.security


async def _reads_all(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads its body, then answers its length."""
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message["body"])
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(length).encode()})


async def _request(path: str, chunks: list[bytes], **headers: str) -> tuple[int, bytes, int]:
    """Send a request; the status, the body, and how many chunks were taken."""
    sent: list[Mapping[str, Any]] = []
    left = list(chunks)

    async def receive() -> Mapping[str, Any]:
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await limit_bodies(_reads_all)({"type": "http", "path": path, "headers": encoded}, receive, send)
    return sent[0]["status"], sent[1]["body"], len(chunks) - len(left)


@pytest.fixture
def most(settings: Any) -> int:
    """The longest body that is taken."""
    settings.MAX_BUNDLE_BYTES = 1000
    return 1000 + FORM_BYTES


async def test_the_longest_body_passes(most: int) -> None:
    assert await _request("/", [b"x" * most], content_length=str(most)) == (200, str(most).encode(), 1)


async def test_a_declared_length_is_refused_before_a_byte_is_read(most: int) -> None:
    status, body, taken = await _request("/api/v1/x", [b"x"], content_length=str(most + 1))
    assert (status, taken) == (413, 0)
    assert json.loads(body)["code"] == "too_large"


async def test_without_a_length_it_is_refused_as_soon_as_too_much_has_come(most: int) -> None:
    status, body, taken = await _request("/x", [b"x" * (most // 2)] * 10)
    assert (status, taken) == (413, 3)
    assert b"1,000 bytes" in body


async def test_what_is_no_request_passes() -> None:
    seen = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    await limit_bodies(application)({"type": "lifespan"}, None, None)  # type: ignore[arg-type]
    assert seen == ["lifespan"]
