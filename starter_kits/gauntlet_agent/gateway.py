"""The episode API of the gateway, over plain HTTP.

Only the standard library is used, because an agent pays for every import inside its sandbox, once a start:
``http.client`` costs about 30 ms, ``httpx`` about 200.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections import deque
from collections.abc import Mapping
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Final
from urllib.parse import urlsplit

from gauntlet_agent.errors import GatewayUnreachable, GauntletError, NoGateway, refusal

URL_VARIABLE: Final = "GAUNTLET_URL"
_READ_SECONDS: Final = 900.0  # a gateway that is silent for longer is gone; it ends episodes itself long before
_RETRIES: Final = 20  # of a request that the gateway put off; opening an episode is asked for without end
_PAUSE_SECONDS: Final = (0.05, 30.0)  # bounds of one wait, whatever retry_after says


def gateway_url(url: str | None = None) -> str:
    """Return the gateway's address: the one given, or what the sandbox put into ``GAUNTLET_URL``.

    Raises:
        NoGateway: neither is there, or it is not an ``http://`` address.
    """
    found = url or os.environ.get(URL_VARIABLE, "")
    if not found:
        raise NoGateway(
            f"{URL_VARIABLE} is not set, so there is no gateway to get scenarios from. "
            "Run your agent with `gauntlet test` (in the folder that holds agent.yaml) instead of starting it directly."
        )
    if urlsplit(found).scheme != "http" or not urlsplit(found).hostname:
        raise NoGateway(f"{URL_VARIABLE} is {found!r}, which is not an address like http://127.0.0.1:8080.")
    return found.rstrip("/")


def to_json(value: Any, *, what: str) -> bytes:
    """Encode for the gateway, with the types that data work brings along (dates, sets, decimals, numpy scalars).

    Raises:
        GauntletError: ``value`` holds something that JSON has no word for, such as NaN.
    """
    try:
        return json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise GauntletError(f"{what} cannot be sent as JSON: {error}.") from error


def _plain(value: Any) -> Any:
    if hasattr(value, "isoformat"):  # dates, times, pandas timestamps
        return value.isoformat()
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if hasattr(value, "__float__"):  # Decimal, Fraction
        return float(value)
    raise TypeError(f"{type(value).__name__} is not a JSON type")


class Gateway:
    """A few kept connections to the gateway. Safe to use from several threads."""

    def __init__(self, url: str | None = None) -> None:
        self.url = gateway_url(url)
        parts = urlsplit(self.url)
        self._host = parts.hostname or ""
        self._port = parts.port or 80
        self._base = parts.path
        self._idle: deque[HTTPConnection] = deque()
        self._process = os.getpid()

    def request(
        self, method: str, path: str, body: Any = None, *, key: str | None = None, patient: bool = False
    ) -> tuple[int, Any]:
        """Send one request and return the status and the decoded JSON body (None where there is none).

        An answer of 429 or 503 that names ``retry_after`` was not carried out, so it is asked again.

        Args:
            key: an Idempotency-Key; such a request is sent again when the connection broke
            patient: ask again without end, also where ``retry_after`` is missing (opening an episode)

        Raises:
            GatewayError: the gateway refused; the class says why
            GatewayUnreachable: there is no answer
        """
        payload = None if body is None else to_json(body, what="The request")
        tries = 0
        while True:
            status, answer = self._send(method, path, payload, key=key)
            if status < 400:
                return status, answer
            error = refusal(status, answer)
            pause = error.retry_after if error.retry_after is not None else (1.0 if patient else None)
            tries += 1
            if status not in (429, 503) or pause is None or (tries > _RETRIES and not patient):
                raise error
            time.sleep(min(max(pause, _PAUSE_SECONDS[0]), _PAUSE_SECONDS[1]))

    def _send(self, method: str, path: str, payload: bytes | None, *, key: str | None) -> tuple[int, Any]:
        headers = {"Accept": "application/json", "Host": f"{self._host}:{self._port}"}
        if payload is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        connection = self._connection()
        try:
            try:
                response = _exchange(connection, method, self._base + path, payload=payload, headers=headers)
            except (ConnectionError, BadStatusLine):
                connection.close()
                if key is None and method == "POST":  # it may have been carried out: sending it again could do it twice
                    raise
                response = _exchange(connection, method, self._base + path, payload=payload, headers=headers)
            raw = response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            raise GatewayUnreachable(
                f"The gateway at {self.url} does not answer ({error or type(error).__name__})."
            ) from error
        self._idle.append(connection)
        return response.status, _decoded(raw)

    def _connection(self) -> HTTPConnection:
        """Take a kept connection that the gateway has not closed meanwhile, or make one."""
        if self._process != os.getpid():  # a forked child must not speak into its parent's connections
            self._idle, self._process = deque(), os.getpid()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return HTTPConnection(self._host, self._port, timeout=_READ_SECONDS)
            if connection.sock is not None and not _is_readable(connection.sock):
                return connection
            connection.close()  # readable without a question asked: that is the end of the stream


def _is_readable(connection: socket.socket) -> bool:
    poll = select.poll()  # and not select, which knows the first 1024 descriptors only
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def _exchange(
    connection: HTTPConnection, method: str, target: str, *, payload: bytes | None, headers: dict[str, str]
) -> HTTPResponse:
    connection.request(method, target, body=payload, headers=headers)
    return connection.getresponse()


def _decoded(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")
