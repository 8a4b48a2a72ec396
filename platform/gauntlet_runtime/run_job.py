"""The supervisor of a run job: it owns the sandboxes, watches the gateway, and decides what an agent's end means."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gauntlet_runtime.agent_sandbox import AgentSandbox
from gauntlet_runtime.environments import Environments
from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.gateway.messages import (
    AgentClosed,
    AgentEnded,
    AgentIdle,
    Begin,
    EnvironmentLost,
    EpisodeEnded,
    EpisodeOpened,
    JobSetup,
    Notice,
)
from gauntlet_runtime.gateway.pool import GatewayLost, GatewayPool
from gauntlet_runtime.gateway.recorder import pack
from gauntlet_runtime.jobs import EpisodeResult, EpisodeSpec, Failure, JobEvent, LeaseLost, RunResult, RunSpec
from gauntlet_runtime.packages import PackagesRefused, install_packages, wants_packages
from gauntlet_runtime.provenance import run_provenance
from gauntlet_runtime.sandbox.interface import Cause, Sandbox, SandboxError, Verdict
from gauntlet_runtime.verdicts import agent_failure, never_asked, sandbox_limits
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

PLATFORM_SECONDS: Final = 120.0  # how long an agent may wait for its environment, an episode
CALL_SECONDS: Final = 120.0  # after which a tool call that was not answered means that the environment hangs
IDLE_SECONDS: Final = 60.0  # an agent without an open episode, while some are left, is stopped after this (or longer)
GRACE_SECONDS: Final = 10.0  # the same, after it let an episode run out of time
LEAVE_SECONDS: Final = 2.0  # how long an agent may tidy up after its last episode
LOG_BYTES: Final = 64 << 10
_POLL_SECONDS: Final = 0.1  # how soon a cancelled job notices
_BARREN_STARTS: Final = 2  # starts in a row that open no episode; then the agent is given up


@dataclass(frozen=True)
class AgentOver:
    """From the agent's watcher: its sandbox ended."""

    agent: AgentSandbox
    error: SandboxError | None


@dataclass(frozen=True)
class GatewayOver:
    """From the gateway's reader: its socket was closed."""


@dataclass(frozen=True)
class Trouble:
    """From an environment's watcher: the sandbox failed, not the program."""

    error: SandboxError


