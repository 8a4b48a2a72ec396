"""What a provider sends back: bounded while it comes in, and an answer only where it is a whole one.

What is none is the provider's fault. An agent that was shown it would fail at it, and be blamed.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx
import pydantic_core

from gauntlet_runtime.gateway.recorder import ModelEndpoint

ANSWER_BYTES: Final = 16 << 20
# Each may become an object of a hundred bytes. The log probabilities of a long answer have some 300,000.
_BRACKETS: Final = 500_000
_AFTER_DONE_SECONDS: Final = 1.0  # for the end of a stream that has said that it is over
_DONE: Final = b"[DONE]"
_EVENT_ENDS: Final = (b"\n\n", b"\r\r", b"\r\n\r\n")
_DONE_LINE: Final = re.compile(rb"(?:\A|[\r\n])data: ?\[DONE\][ \t]*[\r\n]")
_DONE_BYTES: Final = 32  # no such line is longer, as providers write it
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_GZIP: Final = 16 + zlib.MAX_WBITS
#: Where an answer holds what was asked for: the list, and of which kind what is in each of its objects.
_SHAPES: Final[Mapping[ModelEndpoint, tuple[str, str, tuple[type, ...]]]] = {
    "chat/completions": ("choices", "message", (dict,)),
    "embeddings": ("data", "embedding", (list, str)),
}


class NoAnswer(Exception):
    """What came is none; why, in words of ours."""


class TooLarge(Exception):
    """What came is more than any answer; how so, in words of ours. It would be the next time too."""


async def read_whole(response: httpx.Response, *, stream: bool) -> bytes:
    """A response's content, unpacked. A stream is whole where it says so, even if nobody ends it.

    Raises:
        NoAnswer, TooLarge
        httpx.HTTPError, OSError: the connection failed.
    """
    unpack = _unpacking(response.headers.get("content-encoding", ""))
    content, over = bytearray(), False
    try:
        async with asyncio.timeout(None) as patience:
            async for chunk in response.aiter_raw():
                before = len(content)
                content += unpack(chunk, ANSWER_BYTES + 1 - before)
                if len(content) > ANSWER_BYTES:
                    raise TooLarge(f"is larger than {ANSWER_BYTES} bytes")
                if stream and not over and _DONE_LINE.search(content, max(0, before - _DONE_BYTES)):
                    over = True
                    patience.reschedule(asyncio.get_running_loop().time() + _AFTER_DONE_SECONDS)
    except (TimeoutError, httpx.HTTPError, OSError):
        if not over:
            raise
    return bytes(content)


def _unpacking(encoding: str) -> Callable[[bytes, int], bytes]:
    """How content of this encoding is read, never more of it at once than is asked for: a packed MB can be a GB.

    Raises:
        NoAnswer: it is packed in a way that was not asked for.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return lambda chunk, _most: chunk
        case "gzip":
            unpacker = zlib.decompressobj(_GZIP)
        case _:
            raise NoAnswer("its answer is packed in a way that it was not asked for")

    def unpack(chunk: bytes, most: int) -> bytes:
        try:
            return unpacker.decompress(chunk, most)
        except zlib.error:
            raise NoAnswer("its answer cannot be unpacked") from None

    return unpack


def read_answer(content: bytes, endpoint: ModelEndpoint) -> dict[str, Any]:
    """The one object of an answer that is no stream.

    Raises:
        NoAnswer, TooLarge
    """
    check_parts(content)
    value = _object(content)
    name, part, kinds = _SHAPES[endpoint]
    found = _list_of(value, name)
    if not found or not all(isinstance(one.get(part), kinds) for one in found):
        raise NoAnswer("its answer is none")
    return value


def read_stream(content: bytes) -> list[dict[str, Any]]:
    """The objects of a stream of server-sent events, which is whole only where it says so.

    It says so by its last event, or, as some providers do, only by ending after each of its choices has.

    Raises:
        NoAnswer, TooLarge
    """
    check_parts(content)
    parts: list[dict[str, Any]] = []
    data: list[bytes] = []
    for line in [*content.removeprefix(_BYTE_ORDER_MARK).splitlines(), b""]:
        if line:
            data += [line[5:].removeprefix(b" ")] if line.startswith(b"data:") else []
            continue
        event, data = b"\n".join(data), []
        if event.strip() == _DONE:
            if not any(part["choices"] for part in parts):
                raise NoAnswer("its stream is empty")
            return parts
        if event:
            part = _object(event)
            _list_of(part, "choices")
            parts.append(part)
    if content.endswith(_EVENT_ENDS) and _has_ended(parts):
        return parts
    raise NoAnswer("its stream broke off")


def _has_ended(parts: list[dict[str, Any]]) -> bool:
    """Whether each choice has said why it ended."""
    choices = [choice for part in parts for choice in part["choices"]]
    begun = {str(choice.get("index")) for choice in choices}
    ended = {str(choice.get("index")) for choice in choices if choice.get("finish_reason")}
    return bool(begun) and begun == ended


def check_parts(content: bytes) -> None:
    """Refuse what would be very many times as large once it is read.

    Raises:
        TooLarge
    """
    if content.count(b"[") + content.count(b"{") > _BRACKETS:
        raise TooLarge("has more parts than any")


def _object(content: bytes) -> dict[str, Any]:
    try:
        value = pydantic_core.from_json(content, allow_inf_nan=False)
    except ValueError:
        raise NoAnswer("its answer is not JSON") from None
    if not isinstance(value, dict):
        raise NoAnswer("its answer is none")
    if value.get("error"):  # routers say so with status 200, and in the middle of a stream beside its choices
        raise NoAnswer("its answer is an error")
    return value


def _list_of(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise NoAnswer("its answer is none")
    return found
