"""The gateway's side of a tool that takes code: it hands the code to its supervisor, who runs it, and waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from gauntlet_runtime.gateway.environment import error_result
from gauntlet_runtime.gateway.messages import CodeRan, CodeUnwanted, CodeWanted

CODE_BYTES: Final = 64 << 10
PROGRAM_NAME: Final = "main.py"


class CodeBench:
    """Single-threaded, on the gateway's event loop.

    Args:
        tool: the tool's name
        notify: tells the supervisor
        folder: where the code is laid down for it
    """

    def __init__(self, tool: str, notify: Callable[[BaseModel], None], folder: Path) -> None:
        self.tool = tool
        self._notify = notify
        self._folder = folder / "code"
        self._folder.mkdir()
        self._waiting: dict[int, asyncio.Future[CodeRan]] = {}
        self._count = 0

    async def run(self, arguments: dict[str, Any], *, until: asyncio.Event) -> dict[str, Any]:
        """The raw MCP result of a call: what the code printed and how it ended.

        Once ``until`` is set nobody waits for the code any more, and it is ended.
        """
        code = arguments.get("code")
        if not isinstance(code, str) or set(arguments) != {"code"}:
            return error_result(f"{self.tool} takes one argument, code: the text of a Python program.")
        program = code.encode(errors="surrogatepass")
        if len(program) > CODE_BYTES:
            return error_result(f"The code has {len(program):,} bytes; at most {CODE_BYTES:,} are run. Shorten it.")
        self._count += 1
        number = self._count
        folder = self._folder / str(number)
        folder.mkdir()
        (folder / PROGRAM_NAME).write_bytes(program)
        for path, mode in ((folder, 0o755), (folder / PROGRAM_NAME, 0o644)):  # whatever the umask: another uid reads it
            path.chmod(mode)
        waiting: asyncio.Future[CodeRan] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        over = asyncio.ensure_future(until.wait())
        try:
            self._notify(CodeWanted(id=number, folder=folder))
            await asyncio.wait([waiting, over], return_when=asyncio.FIRST_COMPLETED)  # type: ignore[type-var]
        finally:
            over.cancel()
            del self._waiting[number]
            if not waiting.done():
                self._notify(CodeUnwanted(id=number))
        if not waiting.done():
            return error_result("The episode is over, and its code was ended.")
        path = waiting.result().result
        result: dict[str, Any] = json.loads(path.read_bytes())
        path.unlink()
        return result

    def ran(self, ran: CodeRan) -> None:
        """The supervisor's word."""
        waiting = self._waiting.get(ran.id)
        if waiting is None:  # it came as the episode ended
            ran.result.unlink(missing_ok=True)
        elif not waiting.done():
            waiting.set_result(ran)
