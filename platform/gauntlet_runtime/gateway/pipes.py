"""The MCP SDK's message streams over a pair of pipes that somebody else opened."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

LINE_BYTES: Final = 8 << 20  # longest message that an environment may send
TOO_LARGE: Final = -32013  # a JSON-RPC code that no SDK gives a meaning
TOO_LARGE_MESSAGE: Final = (
    f"The tool's result is larger than the {LINE_BYTES >> 20} MiB that a result may have. Ask it for less."
)
_THE_SDKS: Final = (mcp_types.CONNECTION_CLOSED, mcp_types.REQUEST_TIMEOUT)
_REQUEST_BYTES: Final = 8 << 10  # what a request that is not answered yet is held with, beside its line
_ENDS: Final = 256  # of a line that is too long, at each end: where the id of the request stands that it answers
# Ours are numbers. Some SDKs write the id before the result, others after it; nothing of the result lies in between.
_ANSWERED: Final = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')
_ANSWERED_LAST: Final = re.compile(rb'\}\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*\}\s*$')

_log = logging.getLogger(__name__)


class PipeReader:
    """Reads newline-delimited JSON-RPC; what is not JSON-RPC ends the stream, like the end of the pipe.

    Satisfies `mcp.shared._stream_protocols.ReadStream`. It parses in the task that asks for a message: no task of its
    own and no queue in between, which the SDK's stdio transport spends a third of a call on.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._unanswered = 0  # requests of the other side's
        self._held = 0  # bytes since none was unanswered
        self.ended = asyncio.Event()

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: nothing comes any more.
        """
        try:
            line = await self._line()
            if line.endswith(b"\n"):
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                return SessionMessage(self._admitted(message, size=len(line)))
        except (ValueError, OSError) as error:  # not JSON-RPC, more than can be held, or a broken pipe
            _log.debug("the environment's stream ended: %s", type(error).__name__)
        self.ended.set()
        raise anyio.EndOfStream

    def _admitted(self, message: mcp_types.JSONRPCMessage, *, size: int) -> mcp_types.JSONRPCMessage:
        """The message as the SDK is to see it.

        Raises:
            ValueError: requests without end, whose answers are not read.
        """
        if isinstance(message, mcp_types.JSONRPCError) and message.error.code in _THE_SDKS:
            # The SDK gives these to what it finds itself: a program's own would read as its end.
            return message.model_copy(
                update={"error": message.error.model_copy(update={"code": mcp_types.INTERNAL_ERROR})}
            )
        if isinstance(message, mcp_types.JSONRPCRequest):
            self._unanswered += 1
            self._held += size + _REQUEST_BYTES
            if self._held > LINE_BYTES + _REQUEST_BYTES:
                raise ValueError("requests whose answers are not read")
        return message

    def answered(self) -> None:
        """A request of the other side's was answered, and the answer is on its way."""
        self._unanswered -= 1
        if self._unanswered == 0:
            self._held = 0

    async def _line(self) -> bytes:
        """The next line; in the place of one beyond the limit, which is dropped, the refusal of what it answers."""
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            head, tail = await self._drop_line()
        request = _ANSWERED.match(head) or _ANSWERED_LAST.search(tail)
        if request is None:
            raise ValueError("a line beyond the limit that answers no request")
        identity = int(request.group(1))
        refusal = {"code": TOO_LARGE, "message": TOO_LARGE_MESSAGE}
        return json.dumps({"jsonrpc": "2.0", "id": identity, "error": refusal}).encode() + b"\n"

    async def _drop_line(self) -> tuple[bytes, bytes]:
        """Read on to the end of the line, and return where it began and where it ended."""
        head = tail = b""
        while not tail.endswith(b"\n"):
            try:
                part = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                part = await self._reader.readexactly(error.consumed)
            except asyncio.IncompleteReadError as error:
                raise ValueError("the stream ended in the middle of a line") from error
            head = head or part[:_ENDS]
            tail = (tail + part)[-_ENDS:]
        return head, tail

    async def aclose(self) -> None:
        """Nothing more will be read."""
        self.ended.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class PipeWriter:
    """Writes newline-delimited JSON-RPC. Satisfies `mcp.shared._stream_protocols.WriteStream`.

    Args:
        seconds: for which the other side may leave a message unread; the SDK's own time-out begins after the writing
        answered: called with each answer to a request of the other side's, once it is written
    """

    def __init__(self, writer: asyncio.StreamWriter, *, seconds: float, answered: Callable[[], None]) -> None:
        self._writer = writer
        self._seconds = seconds
        self._answered = answered

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message.

        Raises:
            anyio.BrokenResourceError: the other side is gone, or reads nothing any more.
        """
        try:
            self._writer.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            async with asyncio.timeout(self._seconds):
                await self._writer.drain()
            if isinstance(item.message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
                self._answered()
        except OSError as error:  # TimeoutError is one
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Close the pipe: the program reads its end."""
        self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


async def open_pipes(stdin: int, stdout: int, *, write_seconds: float) -> tuple[PipeReader, PipeWriter]:
    """Take over the descriptors of a program's stdin (to write) and stdout (to read)."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdout, "rb", buffering=0))
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(stdin, "wb", buffering=0)
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    requests = PipeReader(reader)
    return requests, PipeWriter(writer, seconds=write_seconds, answered=requests.answered)
