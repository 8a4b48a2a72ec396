"""Providers that say anything at all: never an agent's fault, never much memory, never the key, and no half answers."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import ssl
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import zstandard
from own_authority import certify
from pydantic import SecretStr

from gauntlet_runtime.gateway import provider_answers
from gauntlet_runtime.gateway.upstream import ProviderFailed, RequestRefused, Upstream, WronglySet
from gauntlet_runtime.metering import ModelAccess, ModelPatience

KEY = 'sk-of/ours"<&>+1234='
MESSAGE = {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}
ANSWER = {"choices": [MESSAGE], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
PART = {"choices": [{"index": 0, "delta": {"content": "x"}}]}
ENDED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
DONE = b"data: [DONE]\n\n"
MANY = 64 << 20


def http(body: bytes, status: int = 200, *, sized: bool = True, **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} so", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    lines += [f"content-length: {len(body)}"] if sized else []
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def whole(value: Any, **headers: str) -> bytes:
    return http(json.dumps(value).encode(), **headers)


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


@asynccontextmanager
async def upstream_of(
    said: bytes, *, tries: int = 1, stays: bool = False
) -> AsyncIterator[tuple[Upstream, list[bytes]]]:
    """A provider that says these bytes whatever it is asked, and the heads of what it was asked."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head)
        size = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        await reader.readexactly(int(size.split(b":")[1]))
        writer.write(said)
        if stays:
            await reader.read()  # until the other side hangs up
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    access = ModelAccess(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", key=SecretStr(KEY))
    patience = ModelPatience(tries=tries, call_seconds=30.0, backoff_seconds=0.01, longest_backoff_seconds=0.02)
    upstream = Upstream(access, patience)
    try:
        yield upstream, heads
    finally:
        await upstream.close()
        server.close()
        await server.wait_closed()


async def asked(said: bytes, *, stream: bool = False, endpoint: Any = "chat/completions", **given: Any) -> Any:
    async with upstream_of(said, **given) as (upstream, _):
        return (await upstream.ask(endpoint, {"model": "m"}, stream=stream)).parts


@pytest.mark.parametrize(
    ("endpoint", "answer"),
    [
        ("chat/completions", {"choices": []}),
        ("chat/completions", {"choices": [None]}),
        ("chat/completions", {"choices": [MESSAGE, {"index": 1}]}),
        ("chat/completions", {"data": [{"embedding": [0.5]}]}),
        ("chat/completions", {**ANSWER, "error": {"message": "overloaded", "code": 502}}),
        ("chat/completions", [ANSWER]),
        ("embeddings", ANSWER),
        ("embeddings", {"data": []}),
        ("embeddings", {"data": [{"embedding": None}]}),
    ],
)
async def test_what_an_agent_would_stumble_over_is_no_answer(endpoint: str, answer: Any) -> None:
    with pytest.raises(ProviderFailed, match="its answer is") as failed:
        await asked(whole(answer), endpoint=endpoint, tries=2)
    assert failed.value.tries == 2


@pytest.mark.parametrize(
    "said",
    [
        b"\xef\xbb\xbf" + event(PART) + DONE,
        (b": hello\n\nid: 3\nevent: message\nretry: 9\n" + event(PART) + DONE).replace(b"\n", b"\r\n"),
        (event(PART) + DONE).replace(b"\n", b"\r"),
        b'data:{"choices": [{"index": 0,\ndata: "delta": {"content": "x"}}]}\n\n' + DONE,
        event(PART) + b"data:[DONE]",
        event(PART) + DONE + b"data: {and more\n\n",
        event({"choices": []}) + event(PART) + DONE,
        event(ENDED) + event(PART),
    ],
    ids=[
        "byte order mark",
        "comments",
        "carriage returns",
        "many lines",
        "no last line",
        "more",
        "no choice yet",
        "ended",
    ],
)
async def test_a_stream_is_read_however_it_is_written(said: bytes) -> None:
    assert (await asked(http(said), stream=True))[-1] == PART


@pytest.mark.parametrize(
    "said",
    [
        event(PART),
        event(ENDED)[:-1],
        event(ENDED) + event({"choices": [{"index": 1, "delta": {}}]}),
        event({"choices": []}),
        b"data: [DONE]\n\n",
        event({"choices": [], "usage": {"prompt_tokens": 1}}) + DONE,
        event(PART) + event({**PART, "error": {"message": "overloaded"}}) + DONE,
        event(PART) + event({"error": {"message": "overloaded"}}) + DONE,
        event(PART) + event({"choices": None}) + DONE,
        event(PART) + b"data: {\xff\n\n" + DONE,
        event(PART)[:-9],
        json.dumps(ANSWER).encode(),
    ],
    ids=[
        *("cut", "cut at its end", "another choice", "no choice at all", "nothing", "no choice"),
        *("error beside", "error", "null", "no UTF-8", "cut in a part", "no stream"),
    ],
)
async def test_a_stream_that_is_not_whole_is_no_answer(said: bytes) -> None:
    with pytest.raises(ProviderFailed, match=r"its (answer|stream)"):
        await asked(http(said), stream=True)


@pytest.mark.parametrize("stays", [True, False])
async def test_a_stream_is_whole_where_it_says_so_even_if_nobody_ends_it(
    stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays open, or it breaks off when everything was said; nobody is asked again for either."""
    monkeypatch.setattr(provider_answers, "_AFTER_DONE_SECONDS", 0.05)
    said = http(event(PART) + DONE, sized=False, content_length="9999")
    assert await asked(said, stream=True, stays=stays) == [PART]


async def test_a_packed_answer_is_unpacked() -> None:
    packed = gzip.compress(json.dumps(ANSWER).encode())
    async with upstream_of(http(packed, content_encoding="gzip")) as (upstream, heads):
        assert (await upstream.ask("chat/completions", {"model": "m"}, stream=False)).parts == [ANSWER]
    assert b"accept-encoding: gzip\r\n" in heads[0].lower()


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (gzip.compress(gzip.compress(b"\0" * MANY)), "gzip, gzip"),
        (gzip.compress(b"\0" * MANY), "gzip"),
        (zstandard.ZstdCompressor().compress(b"\0" * MANY), "zstd"),
        (b"no gzip at all", "gzip"),
    ],
    ids=["twice", "gzip", "zstd", "not"],
)
async def test_a_packed_answer_takes_no_more_memory_than_an_answer_may(content: bytes, encoding: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ProviderFailed, match="its answer"):
            await asked(http(content, content_encoding=encoding))
        assert tracemalloc.get_traced_memory()[1] < MANY
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("part", [b"[],", b"{},", b"[[]],"], ids=["lists", "objects", "nested"])
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_brackets_is_not_read_into_very_many_times_its_size(part: bytes, stream: bool) -> None:
    said = b'{"choices": [' + part * ((8 << 20) // len(part)) + b"{}]}"
    answer = http(b"data: " + said + b"\n\n" + DONE if stream else said)
    tracemalloc.start()
    try:
        with pytest.raises(ProviderFailed, match="more parts than any"):
            await asked(answer, stream=stream)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(said)
    finally:
        tracemalloc.stop()


async def test_nor_is_a_refusal_of_brackets() -> None:
    with pytest.raises(RequestRefused) as refused:
        await asked(http(b"[" + b"[]," * 1_000_000 + b"1]", 400))
    assert refused.value.body is None


@pytest.mark.parametrize(
    "after",
    [
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2027 00:00:00 +99999999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "nan",
        "inf",
        "-1",
        "9" * 5000,
        "soon",
    ],
    ids=["year", "zone", "far", "nan", "inf", "past", "digits", "words"],
)
async def test_an_absurd_retry_after_is_no_reason_to_fail_or_to_wait_long(after: str) -> None:
    with pytest.raises(ProviderFailed, match="status 429") as failed:
        await asked(http(b"", 429, retry_after=after), tries=2)
    assert failed.value.tries == 2


@pytest.mark.parametrize(
    "quoted",
    [
        json.dumps(KEY),
        json.dumps(KEY).replace("/", "\\/"),
        json.dumps(KEY).replace("<", "\\u003c").replace("&", "\\u0026").replace(">", "\\u003e"),
        json.dumps(KEY).replace("s", "\\u0073"),
    ],
    ids=["plain", "slash", "markup", "letter"],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_key_is_taken_out_however_it_is_escaped(quoted: str, stream: bool) -> None:
    body = f'{{"error": {{"message": {quoted}, "headers": {{{quoted}: 1}}}}}}'.encode()
    with pytest.raises(RequestRefused) as refused:
        await asked(http(body, 400, x_key=KEY), stream=stream)
    assert refused.value.body == {"error": {"message": "***", "headers": {"***": 1}}}
    said = event(PART).replace(b'"x"', quoted.encode()) + DONE if stream else whole(ANSWER).split(b"\r\n\r\n")[1]
    parts = await asked(http(said.replace(b'"stop"', quoted.encode())), stream=stream)
    assert "***" in json.dumps(parts)
    assert json.dumps(KEY) not in json.dumps(parts)


@pytest.mark.parametrize(("status", "failure"), [(401, WronglySet), (400, RequestRefused), (500, ProviderFailed)])
async def test_a_refusal_counts_whatever_comes_with_it(status: int, failure: type[Exception]) -> None:
    with pytest.raises(failure):
        await asked(http(b"\x28\xb5no zstd", status, content_encoding="zstd"))


async def test_encryption_that_breaks_in_the_middle_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = certify(tmp_path, "127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.certificate, made.key)
    monkeypatch.setattr("certifi.where", lambda: str(made.authority))
    asked_times = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked_times
        await reader.readuntil(b"\r\n\r\n")
        asked_times += 1
        if asked_times == 1:
            broken = b"\x17\x03\x03\x00\x20" + b"\0" * 32  # a record that nobody encrypted
            os.write(writer.get_extra_info("socket").fileno(), broken)
            await reader.read()
        else:
            writer.write(whole(ANSWER))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    access = ModelAccess(url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    upstream = Upstream(access, ModelPatience(tries=2, call_seconds=30.0, backoff_seconds=0.01))
    answer = await upstream.ask("chat/completions", {"model": "m"}, stream=False)
    assert (answer.parts, answer.tries) == ([ANSWER], 2)
    await upstream.close()
    server.close()
