"""The gateway of a score job's judge: a process that holds the judge's key, and serves the programs' sandboxes."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from typing import Final

import uvicorn
from pydantic import BaseModel, SecretStr
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from gauntlet_runtime.gateway.confine import confine
from gauntlet_runtime.gateway.http_protocol import AgentProtocol, HangUp
from gauntlet_runtime.gateway.judge_door import JudgeDoor
from gauntlet_runtime.gateway.judge_messages import (
    JUDGE_COMMANDS,
    JudgeBegin,
    ScorerClosed,
    ScorerEnded,
    ScorerStarting,
)
from gauntlet_runtime.gateway.messages import ModelReply, ModelsOffered, Ready, receive_message, send_message
from gauntlet_runtime.gateway.model_bank import ModelBank
from gauntlet_runtime.gateway.upstream import Upstream
from gauntlet_runtime.metering import ModelAccess

CONNECTIONS: Final = 64  # of one program; those beyond it are closed at once
KEEP_ALIVE_SECONDS: Final = 600


class Listener:
    """The HTTP server in one scoring program's sandbox."""

    def __init__(self, door: JudgeDoor, program: str) -> None:
        self._door = door
        self._program = program
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def listen(self, descriptor: int) -> None:
        """Serve on a listening socket."""
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            log_config=None,
            lifespan="off",
            ws="none",
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        config.load()

        def make() -> asyncio.Protocol:
            if len(self._state.connections) >= CONNECTIONS:
                return HangUp()
            return AgentProtocol(config=config, server_state=self._state, app_state={})

        listener = socket.socket(fileno=descriptor)
        listener.setblocking(False)
        self._server = await asyncio.get_running_loop().create_server(make, sock=listener)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._door.serve(self._program, scope, receive, send)

    def close(self) -> None:
        """Stop serving, and drop the connections."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.transport.abort()


class JudgeServer:
    """Reads commands, keeps the door, sends notices."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._listeners: dict[str, Listener] = {}

    async def run(self) -> None:
        """Serve until the supervisor closes its end of the control socket."""
        self._control.setblocking(False)
        inbox: asyncio.Queue[tuple[bytes, list[int]]] = asyncio.Queue()
        asyncio.get_running_loop().add_reader(self._control, lambda: inbox.put_nowait(receive_message(self._control)))
        self.notify(Ready(pid=os.getpid()))
        begin, offered = [await self._command(inbox) for _ in range(2)]
        if not isinstance(begin, JudgeBegin) or not isinstance(offered, ModelsOffered):
            raise RuntimeError("the first commands must hand over the judge and say where it is")
        access = ModelAccess(
            url=offered.url,
            key=SecretStr(offered.key),
            limit_field=offered.limit_field,
            public_only=offered.public_only,
            set_by=offered.set_by,
        )
        self._bank = ModelBank(self.notify, begin.folder)
        upstream = Upstream(access, begin.models.patience, provider=begin.models.provider)
        self._door = JudgeDoor(begin.models, self._bank, upstream, self.notify, limit_field=access.limit_field)
        while True:
            body, descriptors = await inbox.get()
            if not body:
                return
            await self._obey(JUDGE_COMMANDS.validate_json(body), descriptors)

    async def _command(self, inbox: asyncio.Queue[tuple[bytes, list[int]]]) -> BaseModel | None:
        body, _ = await inbox.get()
        return JUDGE_COMMANDS.validate_json(body) if body else None

    async def _obey(self, command: BaseModel, descriptors: list[int]) -> None:
        match command:
            case ModelReply():
                self._bank.reply(command)
            case ScorerStarting(program=program):
                self._listeners[program] = listener = Listener(self._door, program)
                for descriptor in descriptors:
                    await listener.listen(descriptor)
            case ScorerEnded(program=program):
                self._listeners.pop(program).close()
                self.notify(ScorerClosed(program=program))
            case _:
                raise RuntimeError(f"unexpected command {type(command).__name__}")

    def notify(self, notice: BaseModel) -> None:
        """Tell the supervisor; a supervisor that is gone ends this process."""
        self._control.setblocking(True)
        try:
            send_message(self._control, notice)
        except OSError:
            os._exit(1)
        finally:
            self._control.setblocking(False)


def serve_judge(control: socket.socket) -> None:
    """Be the gateway of one score job's judge until its supervisor is gone."""
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    confine()
    asyncio.run(JudgeServer(control).run())
