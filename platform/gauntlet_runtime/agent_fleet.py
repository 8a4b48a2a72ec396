"""The agent's sandboxes of one run job: those that run, and one that is ready for the next episode."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import structlog

from gauntlet_runtime.agent_sandbox import AgentSandbox
from gauntlet_runtime.gateway.pool import GatewayProcess
from gauntlet_runtime.sandbox.interface import SandboxError

LOG_BYTES: Final = 64 << 10

_log = structlog.get_logger(__name__)


class AgentFleet:
    """Call it from the thread that owns the job: sandboxes live and die with it.

    Args:
        make: prepares the sandbox of this generation, which does not run yet
        gateway: is told of each start
        ended: called once for each that ran, from another thread
    """

    def __init__(
        self,
        make: Callable[[int], AgentSandbox],
        *,
        gateway: GatewayProcess,
        ended: Callable[[AgentSandbox, SandboxError | None], None],
    ) -> None:
        self._make = make
        self._gateway = gateway
        self._ended = ended
        self._generation = 0
        self._spare: AgentSandbox | None = None
        self._running: dict[int, AgentSandbox] = {}
        self._since = 0.0
        self._log = ""
        self.seconds = 0.0  # wall time in which at least one ran
        self.unclosed: dict[int, AgentSandbox] = {}  # started, and the gateway has not told yet that all is closed

    @property
    def log(self) -> str:
        """The end of what those that ended printed, a heading each."""
        return self._log[-LOG_BYTES:]

    def start(self) -> None:
        """Let the program run in the prepared sandbox, or in a new one.

        Raises:
            SandboxError
        """
        agent, self._spare = self._spare or self._made(), None
        if not self._running:
            self._since = time.monotonic()
        self._running[agent.generation] = self.unclosed[agent.generation] = agent
        agent.start(self._gateway, self._ended)

    def start_early(self) -> None:
        """Let the program run before there is an episode for it; where a sandbox can be had.

        Raises:
            SandboxError: there is one, and the program cannot be started in it.
        """
        self.prepare()
        if self._spare is not None:
            self.start()

    def prepare(self) -> None:
        """Have a sandbox ready, so that the next episode does not wait for one; where it can be had."""
        if self._spare is None:
            try:
                self._spare = self._made()
            except SandboxError as error:  # `start` tries once more, when it matters
                _log.warning("spare_sandbox_not_made", reason=str(error))

    def _made(self) -> AgentSandbox:
        self._generation += 1
        return self._make(self._generation)

    def stop(self, generation: int) -> None:
        """End one that does not work any more, if it has not left by itself."""
        agent = self._running.get(generation)
        if agent is not None:
            agent.stopped_idle = True
            agent.kill()

    def over(self, agent: AgentSandbox) -> None:
        """It has ended: keep what it printed, and remove it from the host."""
        del self._running[agent.generation]
        if not self._running:
            self.seconds += time.monotonic() - self._since
        try:
            self._log = f"{self._log}===== start {agent.generation} of the agent =====\n{agent.log()}"[-LOG_BYTES:]
        finally:
            agent.close()

    def close(self) -> None:
        """End and remove them all."""
        with ExitStack() as stack:
            if self._spare is not None:
                stack.callback(self._spare.close)
            for agent in list(self._running.values()):
                stack.callback(self._end, agent)

    def _end(self, agent: AgentSandbox) -> None:
        agent.kill()
        self.over(agent)
