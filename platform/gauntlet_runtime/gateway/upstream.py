"""A provider's side of a model call: asked until it answers or the patience is over, and read to the end.

An answer is whole before anybody sees it, a streamed one too. So a connection that broke in the middle is tried again
like any other fault of the provider, and an agent never meets half an answer that it would have to make sense of.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import pydantic_core

from gauntlet_runtime.gateway.public_addresses import NotPublic, PublicTransport
from gauntlet_runtime.metering import ModelAccess, ModelPatience
from gauntlet_runtime.retry_after import retry_after

ANSWER_BYTES: Final = 16 << 20
CONNECT_SECONDS: Final = 10.0
_THE_AGENTS: Final = frozenset({400, 413, 415, 422})  # the request itself was refused: told to whoever made it
_THE_KEYS: Final = frozenset({401, 403})
_PASSING: Final = frozenset({408, 409, 425, 429})  # may go by itself, as every 5xx may
_DONE: Final = b"[DONE]"
_SECRET_CHARACTERS: Final = 8  # a shorter key is a placeholder, and may be any word of an answer

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """What a provider said: one JSON object, or the objects of a stream in their order."""

    parts: list[dict[str, Any]]
    tries: int = 1

    @property
    def usage(self) -> Any:
        """What it says that the call used; of a stream the last word counts."""
        return next((part["usage"] for part in reversed(self.parts) if part.get("usage") is not None), None)


class RequestRefused(Exception):
    """The provider does not take this request: the agent's affair, and nothing was used."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.body = body


class ProviderFailed(Exception):
    """The provider could not be had: never the agent's fault. The message names no address and no key."""

    def __init__(self, reason: str, tries: int) -> None:
        super().__init__(reason)
        self.tries = tries


class WronglySet(ProviderFailed):
    """The provider's key is not accepted, or its address is none: until another is set, asking again is vain."""


class _TryAgain(Exception):
    def __init__(self, reason: str, *, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class Upstream:
    """One provider. Redirects are not followed and proxies of the host are not asked: the key goes to one address."""

    def __init__(self, access: ModelAccess, patience: ModelPatience, *, provider: str = "") -> None:
        self._patience = patience
        self._named = f"the provider '{provider}'" if provider else "the provider"
        self._set_by = access.set_by
        self._key = access.key.get_secret_value()
        self._url = access.url.rstrip("/")
        self._wrong = self._what_is_wrong()
        headers = {"content-type": "application/json"}
        if self._key and self._wrong is None:
            headers["authorization"] = f"Bearer {self._key}"
        limits = httpx.Limits(max_connections=None)
        transport = httpx.AsyncHTTPTransport(limits=limits, trust_env=False)
        if access.public_only:
            transport = PublicTransport(limits=limits)
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(patience.call_seconds, connect=min(CONNECT_SECONDS, patience.call_seconds)),
            transport=transport,
        )

    async def close(self) -> None:
        """Drop the connections."""
        await self._client.aclose()

    async def ask(self, endpoint: str, request: dict[str, Any], *, stream: bool) -> Answer:
        """Send a request until there is an answer.

        Raises:
            RequestRefused
            ProviderFailed: it was tried as often as the patience allows.
            WronglySet
        """
        if self._wrong is not None:
            raise WronglySet(self._wrong, 0)
        body = pydantic_core.to_json(request)
        for number in range(1, self._patience.tries + 1):
            try:
                async with asyncio.timeout(self._patience.call_seconds):
                    parts = await self._try(endpoint, body, stream=stream)
                return Answer(parts=parts, tries=number)
            except _TryAgain as error:
                reason, after = str(error), error.after
            except TimeoutError:
                reason, after = f"it gave no answer within {self._patience.call_seconds:g} seconds", None
            except httpx.HTTPError as error:
                reason, after = f"the connection failed ({type(error).__name__})", None
            except NotPublic:
                raise ProviderFailed("its address is not a public one", number) from None
            except ProviderFailed as error:
                raise type(error)(str(error), number) from None
            _log.info("a model provider failed at try %d: %s", number, reason)
            if number < self._patience.tries:
                await asyncio.sleep(self._pause(number, after))
        raise ProviderFailed(reason, self._patience.tries)

    def _pause(self, number: int, after: float | None) -> float:
        """Longer after each try; at least what the provider asks for, as far as that is reasonable."""
        backoff = self._patience.backoff_seconds * 2.0 ** (number - 1)
        return min(max(backoff, after or 0.0), self._patience.longest_backoff_seconds)

    async def _try(self, endpoint: str, body: bytes, *, stream: bool) -> list[dict[str, Any]]:
        async with self._client.stream("POST", f"{self._url}/{endpoint}", content=body) as response:
            content = self._without_key(await _whole(response))
            status = response.status_code
        if status == 200:
            return _events(content) if stream else [_object(content)]
        if status in _THE_AGENTS:
            raise RequestRefused(status, _readable(content))
        if status in _PASSING or status >= 500:
            raise _TryAgain(f"it answered with status {status}", after=retry_after(response))
        if status in _THE_KEYS:
            raise WronglySet(self._to_be_set_anew("refused the key", f"status {status}"), 0)
        raise ProviderFailed(f"it answered with status {status}", 0)

    def _what_is_wrong(self) -> str | None:
        """Why nobody can be called with what was set, or None."""
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            return self._to_be_set_anew("cannot be sent the key", "it holds what no key can hold")
        try:
            wrong = not httpx.URL(self._url).host or urlsplit(self._url).port == 0
        except (httpx.InvalidURL, ValueError):
            wrong = True
        return self._to_be_set_anew("cannot be called at the address", "it is none") if wrong else None

    def _to_be_set_anew(self, what: str, why: str) -> str:
        """Who has to do what, as whole sentences."""
        whose = "the competition's organizer" if self._set_by == "organizer" else "the operator of this installation"
        return (
            f"{self._named} {what} that {whose} set for it ({why}). "
            f"{whose[0].upper()}{whose[1:]} has to set a valid one."
        )

    def _without_key(self, content: bytes) -> bytes:
        """Some providers quote the key, or what they were sent, in what they say."""
        return content.replace(self._key.encode(), b"***") if len(self._key) >= _SECRET_CHARACTERS else content


async def _whole(response: httpx.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > ANSWER_BYTES:
            raise ProviderFailed(f"its answer is larger than {ANSWER_BYTES} bytes", 0)
    return bytes(content)


def _object(content: bytes) -> dict[str, Any]:
    try:
        value = pydantic_core.from_json(content, allow_inf_nan=False)
    except ValueError:
        raise _TryAgain("its answer is not JSON") from None
    if not isinstance(value, dict) or not isinstance(value.get("choices", value.get("data")), list):
        raise _TryAgain("its answer is none")
    return value


def _events(content: bytes) -> list[dict[str, Any]]:
    """The objects of a stream of server-sent events, which is whole only where it says so."""
    parts: list[dict[str, Any]] = []
    for event in content.replace(b"\r\n", b"\n").split(b"\n\n"):
        data = b"\n".join(line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:"))
        if data.strip() == _DONE:
            if not parts:
                raise _TryAgain("its stream is empty")
            return parts
        if data:
            parts.append(_object(data))
    raise _TryAgain("its stream broke off")


def _readable(content: bytes) -> Any:
    """The body of a refusal; what is no JSON is not handed on."""
    try:
        return pydantic_core.from_json(content, allow_inf_nan=False)
    except ValueError:
        return None
