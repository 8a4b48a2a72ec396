"""What a gateway reads from its environment: messages of any length, of which those too long are answered for it."""

from __future__ import annotations

import asyncio
import json

import anyio
import pytest

from gauntlet_runtime.gateway.pipes import LINE_BYTES, TOO_LARGE, PipeReader

LARGE = "x" * (2 * LINE_BYTES + 12345)
SMALL = {"jsonrpc": "2.0", "id": 8, "result": {"content": []}}


def reader_of(*lines: str) -> PipeReader:
    stream = asyncio.StreamReader(limit=LINE_BYTES)
    stream.feed_data("".join(f"{line}\n" for line in lines).encode())
    stream.feed_eof()
    return PipeReader(stream)


def told(message):
    return message.message.model_dump(by_alias=True, exclude_unset=True)


@pytest.mark.parametrize(
    "line",
    [
        f'{{"jsonrpc": "2.0", "id": 7, "result": {{"content": [{{"type": "text", "text": "{LARGE}"}}]}}}}',
        f'{{"result":{{"content":[{{"type":"text","text":"{LARGE}"}}]}},"jsonrpc":"2.0","id":7}}',
        f'{{"jsonrpc":"2.0","result":{{"content":[{{"type":"text","text":"{LARGE}"}}]}},"id":7}}',
    ],
    ids=["id first", "id last", "id after the result"],
)
async def test_a_result_beyond_the_limit_becomes_a_refusal_of_its_call_and_the_next_is_read(line):
    reader = reader_of(line, json.dumps(SMALL))
    refusal = told(await reader.receive())
    assert (refusal["id"], refusal["error"]["code"]) == (7, TOO_LARGE)
    assert "larger than the 8 MiB" in refusal["error"]["message"]
    assert told(await reader.receive())["id"] == 8
    assert not reader.ended.is_set()


@pytest.mark.parametrize("code", [-32000, -32001])
async def test_a_programs_own_error_does_not_read_as_what_the_sdk_finds_itself(code):
    """A lost connection and a time-out."""
    error = {"code": code, "message": "no such pump", "data": {"pump": 7}}
    refusal = told(await reader_of(json.dumps({"jsonrpc": "2.0", "id": 7, "error": error})).receive())
    assert refusal["error"] == {**error, "code": -32603}


def asks(number: int, text: str = "") -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping", "params": {"_meta": {"text": text}}})


@pytest.mark.parametrize(("count", "text"), [(2000, ""), (10, "x" * (1 << 20))])
async def test_no_more_requests_are_held_than_are_answered(count, text):
    async def read(answered):
        reader = reader_of(*(asks(number, text) for number in range(count)))
        for _ in range(count):
            await reader.receive()
            if answered:
                reader.answered()

    await read(answered=True)
    with pytest.raises(anyio.EndOfStream):
        await read(answered=False)


async def test_a_line_exactly_at_the_limit_is_read():
    frame = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "@"}]}})
    line = frame.replace("@", "x" * (LINE_BYTES - len(frame) + 1))
    assert len(line) == LINE_BYTES
    assert "result" in told(await reader_of(line).receive())


@pytest.mark.parametrize(
    "line",
    [
        LARGE,
        f'{{"a": {{"id": 7}}, "text": "{LARGE}"}}',
        f'{{"text": "{LARGE}", "inner": {{"a": {{}}, "id": 7}}}}',
        f'{{"text": "{LARGE}\\", \\"id\\": 7}}"}}',
    ],
    ids=["no JSON", "an id further in, in front", "an id further in, at the end", "an id in a text"],
)
async def test_a_line_beyond_the_limit_that_answers_nothing_ends_the_stream(line):
    reader = reader_of(line, json.dumps(SMALL))
    with pytest.raises(anyio.EndOfStream):
        await reader.receive()
    assert reader.ended.is_set()


async def test_a_stream_that_ends_in_the_middle_of_a_long_line_ends():
    stream = asyncio.StreamReader(limit=LINE_BYTES)
    stream.feed_data(b'{"jsonrpc":"2.0","id":7,"result":"' + LARGE.encode())
    stream.feed_eof()
    with pytest.raises(anyio.EndOfStream):
        await PipeReader(stream).receive()
