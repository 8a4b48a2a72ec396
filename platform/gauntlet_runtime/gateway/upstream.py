"""A provider's side of a model call: asked until it answers or the patience is over, and read to the end.

An answer is whole before anybody sees it, a streamed one too. So a connection that broke in the middle is tried again
like any other fault of the provider, and an agent never meets half an answer that it would have to make sense of.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpx
import pydantic_core

from gauntlet_runtime.gateway.provider_answers import (
    NoAnswer,
    TooLarge,
    check_parts,
    read_answer,
    read_stream,
    read_whole,
)
from gauntlet_runtime.gateway.public_addresses import NotPublic, PublicTransport
from gauntlet_runtime.gateway.recorder import ModelEndpoint
from gauntlet_runtime.metering import LIMIT_FIELDS, ModelAccess, ModelPatience
from gauntlet_runtime.retry_after import retry_after

CONNECT_SECONDS: Final = 10.0
_THE_AGENTS: Final = frozenset({400, 413, 415, 422})  # the request itself was refused: told to whoever made it
# As said of a key, or of a model that is none, and as said of what was asked of it: the latter where it has answered.
_EITHER: Final = frozenset({403, 404, 405, 501})
_THE_KEYS: Final = frozenset({401, 403})
_PASSING: Final = frozenset({408, 409, 425, 429})  # may go by itself, as every 5xx may
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


class AnswerTooLarge(ProviderFailed):
    """It did answer, and so was used, but with more than anybody can be handed."""


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
        self._limit_field = access.limit_field
        self._known: set[Any] = set()  # models that have answered
        self._renamed: set[Any] = set()  # models that take the limit of an answer by its other name alone
        self._url = access.url.rstrip("/")
        self._wrong = self._what_is_wrong()
        headers = {"content-type": "application/json", "accept-encoding": "gzip"}
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

    async def ask(self, endpoint: ModelEndpoint, request: dict[str, Any], *, stream: bool) -> Answer:
        """Send a request until there is an answer.

        Raises:
            RequestRefused
            ProviderFailed: it was tried as often as the patience allows.
            WronglySet
        """
        if self._wrong is not None:
            raise WronglySet(self._wrong, 0)
        for number in range(1, self._patience.tries + 1):
            try:
                async with asyncio.timeout(self._patience.call_seconds):
                    parts = await self._try(endpoint, request, stream=stream)
                self._known.add(request.get("model"))
                return Answer(parts=parts, tries=number)
            except _TryAgain as error:
                reason, after = str(error), error.after
            except TimeoutError:
                reason, after = f"it gave no answer within {self._patience.call_seconds:g} seconds", None
            except NoAnswer as error:
                reason, after = str(error), None
            except (httpx.HTTPError, OSError) as error:  # the latter where encryption is broken in the middle
                reason, after = f"the connection failed ({type(error).__name__})", None
            except NotPublic:
                raise ProviderFailed("its address is not a public one", number) from None
            except TooLarge as error:
                raise AnswerTooLarge(f"its answer {error}", number) from None
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

    async def _try(self, endpoint: ModelEndpoint, request: dict[str, Any], *, stream: bool) -> list[dict[str, Any]]:
        """Send a request once; once more where only the name of its limit, which is ours, was refused."""
        model = request.get("model")
        if model in self._renamed:
            return await self._send(endpoint, self._with_other_limit(request), stream=stream)
        try:
            return await self._send(endpoint, request, stream=stream)
        except RequestRefused as error:
            if not self._wants_other_limit(error.body):
                raise
            self._renamed.add(model)
            return await self._send(endpoint, self._with_other_limit(request), stream=stream)

    async def _send(self, endpoint: ModelEndpoint, request: dict[str, Any], *, stream: bool) -> list[dict[str, Any]]:
        content = pydantic_core.to_json(request)
        async with self._client.stream("POST", f"{self._url}/{endpoint}", content=content) as response:
            status = response.status_code
            if status == 200:
                whole = await read_whole(response, stream=stream)
                parts = read_stream(whole) if stream else [read_answer(whole, endpoint)]
                return cast(list[dict[str, Any]], self._without_key(parts))
            if status in _THE_AGENTS or status in _EITHER:
                said = self._without_key(await _said(response))
                if status in _THE_AGENTS or request.get("model") in self._known or _is_flagged(said):
                    raise RequestRefused(status, said)
        if status in _PASSING or status >= 500:
            raise _TryAgain(f"it answered with status {status}", after=retry_after(response))
        if status in _THE_KEYS:
            raise WronglySet(self._to_be_set_anew("refused the key", f"status {status}"), 0)
        raise ProviderFailed(f"it answered with status {status}", 0)

    def _wants_other_limit(self, said: Any) -> bool:
        """Whether a refusal is about the name under which a limit was sent: some models of a provider take another."""
        error = said.get("error") if isinstance(said, dict) else None
        if not isinstance(error, dict) or self._limit_field not in LIMIT_FIELDS:
            return False
        return error.get("code") == "unsupported_parameter" and error.get("param") == self._limit_field

    def _with_other_limit(self, request: dict[str, Any]) -> dict[str, Any]:
        (other,) = (name for name in LIMIT_FIELDS if name != self._limit_field)
        return {other if name == self._limit_field else name: value for name, value in request.items()}

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

    def _without_key(self, said: Any) -> Any:
        """What was said without the key, however it was escaped: some providers quote it, or what they were sent."""
        if len(self._key) < _SECRET_CHARACTERS:
            return said
        text, key = pydantic_core.to_json(said), json.dumps(self._key)[1:-1].encode()
        return pydantic_core.from_json(text.replace(key, b"***")) if key in text else said


def _is_flagged(said: Any) -> bool:
    """Whether a provider's moderation refused what was asked, as routers tell it: with what it was flagged for."""
    error = said.get("error") if isinstance(said, dict) else None
    told = error.get("metadata") if isinstance(error, dict) else None
    return isinstance(told, dict) and bool(told.get("reasons"))


async def _said(response: httpx.Response) -> Any:
    """The body of a refusal; what is no JSON is not handed on."""
    try:
        content = await read_whole(response, stream=False)
        check_parts(content)
        return pydantic_core.from_json(content, allow_inf_nan=False)
    except (NoAnswer, TooLarge, ValueError):
        return None
