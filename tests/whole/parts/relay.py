"""Lets what listens on unix sockets be reached over TCP, from every address of this network namespace.

python relay.py PORT=SOCKET [PORT=SOCKET ...]
"""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def main(doors: list[str]) -> None:
    """Listen at every door until the end."""
    await asyncio.gather(*(serve(int(port), path) for port, _, path in (door.partition("=") for door in doors)))


async def serve(port: int, path: str) -> None:
    """One door: what comes in at ``port`` goes to the socket, and back."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            inner_reader, inner_writer = await asyncio.open_unix_connection(path)
            await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))

    async with await asyncio.start_server(connected, "0.0.0.0", port) as server:  # noqa: S104 - of a namespace of ours
        await server.serve_forever()


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy until one of them is closed."""
    with contextlib.suppress(OSError):
        while chunk := await source.read(1 << 16):
            target.write(chunk)
            await target.drain()
    target.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
