"""Reading a request to a language model: whether it may be made, and what it can use at most."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.model_fields import check_fields
from gauntlet_runtime.gateway.recorder import ModelEndpoint
from gauntlet_runtime.metering import ModelOffer, ModelSpec, Reservation

MEDIA_TOKENS: Final = 20_000  # for each picture, which has no more whatever its bytes; and for each sound or file
MESSAGE_TOKENS: Final = 16  # what a provider's template adds around each message
MOST_CHOICES: Final = 128
_MEDIA: Final = frozenset({"image_url", "input_image", "input_audio", "file", "input_file"})
_LIMITS: Final = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True)
class Call:
    """A request that may be made: as the agent sent it, as the provider gets it, and what it can use at most."""

    offer: ModelOffer
    endpoint: ModelEndpoint
    request: dict[str, Any]
    outgoing: dict[str, Any]
    stream: bool
    wants_usage: bool
    tokens_in: int
    tokens_out: int

    def reservation(self) -> Reservation:
        """The most that it can use."""
        cost = self.offer.cost(tokens_in=self.tokens_in, tokens_out=self.tokens_out)
        return Reservation(id=str(uuid.uuid4()), tokens=self.tokens_in + self.tokens_out, cost=cost)


def offered(spec: ModelSpec, name: object) -> ModelOffer:
    """The model of this name.

    Raises:
        ApiError: 404, it is not offered.
    """
    offer = spec.offer(name)
    if offer is None:
        names = ", ".join(offer.name for offer in spec.models)
        said = f"The model {str(name)[:100]!r} does not exist here, or agents may not call it. There are: {names}."
        raise ApiError(404, "model_not_found", said)
    return offer


def read_call(spec: ModelSpec, endpoint: ModelEndpoint, request: dict[str, Any], *, limit_field: str) -> Call:
    """What is asked for.

    Args:
        limit_field: what the provider calls the limit of an answer, for a request that has none

    Raises:
        ApiError: 400, it is no request that can be made; 404, its model is not offered.
    """
    offer = offered(spec, request.get("model"))
    check_fields(request, endpoint)
    outgoing = dict(request)
    chat = endpoint == "chat/completions"
    stream = chat and bool(request.get("stream"))
    given = request.get("stream_options")
    options = given if isinstance(given, dict) else {}
    if stream:
        outgoing["stream_options"] = {**options, "include_usage": True}
    return Call(
        offer=offer,
        endpoint=endpoint,
        request=request,
        outgoing=outgoing,
        stream=stream,
        wants_usage=bool(options.get("include_usage")),
        tokens_in=prompt_bound(request),
        tokens_out=_limited(spec, request, outgoing, limit_field=limit_field) if chat else 0,
    )


def _limited(spec: ModelSpec, request: dict[str, Any], outgoing: dict[str, Any], *, limit_field: str) -> int:
    """How many tokens the answers can have together; the limit goes out with the request."""
    choices = 1 if request.get("n") is None else request["n"]
    if not _is_positive(choices) or choices > MOST_CHOICES:
        raise ApiError(400, "invalid_value", f"n must be a whole number from 1 to {MOST_CHOICES}.")
    named = next((name for name in _LIMITS if request.get(name) is not None), None)
    wanted = spec.max_tokens if named is None else request[named]
    if not _is_positive(wanted):
        raise ApiError(400, "invalid_value", f"{named} must be a whole number from 1.")
    for name in _LIMITS:
        outgoing.pop(name, None)
    outgoing[named or limit_field] = limit = min(wanted, spec.max_tokens)
    return limit * choices


def _is_positive(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def prompt_bound(request: dict[str, Any]) -> int:
    """More tokens than a request can be for any model: a token stands for at least one byte of what is no picture."""
    text = json.dumps(request, ensure_ascii=False, separators=(",", ":"))
    messages = request.get("messages")
    around = MESSAGE_TOKENS * (1 + (len(messages) if isinstance(messages, list) else 0))
    length = len(text.encode("utf-8", "surrogatepass")) - _picture_bytes(messages)
    return length + around + MEDIA_TOKENS * _media(request)


def _picture_bytes(messages: object) -> int:
    """The bytes of pictures that messages bring: how many tokens one is, its size in pixels says."""
    found = 0
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and part.get("type") == "image_url":
                brought = part.get("image_url")
                url = brought.get("url") if isinstance(brought, dict) else brought
                found += len(url) if isinstance(url, str) and url.isascii() and url.startswith("data:image/") else 0
    return found


def _media(value: Any) -> int:
    if isinstance(value, dict):
        kind = value.get("type")  # of a tool's schema it may be a list
        return (isinstance(kind, str) and kind in _MEDIA) + sum(_media(part) for part in value.values())
    if isinstance(value, list):
        return sum(_media(part) for part in value)
    return 0
