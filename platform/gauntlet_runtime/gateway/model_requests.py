"""Reading a request to a language model: whether it may be made, and what it can use at most."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from gauntlet_runtime.gateway.errors import ApiError
from gauntlet_runtime.gateway.model_fields import check_fields
from gauntlet_runtime.gateway.provider_answers import ANSWER_BYTES
from gauntlet_runtime.gateway.recorder import ModelEndpoint
from gauntlet_runtime.metering import LIMIT_FIELDS, ModelOffer, ModelSpec, Reservation

# For each picture, whatever its bytes, and for each sound. The largest pictures that providers take are counted as some
# 48,000 by the model that counts them highest.
MEDIA_TOKENS: Final = 50_000
MESSAGE_TOKENS: Final = 16  # what a provider's template adds around each message
MOST_CHOICES: Final = 128
_MEDIA: Final = frozenset({"image_url", "input_image", "input_audio", "file", "input_file"})
# What an answer's token takes in JSON: alone, in a part of a stream of its own, and for each of its log probabilities.
_TOKEN_BYTES: Final = 16
_PART_BYTES: Final = 300
_PROBABILITY_BYTES: Final = 120


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

    @property
    def may_be_too_large(self) -> bool:
        """Whether the answer that it asks for may be larger than any may be; of embeddings their length is unknown."""
        if self.endpoint == "embeddings":
            return True
        return self.tokens_out * _token_bytes(self.request, stream=self.stream) > ANSWER_BYTES


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
        limit_field: what the provider calls the limit of an answer, whatever the request calls it: a provider may
            take no notice of the other name, and an answer without a limit is not what was reserved

    Raises:
        ApiError: 400, it is no request that can be made; 404, its model is not offered.
    """
    offer = offered(spec, request.get("model"))
    chat = endpoint == "chat/completions"
    if offer.embeds == chat:
        does, where = ("makes embeddings", "/embeddings") if offer.embeds else ("chats", "/chat/completions")
        raise ApiError(400, "unsupported_endpoint", f"The model {offer.name!r} {does} here: ask it at {where}.")
    check_fields(request, endpoint)
    outgoing = dict(request)
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
    named = next((name for name in LIMIT_FIELDS if request.get(name) is not None), None)
    wanted = spec.max_tokens if named is None else request[named]
    if not _is_positive(wanted):
        raise ApiError(400, "invalid_value", f"{named} must be a whole number from 1.")
    for name in LIMIT_FIELDS:
        outgoing.pop(name, None)
    outgoing[limit_field] = limit = min(wanted, spec.max_tokens)
    return limit * choices


def _token_bytes(request: dict[str, Any], *, stream: bool) -> int:
    """How much of an answer one of its tokens takes, about."""
    most = request.get("top_logprobs")
    probabilities = 1 + (most if _is_positive(most) else 0) if request.get("logprobs") else 0
    return (_PART_BYTES if stream else _TOKEN_BYTES) + _PROBABILITY_BYTES * probabilities


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
