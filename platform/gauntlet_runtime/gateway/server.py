"""The gateway process: one run job, spoken to over its control socket, serving HTTP on the sockets it is handed."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn
from pydantic import BaseModel, SecretStr
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from gauntlet_runtime.gateway.actions import Actions
from gauntlet_runtime.gateway.app import EpisodeApi
from gauntlet_runtime.gateway.bodies import BodyRoom
from gauntlet_runtime.gateway.code_bench import CodeBench
from gauntlet_runtime.gateway.confine import confine
from gauntlet_runtime.gateway.fatal import watch
from gauntlet_runtime.gateway.http_protocol import AgentProtocol, HangUp
from gauntlet_runtime.gateway.job import Job
from gauntlet_runtime.gateway.messages import (
    COMMANDS,
    AgentEnded,
    AgentStarting,
    Begin,
    CodeRan,
    EnvironmentDown,
    EnvironmentUp,
    JobSetup,
    ModelReply,
    ModelsOffered,
    Ready,
    receive_message,
    send_message,
)
from gauntlet_runtime.gateway.model_bank import ModelBank
from gauntlet_runtime.gateway.model_door import ModelDoor
from gauntlet_runtime.gateway.tool_door import ToolDoor
from gauntlet_runtime.gateway.upstream import Upstream
from gauntlet_runtime.metering import ModelAccess

KEEP_ALIVE_SECONDS: Final = 3600  # an agent may think for long between two calls on one connection
CONNECTIONS: Final = 512  # of one agent; those beyond it are closed at once, and those that are open go on working


def _read_setup(path: Path) -> JobSetup:
    return JobSetup.model_validate_json(path.read_bytes())


class Listeners:
    """The HTTP servers of one agent sandbox.

    They are uvicorn's protocol on sockets of our own: its Server class would add a startup, a shutdown with pauses and
    signal handlers, and could not take another socket later.
    """

    def __init__(self, api: EpisodeApi, generation: int) -> None:
        self._api = api
        self._generation = generation
        self._state = ServerState()
        self._config = uvicorn.Config(
            self._app,
            interface="asgi3",
            log_config=None,
            lifespan="off",
            ws="none",
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        self._config.load()
        self._servers: list[asyncio.Server] = []

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._api.serve(self._generation, scope, receive, send)

    async def listen(self, descriptor: int) -> None:
        """Serve on a listening socket."""
        listener = socket.socket(fileno=descriptor)
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        make = _protocol_factory(self._config, self._state)
        if listener.family == socket.AF_UNIX:
            self._servers.append(await loop.create_unix_server(make, sock=listener))
        else:
            self._servers.append(await loop.create_server(make, sock=listener))

    def close(self) -> None:
        """Stop serving, and drop the connections: whoever was at the other end is gone."""
        for server in self._servers:
            server.close()
        for connection in list(self._state.connections):
            connection.transport.abort()


def _protocol_factory(config: uvicorn.Config, state: ServerState) -> Callable[[], asyncio.Protocol]:
    def make() -> asyncio.Protocol:
        if len(state.connections) >= CONNECTIONS:
            return HangUp()
        return AgentProtocol(config=config, server_state=state, app_state={})

    return make


class GatewayServer:
    """Reads commands, keeps the job, sends notices."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._job: Job | None = None
        self._api: EpisodeApi | None = None
        self._bank: ModelBank | None = None
        self._bench: CodeBench | None = None
        self._room = BodyRoom()
        self._listeners: dict[int, Listeners] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until the supervisor closes its end of the control socket."""
        self._control.setblocking(False)
        loop = asyncio.get_running_loop()
        inbox: asyncio.Queue[tuple[bytes, list[int]]] = asyncio.Queue()
        loop.add_reader(self._control, lambda: inbox.put_nowait(receive_message(self._control)))
        self.notify(Ready(pid=os.getpid()))
        body, _ = await inbox.get()
        if not body:
            return
        begin = COMMANDS.validate_json(body)
        if not isinstance(begin, Begin):
            raise RuntimeError("the first command must hand over the job")
        setup = _read_setup(begin.setup)
        self._job = Job(setup, self.notify)
        if setup.code_tool is not None:
            self._bench = CodeBench(setup.code_tool, self.notify, setup.folder)
        actions = Actions(self._job, self._bench)
        door = ToolDoor(actions, self._room)
        models = await self._models(setup, actions, inbox) if setup.models is not None else None
        self._api = EpisodeApi(self._job, actions, door, models)
        async with door.run():
            while True:
                body, descriptors = await inbox.get()
                if not body:
                    return
                await self._obey(COMMANDS.validate_json(body), descriptors)

    async def _models(
        self, setup: JobSetup, actions: Actions, inbox: asyncio.Queue[tuple[bytes, list[int]]]
    ) -> ModelDoor:
        """The second command of a job with models says where they are."""
        body, _ = await inbox.get()
        offered = COMMANDS.validate_json(body) if body else None
        if not isinstance(offered, ModelsOffered) or setup.models is None or self._job is None:
            raise RuntimeError("the command after the job must offer its models")
        access = ModelAccess(
            url=offered.url,
            key=SecretStr(offered.key),
            limit_field=offered.limit_field,
            public_only=offered.public_only,
            set_by=offered.set_by,
        )
        self._bank = ModelBank(self.notify, setup.folder)
        upstream = Upstream(access, setup.models.patience, provider=setup.models.provider)
        return ModelDoor(
            setup.models,
            self._job,
            actions,
            self._bank,
            upstream,
            self._room,
            limit_field=access.limit_field,
            most_seconds=setup.model_seconds,
        )

    async def _obey(self, command: BaseModel, descriptors: list[int]) -> None:
        assert self._job is not None  # noqa: S101 - run() made them before the first command
        assert self._api is not None  # noqa: S101
        match command:
            case ModelReply() if self._bank is not None:
                self._bank.reply(command)
            case CodeRan() if self._bench is not None:
                self._bench.ran(command)
            case EnvironmentUp(slot=slot):
                self._job.environment_up(slot, *descriptors)
            case EnvironmentDown(slot=slot, message=message):
                self._job.environment_down(slot, message)
            case AgentStarting(generation=generation):
                self._job.agent_starting(generation)
                self._listeners[generation] = listeners = Listeners(self._api, generation)
                for descriptor in descriptors:
                    await listeners.listen(descriptor)
            case AgentEnded(generation=generation, failure=failure, message=message):
                self._listeners.pop(generation).close()
                task = asyncio.create_task(self._job.agent_ended(generation, failure, message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                task.add_done_callback(watch)
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


def serve(control: socket.socket) -> None:
    """Be the gateway of one run job until its supervisor is gone."""
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what an agent sends must not fill the operator's log
    confine()
    asyncio.run(GatewayServer(control).run())
