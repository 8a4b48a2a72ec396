"""One start of an agent: its sandbox, the door that it is given, and what it said."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gauntlet_runtime.agent_program import AgentProgram
from gauntlet_runtime.environments import BARE_ENVIRONMENT, PROGRAM_FOLDER
from gauntlet_runtime.gateway.messages import AgentStarting
from gauntlet_runtime.gateway.pool import GatewayProcess
from gauntlet_runtime.jobs import Failure
from gauntlet_runtime.sandbox.interface import Limits, Mount, Run, Sandbox, SandboxError, SandboxSpec, Verdict
from gauntlet_runtime.verdicts import readable

PACKAGES_FOLDER: Final = "/app/packages"
DOOR_FOLDER: Final = "/run/gauntlet"
DOOR_NAME: Final = "gateway.sock"
DOOR_PORT: Final = 8080
MODEL_ENVIRONMENT: Final = {  # what clients of this protocol look for; the key is outside, and they want one
    "GAUNTLET_LLM_URL": f"http://127.0.0.1:{DOOR_PORT}/llm/v1",
    "OPENAI_BASE_URL": f"http://127.0.0.1:{DOOR_PORT}/llm/v1",
    "OPENAI_API_KEY": "none",
}
LOG_BYTES: Final = 32 << 10  # of each stream of each start


class AgentSandbox:
    """An agent that runs. Start and close it in the thread that owns the job."""

    def __init__(
        self,
        program: AgentProgram,
        *,
        generation: int,
        sandbox: Sandbox,
        doors: Path,
        limits: Limits,
        owner: str,
        label: str,
        parallel: int = 1,
        models: bool = False,
    ) -> None:
        self.generation = generation
        self.verdict: Verdict | None = None
        self.limits = limits
        self.failure: Failure | None = None  # why it ended, once it has
        self.stopped_idle = False
        self._door = doors / str(generation)
        self._door.mkdir()
        self._door.chmod(0o755)
        mounts = [Mount(target=DOOR_FOLDER, source=self._door)]
        if program.folder is not None:
            mounts.append(Mount(target=PROGRAM_FOLDER, source=program.folder))
        container = program.spec.container
        # An image's own variables come first: none can stand in the place of the platform's.
        environment = {
            **(container.environment if container is not None else {}),
            **BARE_ENVIRONMENT,
            "GAUNTLET_URL": f"http://127.0.0.1:{DOOR_PORT}",
            "GAUNTLET_SOCKET": f"{DOOR_FOLDER}/{DOOR_NAME}",
            "GAUNTLET_PARALLEL_EPISODES": str(parallel),
            **(MODEL_ENVIRONMENT if models else {}),
        }
        if program.packages is not None:
            mounts.append(Mount(target=PACKAGES_FOLDER, source=program.packages))
            environment["PYTHONPATH"] = PACKAGES_FOLDER
        self._run: Run = sandbox.prepare(
            SandboxSpec(
                image=program.image,
                command=program.spec.command,
                label=f"{label}-agent-{generation}",
                owner=owner,
                environment=environment,
                working_directory=PROGRAM_FOLDER if container is None else container.working_directory,
                mounts=mounts,
                limits=limits,
            )
        )

    def start(self, gateway: GatewayProcess, ended: Callable[[AgentSandbox, SandboxError | None], None]) -> None:
        """Open the door on both sides, then let the program run; ``ended`` is called once, from another thread.

        Raises:
            SandboxError
        """
        with self._run.listen(DOOR_PORT) as tcp, _unix_listener(self._door / DOOR_NAME) as unix:
            gateway.send(AgentStarting(generation=self.generation), [tcp.fileno(), unix.fileno()])
        self._run.start()
        threading.Thread(target=self._watch, args=(ended,), name="agent", daemon=True).start()

    def _watch(self, ended: Callable[[AgentSandbox, SandboxError | None], None]) -> None:
        error: SandboxError | None = None
        try:
            self.verdict = self._run.wait()
        except SandboxError as problem:
            error = problem
        ended(self, error)

    def kill(self) -> None:
        """End it at once."""
        self._run.kill()

    def log(self) -> str:
        """The end of what it printed, with headings."""
        parts = []
        for stream in ("stdout", "stderr"):
            tail = readable(self._run.log_tail(stream, LOG_BYTES)).strip("\n")
            if tail:
                parts.append(f"----- {stream} -----\n{tail}\n")
        return "".join(parts)

    def close(self) -> None:
        """Remove it from the host. Idempotent."""
        self._run.close()


def _unix_listener(path: Path) -> socket.socket:
    """The door's socket file, anew. Mode 0666: the sandbox's uid is not ours, and the folder is mounted only there."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A path below the job's folder can be longer than the 107 bytes that a socket address holds.
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    path.chmod(0o666)
    listener.listen(64)
    listener.setblocking(False)
    return listener
