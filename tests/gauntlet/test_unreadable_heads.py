"""Headers whose parameters Django, or a form's parser, would stumble over: refused in front of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.core.cache import cache

pytestmark = [pytest.mark.security, pytest.mark.django_db]

FORM = "application/x-www-form-urlencoded"


async def ask(path: str, *, body: bytes = b"a=1", **headers: str) -> tuple[int, bytes]:
    """What the whole site answers."""
    from gauntlet.asgi import application

    cache.clear()  # the limit on log-ins
    sent: list[Mapping[str, Any]] = []
    came = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Mapping[str, Any]:
        if not came:
            await asyncio.Event().wait()  # nobody goes away before the answer
        return came.pop(0)

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    given = {"host": "testserver", "content-length": str(len(body)), **headers}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in given.items()],
    }
    await application(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("path", ["/accounts/login/", "/api/v1/tokens"])
@pytest.mark.parametrize(
    "content_type", ["text/plain; a*=foo''b", "text/plain; a*0=x; a*=y''z", f"{FORM};charset=utf-8;x*1*=a"]
)
async def test_a_parameter_in_pieces(path: str, content_type: str) -> None:
    status, body = await ask(path, content_type=content_type)
    assert status == 400
    assert b"The header Content-Type has a parameter that cannot be read." in body
    if path.startswith("/api/"):
        assert json.loads(body)["code"] == "invalid"


async def test_what_is_accepted_in_pieces() -> None:
    assert (await ask("/api/v1/tokens", content_type=FORM, accept="text/html; a*0=x; a*=y''z"))[0] == 400


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/api/v1/tokens", f"{FORM}; charset=punycode"),
        ("/api/v1/tokens", f'{FORM}; Charset="BASE64"'),
        ("/accounts/login/", "multipart/form-data; boundary=x; charset=base64"),
        ("/accounts/login/", f"{FORM}; charset=nothing-of-the-sort"),
    ],
)
async def test_a_charset_of_no_text(path: str, content_type: str) -> None:
    status, body = await ask(path, content_type=content_type)
    assert (status, b"UTF-8" in body) == (415, True)


@pytest.mark.parametrize("accept", ["*/*", "text/*;q=0.5, application/json", "application/json; indent=4"])
@pytest.mark.parametrize("content_type", [FORM, f"{FORM}; charset=UTF-8", f'{FORM}; charset="utf-8"'])
async def test_what_clients_send_goes_on(accept: str, content_type: str) -> None:
    status, body = await ask("/api/v1/tokens", content_type=content_type, accept=accept)
    assert status == 400
    assert json.loads(body)["code"] == "invalid"
    assert "username" in body.decode()
