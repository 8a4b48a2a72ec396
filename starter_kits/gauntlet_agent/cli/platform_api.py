"""The platform's API as `gauntlet` uses it; every way in which it can fail becomes one sentence."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from importlib import metadata
from typing import IO, Any, Final, Self
from urllib.parse import quote, urljoin

import httpx

from gauntlet_agent.cli.failure import CommandFailed, Exit

_BASE: Final = "/api/v1"
_TIMEOUT: Final = httpx.Timeout(30.0, read=60.0)
_UPLOAD_TIMEOUT: Final = httpx.Timeout(30.0, write=120.0, read=600.0)  # a large archive is checked before the answer
_STREAM_TIMEOUT: Final = httpx.Timeout(30.0, read=90.0)  # an event stream sends a sign of life more often than that
_CHUNK: Final = 1 << 16
_TUS: Final = {"Tus-Resumable": "1.0.0"}  # uploads in parts
_REFUSED: Final = (401, 403, 409, 429)


class PlatformApi:
    """A connection to one server, with or without a token. Use it as a context manager."""

    def __init__(self, server: str, token: str | None) -> None:
        self.server = server
        self.token = token
        headers = {"Accept": "application/json", "User-Agent": f"gauntlet-agent/{metadata.version('gauntlet-agent')}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(base_url=f"{server}{_BASE}", headers=headers, timeout=_TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._http.close()

    def create_token(self, *, username: str, password: str, name: str) -> dict[str, Any]:
        """Exchange a password for a token."""
        return self._object("POST", "/tokens", json={"username": username, "password": password, "name": name})

    def revoke_token(self) -> None:
        """End the token that this connection uses."""
        self._send("DELETE", "/tokens/current")

    def me(self) -> dict[str, Any]:
        """Who the token belongs to."""
        return self._object("GET", "/me")

    def competitions(self) -> Iterator[dict[str, Any]]:
        """Every competition that this person may see."""
        return self._pages("/competitions")

    def competition(self, slug: str) -> dict[str, Any]:
        """One competition with its phases and what is left of their quotas."""
        return self._object("GET", f"/competitions/{_word(slug)}")

    def submissions(self, slug: str | None) -> Iterator[dict[str, Any]]:
        """One's own submissions, newest first."""
        return self._pages("/submissions", params={"competition": slug} if slug else None)

    def submission(self, submission: str) -> dict[str, Any]:
        """One submission with its evaluations and scores."""
        return self._object("GET", f"/submissions/{_word(submission)}")

    def cancel(self, submission: str) -> None:
        """End a submission's evaluations at once, for good."""
        self._send("POST", f"/submissions/{_word(submission)}/cancel")

    def log(self, submission: str) -> str:
        """What the agent printed, where the phase shows it."""
        return self._send("GET", f"/submissions/{_word(submission)}/log", headers={"Accept": "text/plain"}).text

    def leaderboard(self, slug: str, phase: int) -> dict[str, Any]:
        """A phase's leaderboard."""
        return self._object("GET", f"/competitions/{_word(slug)}/phases/{phase}/leaderboard")

    def leaderboard_csv(self, slug: str, phase: int) -> str:
        """The same as CSV."""
        path = f"/competitions/{_word(slug)}/phases/{phase}/leaderboard.csv"
        return self._send("GET", path, headers={"Accept": "text/csv"}).text

    def submit(
        self, slug: str, phase: int, *, bundle: IO[bytes], file_name: str, name: str | None, key: str
    ) -> tuple[dict[str, Any], bool]:
        """Upload a bundle; return the submission, and whether an earlier request with this key had made it.

        The file is read while it is sent and never held in memory.
        """
        response = self._send(
            "POST",
            f"/competitions/{_word(slug)}/phases/{phase}/submissions",
            files={"bundle": (file_name, bundle, "application/zip")},
            data={"name": name} if name else None,
            headers={"Idempotency-Key": key},
            timeout=_UPLOAD_TIMEOUT,
        )
        return self._body_of(response), response.status_code == HTTPStatus.OK

    def submit_sent(self, slug: str, phase: int, *, upload: str, name: str | None) -> tuple[dict[str, Any], bool]:
        """Submit a file that was sent in parts; return the submission, and whether an earlier request had made it."""
        path = f"/competitions/{_word(slug)}/phases/{phase}/submissions"
        fields = {"upload": (None, upload), **({"name": (None, name)} if name else {})}
        response = self._send("POST", path, files=fields, timeout=_UPLOAD_TIMEOUT)
        return self._body_of(response), response.status_code == HTTPStatus.OK

    def begin_upload(self, *, length: int, file_name: str) -> str:
        """Begin to send a file in parts; return the upload's id."""
        named = f"filename {base64.b64encode(file_name.encode()).decode()}"
        headers = {**_TUS, "Upload-Length": str(length), "Upload-Metadata": named}
        response = self._send("POST", "/uploads", headers=headers)
        return self._header(response, "Location").rstrip("/").rpartition("/")[2]

    def upload_offset(self, upload: str) -> int:
        """How many bytes of an upload have arrived."""
        return self._number(self._send("HEAD", f"/uploads/{_word(upload)}", headers=_TUS), "Upload-Offset")

    def delete_upload(self, upload: str) -> None:
        """Forget an upload that is not wanted any more."""
        self._send("DELETE", f"/uploads/{_word(upload)}", headers=_TUS)

    def send_part(self, upload: str, file: IO[bytes], *, offset: int, most: int) -> int:
        """Send at most ``most`` bytes of a file from ``offset`` on; return how many have arrived.

        They are read twice, for their checksum and while they are sent, and never held in memory as a whole.
        """
        digest, length = hashlib.sha256(), 0
        for chunk in _read(file, offset=offset, most=most):
            digest.update(chunk)
            length += len(chunk)
        headers = {**_TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset)}
        headers["Upload-Checksum"] = f"sha256 {base64.b64encode(digest.digest()).decode()}"
        headers["Content-Length"] = str(length)
        path, content = f"/uploads/{_word(upload)}", _read(file, offset=offset, most=length)
        response = self._send("PATCH", path, content=content, headers=headers, timeout=_UPLOAD_TIMEOUT)
        return self._number(response, "Upload-Offset")

    def _number(self, response: httpx.Response, header: str) -> int:
        text = self._header(response, header)
        return int(text) if text.isascii() and text.isdigit() else 0

    def _header(self, response: httpx.Response, header: str) -> str:
        if header not in response.headers:
            message = f"{self.server} does not answer like a Gauntlet server. Is the address right?"
            raise CommandFailed(message, code=Exit.UNREACHABLE)
        return str(response.headers[header])

    def download_kit(self, slug: str, phase: int, *, into: IO[bytes]) -> None:
        """Write the zip of a phase's public data into a file."""
        with self._talking(), self._http.stream("GET", f"/competitions/{_word(slug)}/phases/{phase}/kit") as response:
            self._check(response)
            for chunk in response.iter_bytes(1 << 20):
                into.write(chunk)

    def events(self, submission: str) -> Iterator[dict[str, Any]]:
        """Yield the submission each time that it changes, until the server ends the stream.

        Raises:
            httpx.HTTPError, CommandFailed: there is no such stream, or it broke; polling is the way out.
        """
        headers = {"Accept": "text/event-stream"}
        path = f"/submissions/{_word(submission)}/events"
        with self._http.stream("GET", path, headers=headers, timeout=_STREAM_TIMEOUT) as response:
            self._check(response)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                return
            yield from _server_sent(response.iter_lines())

    def page_of(self, made: dict[str, Any]) -> str:
        """The address of a submission's page, which the API gives whole or without the server."""
        return urljoin(f"{self.server}/", str(made.get("url") or f"/submissions/{made.get('id')}/"))

    def _pages(self, path: str, params: dict[str, str] | None = None) -> Iterator[dict[str, Any]]:
        page = self._object("GET", path, params=params)
        while True:
            yield from page.get("results", [])
            following = page.get("next")
            if not following:
                return
            # The server may know itself by another name; only what it says about the page counts.
            page = self._object("GET", path, params=dict(httpx.URL(following).params))

    def _object(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        return self._body_of(self._send(method, path, **request))

    def _body_of(self, response: httpx.Response) -> dict[str, Any]:
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            message = f"{self.server} does not answer like a Gauntlet server. Is the address right?"
            raise CommandFailed(message, code=Exit.UNREACHABLE)
        return body

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        with self._talking():
            response = self._http.request(method, path, **request)
            self._check(response)
            return response

    @contextmanager
    def _talking(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise CommandFailed(f"{self.server} took too long to answer.", code=Exit.UNREACHABLE) from error
        except (httpx.WriteError, httpx.RemoteProtocolError, httpx.ReadError) as error:
            raise CommandFailed(f"{self.server} broke the connection off.", code=Exit.UNREACHABLE) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CommandFailed(f"{self.server} cannot be reached: {error}.", code=Exit.UNREACHABLE) from error

    def _check(self, response: httpx.Response) -> None:
        """Raise what an answer that is no success says."""
        status = response.status_code
        if status < HTTPStatus.MULTIPLE_CHOICES:
            return
        if status < HTTPStatus.BAD_REQUEST:
            where = response.headers.get("location", "elsewhere")
            raise CommandFailed(f"{self.server} sends on to {where}. Use that address.", code=Exit.UNREACHABLE)
        body = _body(response)
        message = str(body.get("message") or body.get("detail") or _default_sentence(status, self.server))
        hints = tuple(_finding(entry) for entry in body.get("errors") or [] if isinstance(entry, dict))
        if status == HTTPStatus.UNAUTHORIZED and response.request.url.path != f"{_BASE}/tokens":
            message = "Your login is not valid (any more). " if self.token else "You are not logged in. "
            message += f"Run `gauntlet login --server {self.server}`."
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise CommandFailed(message, code=Exit.UNREACHABLE, hints=hints, status=status)
        code = Exit.REFUSED if status in _REFUSED else Exit.FAILED
        wait = body.get("retry_after") if status == HTTPStatus.TOO_MANY_REQUESTS else None
        seconds = float(wait) if isinstance(wait, int | float) else None
        raise CommandFailed(message, code=code, hints=hints, retry_after=seconds, status=status)


def _read(file: IO[bytes], *, offset: int, most: int) -> Iterator[bytes]:
    """What a file holds from a place on, in chunks."""
    file.seek(offset)
    while most and (chunk := file.read(min(_CHUNK, most))):
        most -= len(chunk)
        yield chunk


def _word(text: str) -> str:
    """A word that someone typed as one part of a path."""
    return quote(text, safe="")


def _body(response: httpx.Response) -> dict[str, Any]:
    try:
        response.read()
        body = response.json()
    except (ValueError, httpx.HTTPError):
        return {}
    return body if isinstance(body, dict) else {}


def _default_sentence(status: int, server: str) -> str:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "no known status"
    return f"{server} answered {status} ({phrase})."


def _finding(entry: dict[str, Any]) -> str:
    place = str(entry.get("file") or entry.get("field") or "")
    if place and entry.get("line"):
        place += f":{entry['line']}"
    message = str(entry.get("message", ""))
    return f"{place}: {message}" if place else message


def _server_sent(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Read server-sent events of the kind ``state``; everything else on the stream is a sign of life."""
    kind, data = "message", []
    for line in lines:
        if line.startswith("event:"):
            kind = line.removeprefix("event:").strip()
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line:
            if kind == "state" and data:
                yield json.loads("\n".join(data))
            kind, data = "message", []
