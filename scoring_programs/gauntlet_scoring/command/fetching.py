"""Fetching an evaluation from the platform, with an organizer's token."""

from __future__ import annotations

import http.client
import json
import re
import shutil
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from gauntlet_scoring.command.failure import CommandFailed

_EVALUATION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_SECONDS: Final = 60.0


def is_address(value: str) -> bool:
    """Whether it is an address of a platform, and no path."""
    return value.startswith(("https://", "http://"))


def fetch(address: str, *, token: str, into: Path) -> None:
    """Save the scoring input of the evaluation that an address names.

    Redirects are not followed: the token belongs to this platform and no other.

    Raises:
        CommandFailed: the address names no evaluation, or the platform refuses it or cannot be reached.
    """
    parts = urlsplit(address)
    found = _EVALUATION.findall(parts.path)
    if not found or not parts.hostname:
        raise CommandFailed(f"{address}: names no evaluation; it ends in /evaluations/<id>")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise CommandFailed("a token is only sent over https, except to this machine")
    connection = _connection(parts)
    try:
        path = f"/api/v1/evaluations/{found[-1]}/scoring-input"
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            raise CommandFailed(_refusal(answer))
        with into.open("wb") as out:
            shutil.copyfileobj(answer, out)
    except (OSError, http.client.HTTPException) as error:
        raise CommandFailed(f"{parts.netloc}: cannot be reached ({error})") from error
    finally:
        connection.close()


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(str(parts.hostname), parts.port, timeout=_SECONDS)


def _refusal(answer: http.client.HTTPResponse) -> str:
    try:
        message = json.loads(answer.read(1 << 16)).get("message")
    except (ValueError, AttributeError):
        message = None
    return f"the platform refuses it: {message or f'status {answer.status}'}"