class RunJob:
    """One run job, from its spec to its result. Everything but the watchers runs in the thread that calls `run`."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        sandbox: Sandbox,
        folder: Path,
        files: ArtifactFolders,
        packages: Path | None,
        pool: GatewayPool,
        owner: str,
        label: str,
        on_event: Callable[[JobEvent, dict[str, Any]], None],
        cancelled: threading.Event,
    ) -> None:
        self._spec = spec
        self._sandbox = sandbox
        self._folder = folder
        self._files = files
        self._packages_cache = packages or folder / "packages"
        self._pool = pool
        self._owner = owner
        self._label = label
        self._on_event = on_event
        self._cancelled = cancelled
        self._slots = max(1, min(spec.max_parallel_episodes, len(spec.episodes)))
        self._inbox: queue.SimpleQueue[Notice | AgentOver | GatewayOver | Trouble] = queue.SimpleQueue()
        self._results: dict[str, EpisodeResult] = {}
        self._failure: Failure | None = None
        self._agent: AgentSandbox | None = None
        self._generation = 0
        self._started = 0.0
        self._agent_seconds = 0.0
        self._agent_over = False
        self._agent_closed = False
        self._last_failure: Failure | None = None
        self._last_verdict: Verdict | None = None
        self._crashed: set[str] = set()
        self._probing = spec.probe
        self._barren = 0
        self._stopped_idle = False
        self._leave_by: float | None = None
        self._log = ""

    def run(self) -> RunResult:
        """See `gauntlet_runtime.episodes.run_episodes`."""
        provenance = run_provenance(self._spec, self._sandbox)
        if not self._spec.episodes:
            return RunResult(episodes=[], provenance=provenance)
        self._program = self._files.folder(self._spec.agent.bundle)
        refused = self._find_packages()
        if refused is not None:
            return RunResult(episodes=[], failure=refused.failure, log=refused.log, provenance=provenance)
        environment = self._environment_folders()
        self._gateway = self._pool.spawn()
        reader = threading.Thread(target=self._read_notices, name=f"{self._label}-gateway", daemon=True)
        reader.start()
        self._environments = self._make_environments(*environment)
        try:
            self._begin()
            self._start_agent()
            while not self._over():
                self._step()
        finally:
            try:
                self._close()
            finally:
                reader.join()
                self._gateway.release()
        return RunResult(
            episodes=[self._results[e.episode] for e in self._spec.episodes if e.episode in self._results],
            failure=self._failure,
            log=self._log[-LOG_BYTES:],
            environment_log=self._environments.log,
            agent_seconds=self._agent_seconds,
            provenance=provenance,
        )

    # Start

    def _find_packages(self) -> PackagesRefused | None:
        agent = self._spec.agent
        self._packages: Path | None = None
        if agent.packages is not None:
            self._packages = self._files.folder(agent.packages)
        elif wants_packages(self._program):
            installed = install_packages(
                self._program,
                sandbox=self._sandbox,
                cache=self._packages_cache,
                image=agent.image,
                owner=self._owner,
                label=self._label,
                cancelled=self._cancelled,
            )
            if isinstance(installed, PackagesRefused):
                return installed
            self._packages = installed
        return None

    def _environment_folders(self) -> tuple[Path, Path | None]:
        environment = self._spec.environment
        return (
            self._files.folder(environment.program),
            self._files.folder(environment.data) if environment.data is not None else None,
        )

    def _make_environments(self, program: Path, data: Path | None) -> Environments:
        return Environments(
            self._spec.environment,
            sandbox=self._sandbox,
            program=program,
            data=data,
            owner=self._owner,
            label=self._label,
            gateway=self._gateway,
            fail=lambda error: self._inbox.put(Trouble(error)),
        )

    def _begin(self) -> None:
        self._door = self._folder / "door"
        self._door.mkdir()
        self._door.chmod(0o755)
        self._gateway.send(Begin(setup=self._write_setup()))
        for slot in range(self._slots):
            self._environments.start(slot)

    def _write_setup(self) -> Path:
        records = self._folder / "records"
        records.mkdir()
        limits = self._spec.episode_limits
        idle = min(self._spec.agent_limits.seconds, max(IDLE_SECONDS, limits.episode_seconds))
        setup = JobSetup(
            episodes=self._spec.episodes,
            limits=limits,
            slots=self._slots,
            probe=self._spec.probe,
            folder=records,
            idle_seconds=idle,
            grace_seconds=min(GRACE_SECONDS, idle),
            call_seconds=CALL_SECONDS,
        )
        path = self._folder / "setup.json"
        path.write_text(setup.model_dump_json())
        return path

    def _start_agent(self) -> None:
        self._generation += 1
        # Episodes have clocks of their own, which stand still while the agent waits for its environment; the sandbox's
        # does not, so it gets that time on top. It is what ends an agent that neither works nor leaves.
        waiting = PLATFORM_SECONDS * len(self._left())
        limits = sandbox_limits(self._spec.agent_limits, seconds=self._spec.agent_limits.seconds + waiting)
        self._agent = AgentSandbox(
            self._spec.agent,
            generation=self._generation,
            sandbox=self._sandbox,
            program=self._program,
            packages=self._packages,
            door=self._door,
            limits=limits,
            owner=self._owner,
            label=self._label,
        )
        self._agent_over = self._agent_closed = False
        self._stopped_idle = False
        self._started = time.monotonic()
        self._agent.start(self._gateway, lambda agent, error: self._inbox.put(AgentOver(agent, error)))

    def _read_notices(self) -> None:
        while (notice := self._gateway.receive()) is not None:
            self._inbox.put(notice)
        self._inbox.put(GatewayOver())

    # Steps

    def _left(self) -> list[EpisodeSpec]:
        return [episode for episode in self._spec.episodes if episode.episode not in self._results]

    def _over(self) -> bool:
        """Every wanted episode has its result, and the agent has left or had its time for that."""
        if self._failure is not None:
            return True
        if self._left() or self._leave_by is None:
            return False
        return self._agent_closed or time.monotonic() > self._leave_by

    def _step(self) -> None:
        if self._cancelled.is_set():
            raise LeaseLost
        try:
            event = self._inbox.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            return
        match event:
            case EpisodeOpened(episode=episode, attempt=attempt):
                self._on_event(JobEvent.EPISODE_STARTED, {"episode": episode, "attempt": attempt})
            case EpisodeEnded():
                self._keep(event)
            case EnvironmentLost(slot=slot, served=served):
                self._environments.lost(slot, served=served)
            case AgentIdle(generation=generation):
                self._stop_idle(generation)
            case AgentOver(agent=agent, error=error):
                self._agent_ended(agent, error)
            case AgentClosed():
                self._after_agent(event)
            case Trouble(error=error):
                raise error
            case GatewayOver():
                raise GatewayLost("The gateway ended unexpectedly.")

    def _keep(self, ended: EpisodeEnded) -> None:
        trajectory = None
        if ended.folder is not None:
            trajectory = pack(ended.folder, self._folder / f"trajectory-{ended.folder.name}.zip")
        self._results[ended.episode] = EpisodeResult(
            episode=ended.episode,
            outcome=ended.outcome,
            failure=ended.failure,
            message=ended.message,
            seconds=ended.seconds,
            steps=ended.steps,
            tool_calls=ended.tool_calls,
            trajectory=trajectory,
        )
        if self._agent_over and self._last_failure is not None and ended.message == self._last_failure.message:
            self._crashed.add(ended.episode)
        self._tell_end(ended.episode)
        if self._probing and ended.episode not in self._crashed and ended.failure is not FailureCode.ENVIRONMENT_ERROR:
            self._probing = False
            self._on_event(JobEvent.AGENT_PROVEN, {})

    def _tell_end(self, episode: str) -> None:
        result = self._results[episode]
        self._on_event(
            JobEvent.EPISODE_ENDED,
            {"episode": episode, "outcome": result.outcome.value, "failure": result.failure and result.failure.value},
        )
        if not self._left():
            self._leave_by = time.monotonic() + LEAVE_SECONDS

    def _stop_idle(self, generation: int) -> None:
        if self._agent is not None and not self._agent_over and self._agent.generation == generation:
            self._stopped_idle = True
            self._agent.kill()

    # The agent's end

    def _agent_ended(self, agent: AgentSandbox, error: SandboxError | None) -> None:
        if error is not None:
            raise error
        self._agent_over = True
        self._agent_seconds += time.monotonic() - self._started
        self._last_failure, self._last_verdict = self._why(agent), agent.verdict
        self._log += f"===== start {agent.generation} of the agent =====\n{agent.log()}"
        self._log = self._log[-LOG_BYTES:]
        agent.close()
        self._agent = None
        self._gateway.send(
            AgentEnded(generation=agent.generation, failure=self._last_failure.code, message=self._last_failure.message)
        )

    def _why(self, agent: AgentSandbox) -> Failure:
        verdict = agent.verdict
        if verdict is None:
            raise SandboxError("The agent's sandbox ended without a verdict.")
        if self._stopped_idle and verdict.cause is Cause.CANCELLED:
            return Failure(
                code=FailureCode.TIME_LIMIT,
                message="The agent was stopped because it did not ask for its next episode in time.",
            )
        return agent_failure(verdict, limits=agent.limits)

    def _after_agent(self, closed: AgentClosed) -> None:
        """All that the ended sandbox left open has its result by now: go on, or give up."""
        failure = self._last_failure
        if failure is None:
            raise SandboxError("The gateway closed an agent that did not end.")
        self._agent_closed = True
        if self._probing and self._probe_failed(closed, failure):
            return
        if not self._left():
            return
        self._barren = 0 if closed.opened else self._barren + 1
        if self._barren < _BARREN_STARTS:
            self._start_agent()
        else:
            self._give_up(self._unopened(closed, failure))

    def _probe_failed(self, closed: AgentClosed, failure: Failure) -> bool:
        """Whether the agent opened no episode, or has lost the first two, or all there are, to crashes."""
        if not closed.opened and not self._results:
            self._failure = self._unopened(closed, failure)
        elif self._crashed.issuperset(self._results) and (len(self._results) > 1 or not self._left()):
            self._failure = failure
        return self._failure is not None

    def _unopened(self, closed: AgentClosed, failure: Failure) -> Failure:
        """Why an agent had no episode: in its own words where it never asked for one."""
        if failure.code is not FailureCode.AGENT_ERROR or closed.asked or self._last_verdict is None:
            return failure
        return never_asked(self._last_verdict)

    def _give_up(self, failure: Failure) -> None:
        for episode in self._left():
            self._results[episode.episode] = EpisodeResult(
                episode=episode.episode,
                outcome=Outcome.FAILED,
                failure=failure.code,
                message=failure.message,
                seconds=0.0,
            )
            self._crashed.add(episode.episode)
            self._tell_end(episode.episode)
        if self._probing and self._crashed.issuperset(self._results):
            self._failure = failure

    # End

    def _close(self) -> None:
        """Take everything away, each whatever became of the others."""
        with ExitStack() as stack:
            stack.callback(self._gateway.close)
            stack.callback(self._environments.close)
            stack.callback(self._close_agent)

    def _close_agent(self) -> None:
        if self._agent is None:
            return
        agent, self._agent = self._agent, None
        self._agent_seconds += time.monotonic() - self._started
        agent.kill()
        self._log += f"===== start {agent.generation} of the agent =====\n{agent.log()}"
        agent.close()
