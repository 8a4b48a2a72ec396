"""uvicorn's HTTP/1.1 protocol, with each answer in one write."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from weakref import WeakSet

from uvicorn.protocols.http.h11_impl import H11Protocol

UNREAD_BYTES: Final = 256 << 20  # of answers that were asked for and are not read, in all of a job's connections


class JoinedWrites(asyncio.Transport):
    """A transport that sends what was written during one step of the event loop at once.

    uvicorn writes the head of an answer and its body apart. As two packets they wake an agent's client twice, and each
    wake-up of a busy machine's process costs more than everything else that the gateway does for a call.

    Who asks on many connections and reads none of the answers is hung up on, before they use up the gateway's memory.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._pending = bytearray()
        _all_writes.add(self)

    def get_write_buffer_size(self) -> int:
        return len(self._pending) + self._transport.get_write_buffer_size()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not data:
            return
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending += data

    def _flush(self) -> None:
        if self._pending:
            self._transport.write(bytes(self._pending))
            self._pending.clear()
            if self._transport.get_write_buffer_size() and _unread() > UNREAD_BYTES:
                self.abort()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._pending.clear()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)


_all_writes: Final[WeakSet[JoinedWrites]] = WeakSet()


def _unread() -> int:
    return sum(writes.get_write_buffer_size() for writes in _all_writes)


class HangUp(asyncio.Protocol):
    """A connection too many: it holds a descriptor no longer than it takes to say so."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - listeners are of streams only
        transport.abort()


class AgentProtocol(H11Protocol):
    """One connection of an agent."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(JoinedWrites(transport))
