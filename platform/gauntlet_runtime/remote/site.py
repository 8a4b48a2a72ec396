"""Requests to the site: in bounded time, again where it was away, and with the token in no text that anybody sees.

All requests run on one event loop in a thread of its own: only there can a request be ended at a fixed time whatever
the other side does, be it that it sends one byte a second. Any thread may ask.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import httpx
import pydantic_core
import structlog
from pydantic import BaseModel, SecretStr, ValidationError

from gauntlet_runtime.jobs import LeaseLost
from gauntlet_runtime.remote.errors import SiteAway, SiteFault, Why, WorkerRefused
from gauntlet_runtime.remote.messages import (
    LEASE_HEADER,
    LEASE_LOST,
    PROTOCOL,
    PROTOCOL_HEADER,
    TOO_MANY_WORKERS,
)
from gauntlet_runtime.retry_after import retry_after

CALL_SECONDS: Final = 10.0  # of a request that carries little
CONNECT_SECONDS: Final = 5.0
BYTES_PER_SECOND: Final = 32 << 10  # a transfer that is slower is given up
ANSWER_BYTES: Final = 64 << 20  # a claim holds the texts of all of its scenarios
LONGEST_PAUSE_SECONDS: Final = 300.0  # whatever the site's Retry-After says
_FIRST_PAUSE: Final = 0.5
_LONGEST_BACKOFF: Final = 8.0
_LOOK_SECONDS: Final = 0.2  # how soon a transfer that nobody wants any more is given up
_KEEP_SECONDS: Final = 4.0  # an idle connection; servers drop theirs after five
_CHUNK: Final = 1 << 16
_PASSING: Final = frozenset({408, 425, 429})  # may go by itself, as every 5xx may

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
Receive = Callable[[httpx.Response], Awaitable[T]]
_log = structlog.get_logger(__name__)


def transfer_seconds(size: int) -> float:
    """The most that a request with a body of this size may take."""
    return CALL_SECONDS + size / BYTES_PER_SECOND


class Site:
    """The worker's side of `gauntlet_runtime.remote.messages`. Use as a context manager.

    Every request raises:
        SiteAway: there was no answer, or the site wants to be asked later
        LeaseLost: the job that it is about is no longer this worker's
        WorkerRefused: the worker is to end
        SiteFault: the site takes no such request

    Args:
        url: the site's address, without a slash at its end
        verify: which certificates are trusted; True: those that the system's environment names
    """

    def __init__(self, url: str, token: SecretStr, *, verify: ssl.SSLContext | bool = True) -> None:
        self._client = httpx.AsyncClient(
            base_url=f"{url}/api/v1/worker/",
            headers={
                "Authorization": f"Bearer {token.get_secret_value()}",
                PROTOCOL_HEADER: PROTOCOL,
                "Accept-Encoding": "identity",
            },
            verify=verify,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),  # the whole request has one, see `_exchange`
            limits=httpx.Limits(keepalive_expiry=_KEEP_SECONDS),
        )
        self._away_since: float | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="site", daemon=True)
        self._thread.start()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait_for(self._client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(
        self,
        method: str,
        path: str,
        body: BaseModel | None = None,
        *,
        lease: str | None = None,
        seconds: float = CALL_SECONDS,
        patience: float = 0.0,
        check: Callable[[], None] = lambda: None,
    ) -> bytes | None:
        """Send a small request; the answer's body, or None where it has none.

        Args:
            lease: the token of the job's claim
            seconds: for one try
            patience: seconds in which it is tried again while the site is away; 0: once
            check: called while it is waited for; what it raises ends the wait
        """
        content = b"" if body is None else body.model_dump_json().encode()
        headers = {"Content-Type": "application/json"} if content else {}
        most = seconds + len(content) / BYTES_PER_SECOND

        def once() -> bytes | None:
            request = self._request(method, path, content, headers, lease)
            return self._wait_for(self._exchange(request, _whole, seconds=most), check)

        return self._patiently(once, patience=patience, check=check)

    def upload(
        self, path: str, file: Path, *, lease: str, patience: float = 0.0, check: Callable[[], None] = lambda: None
    ) -> None:
        """PUT a file's bytes."""
        size = file.stat().st_size

        def once() -> None:
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
            with file.open("rb") as source:
                request = self._request("PUT", path, _chunks(source), headers, lease)
                self._wait_for(self._exchange(request, _whole, seconds=transfer_seconds(size)), check)

        self._patiently(once, patience=patience, check=check)

    def download(
        self,
        path: str,
        into: Path,
        *,
        size: int,
        lease: str,
        patience: float = 0.0,
        check: Callable[[], None] = lambda: None,
    ) -> str:
        """Write an answer's body into a file; its digest, "sha256:…". A body of another size is taken for none."""

        def once() -> str:
            with into.open("wb") as target:
                request = self._request("GET", path, b"", {}, lease)
                receive = self._writing(target, size)
                return self._wait_for(self._exchange(request, receive, seconds=transfer_seconds(size)), check)

        return self._patiently(once, patience=patience, check=check)

    def _request(
        self, method: str, path: str, content: bytes | AsyncIterator[bytes], headers: dict[str, str], lease: str | None
    ) -> httpx.Request:
        fence = {} if lease is None else {LEASE_HEADER: lease}
        return self._client.build_request(method, path, content=content or None, headers={**headers, **fence})

    def _writing(self, target: BinaryIO, size: int) -> Receive[str]:
        async def receive(response: httpx.Response) -> str:
            digest, written = hashlib.sha256(), 0
            async for chunk in response.aiter_bytes():
                written += len(chunk)
                if written > size:
                    break
                digest.update(chunk)
                target.write(chunk)
            if written != size:
                raise self._away(f"what it sent is not of the {size} bytes that it named")
            return f"sha256:{digest.hexdigest()}"

        return receive

    def _patiently(self, once: Callable[[], T], *, patience: float, check: Callable[[], None]) -> T:
        give_up, backoff = time.monotonic() + patience, _FIRST_PAUSE
        while True:
            try:
                return once()
            except SiteAway as away:
                pause = max(backoff, away.after or 0.0)
                if time.monotonic() + pause > give_up:
                    raise
            over = time.monotonic() + pause
            while time.monotonic() < over:
                check()
                time.sleep(_LOOK_SECONDS)
            backoff = min(2 * backoff, _LONGEST_BACKOFF)

    def _wait_for(self, exchange: Coroutine[Any, Any, T], check: Callable[[], None] = lambda: None) -> T:
        future = asyncio.run_coroutine_threadsafe(exchange, self._loop)
        try:
            while not wait([future], timeout=_LOOK_SECONDS).done:
                check()
        except BaseException:
            future.cancel()
            raise
        return future.result()

    # On the loop's thread. No error quotes what was sent or received, nor another error that might: both hold secrets.

    async def _exchange(self, request: httpx.Request, receive: Receive[T], *, seconds: float) -> T:
        try:
            async with asyncio.timeout(seconds):
                response = await self._client.send(request, stream=True)
                try:
                    if not response.is_success:
                        raise await self._refusal(response)
                    received = await receive(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise self._away(f"no answer within {seconds:.0f} seconds") from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as error:
            hint = Why.CERTIFICATE if _is_about_a_certificate(error) else None
            raise self._away(f"the connection failed ({type(error).__name__})", hint=hint) from None
        if self._away_since is not None:
            _log.info("site_answers_again", after=round(time.monotonic() - self._away_since))
            self._away_since = None
        return received

    async def _refusal(self, response: httpx.Response) -> Exception:
        status = response.status_code
        if status == 401:
            return WorkerRefused(Why.TOKEN)
        if status == 426:
            return WorkerRefused(Why.OUTDATED)
        if status >= 500 or status in _PASSING:
            after = min(retry_after(response) or 0.0, LONGEST_PAUSE_SECONDS)
            if status == 429:  # it is there, and says so
                return SiteAway("it was asked too often", after=after)
            return self._away(f"it answered with status {status}", after=after)
        code = _code_of(await _whole(response) or b"")
        if status == 409 and code == LEASE_LOST:
            return LeaseLost("the job is no longer this worker's")
        if code == TOO_MANY_WORKERS:
            return WorkerRefused(Why.TOO_MANY)
        if not code:  # not a word of ours
            return self._away(f"it answered with status {status}", hint=Why.NO_SITE)
        return SiteFault(f"the site answered with status {status} ({code})", status=status)

    def _away(self, reason: str, *, after: float | None = None, hint: Why | None = None) -> SiteAway:
        if self._away_since is None:
            self._away_since = time.monotonic()
            _log.warning("site_is_away", reason=reason)
        return SiteAway(reason, after=after, hint=hint)


def read(content: bytes | None, message: type[M]) -> M:
    """What the site said, as this message.

    Raises:
        SiteAway: it is none: something else answers in the site's place.
    """
    with suppress(ValidationError):  # whose words quote the content
        return message.model_validate_json(content or b"")
    raise SiteAway(f"its answer is no {message.__name__}", hint=Why.NO_SITE)


async def _whole(response: httpx.Response) -> bytes | None:
    """An answer's body, None where it has none."""
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > ANSWER_BYTES:
            raise SiteFault(f"the site's answer is larger than {ANSWER_BYTES} bytes")
    return None if response.status_code == 204 else bytes(content)


async def _chunks(source: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := source.read(_CHUNK):
        yield chunk


def _code_of(content: bytes) -> str:
    """The code of a refusal in the form of the platform's; empty where it is none."""
    with suppress(ValueError):
        said = pydantic_core.from_json(content)
        if isinstance(said, dict) and isinstance(code := said.get("code"), str) and code.isidentifier():
            return code[:80]
    return ""


def _is_about_a_certificate(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
