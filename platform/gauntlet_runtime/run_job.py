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

from gauntlet_runtime.agent_fleet import AgentFleet
from gauntlet_runtime.agent_program import opened_program
from gauntlet_runtime.agent_sandbox import AgentSandbox
from gauntlet_runtime.code_runs import CodeRuns
from gauntlet_runtime.environments import Environments
from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.gateway.messages import (
    AgentClosed,
    AgentEnded,
    AgentIdle,
    Begin,
    CodeUnwanted,
    CodeWanted,
    EnvironmentLost,
    EnvironmentReady,
    EpisodeEnded,
    EpisodeOpened,
    JobSetup,
    ModelNotice,
    Notice,
)
from gauntlet_runtime.gateway.pool import GatewayLost, GatewayPool
from gauntlet_runtime.jobs import Failure, JobEvent, LeaseLost, RunResult, RunSpec
from gauntlet_runtime.metering import ModelSupply
from gauntlet_runtime.model_relay import ModelRelay, models_offered, no_provider
from gauntlet_runtime.packages import PackagesRefused
from gauntlet_runtime.progress import Progress
from gauntlet_runtime.provenance import run_provenance
from gauntlet_runtime.sandbox.interface import Cause, Sandbox, SandboxError
from gauntlet_runtime.verdicts import agent_failure, never_asked, sandbox_limits
from gauntlet_scoring.failures import FailureCode

RUNS_OF_AN_EPISODE: Final = 2  # it begins anew once if its environment dies
PLATFORM_SECONDS: Final = 240.0  # how long an agent may wait for the start of an episode, and for a call that hangs
ENVIRONMENT_SECONDS: Final = 1800.0  # the same for its environment's answers in all; beyond it that is at fault
MODEL_SECONDS: Final = 1800.0  # the same for its language models
CALL_SECONDS: Final = 120.0  # after which a tool call that was not answered means that the environment hangs
IDLE_SECONDS: Final = 60.0  # an agent without an open episode, while some are left, is stopped after this (or longer)
GRACE_SECONDS: Final = 10.0  # the same, after it let an episode run out of time
LEAVE_SECONDS: Final = 2.0  # how long an agent may tidy up after its last episode
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
        models: ModelSupply,
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
        self._models = models
        self._slots = max(1, min(spec.max_parallel_episodes, len(spec.episodes)))
        self._inbox: queue.SimpleQueue[Notice | AgentOver | GatewayOver | Trouble] = queue.SimpleQueue()
        self._progress = Progress(spec, folder=folder, on_event=on_event)
        self._served: set[int] = set()  # sandboxes that brought an episode to an end
        self._barren = 0

    def run(self) -> RunResult:
        """See `gauntlet_runtime.episodes.run_episodes`."""
        self._access = self._models.access() if self._spec.llm is not None else None
        if self._spec.llm is not None and self._access is None:
            return RunResult(episodes=[], failure=no_provider(self._spec.llm))
        provenance = run_provenance(self._spec, self._sandbox)
        if not self._spec.episodes:
            return RunResult(episodes=[], provenance=provenance)
        with opened_program(
            self._spec.agent,
            sandbox=self._sandbox,
            files=self._files,
            packages_cache=self._packages_cache,
            owner=self._owner,
            label=self._label,
            cancelled=self._cancelled,
        ) as program:
            if isinstance(program, PackagesRefused):
                return RunResult(episodes=[], failure=program.failure, log=program.log, provenance=provenance)
            self._program = program
            return self._run(provenance)

    def _run(self, provenance: dict[str, str]) -> RunResult:
        environment = self._spec.environment
        program = self._files.folder(environment.program)
        data = self._files.folder(environment.data) if environment.data is not None else None
        self._gateway = self._pool.spawn()
        self._relay = ModelRelay(self._models, self._gateway) if self._access is not None else None
        self._code = self._make_code_runs(data)
        reader = threading.Thread(target=self._read_notices, name=f"{self._label}-gateway", daemon=True)
        reader.start()
        self._environments = self._make_environments(program, data)
        self._agents = AgentFleet(
            self._prepare_agent,
            gateway=self._gateway,
            ended=lambda agent, error: self._inbox.put(AgentOver(agent, error)),
        )
        try:
            self._begin()
            self._start_agents()
            while not self._over():
                self._step()
        finally:
            try:
                self._close()
            finally:
                reader.join()
                if self._relay is not None:
                    self._relay.close()
                self._gateway.release()
        return RunResult(
            episodes=self._progress.results(),
            failure=self._progress.failure,
            log=self._agents.log,
            environment_log=self._environments.log,
            agent_seconds=self._agents.seconds,
            provenance=provenance,
        )

    # Start

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

    def _make_code_runs(self, data: Path | None) -> CodeRuns | None:
        tool = self._spec.environment.code_tool
        if tool is None:
            return None
        return CodeRuns(
            tool,
            self._spec.environment,
            sandbox=self._sandbox,
            data=data,
            owner=self._owner,
            label=self._label,
            gateway=self._gateway,
            at_once=self._slots * self._spec.episode_limits.parallel_tool_calls,
            fail=lambda error: self._inbox.put(Trouble(error)),
        )

    def _begin(self) -> None:
        (self._folder / "doors").mkdir()
        self._gateway.send(Begin(setup=self._write_setup()))
        if self._access is not None:
            self._gateway.send(models_offered(self._access))
        self._environments.open(self._slots)

    def _write_setup(self) -> Path:
        records = self._folder / "records"
        records.mkdir()
        limits = self._spec.episode_limits
        idle = min(self._spec.agent_limits.seconds, max(IDLE_SECONDS, limits.episode_seconds))
        setup = JobSetup(
            episodes=self._spec.episodes,
            limits=limits,
            slots=self._slots,
            isolation=self._spec.isolation,
            probe=self._spec.probe,
            folder=records,
            idle_seconds=idle,
            grace_seconds=min(GRACE_SECONDS, idle),
            leave_seconds=LEAVE_SECONDS,
            call_seconds=CALL_SECONDS,
            environment_seconds=ENVIRONMENT_SECONDS,
            models=self._spec.llm,
            model_seconds=MODEL_SECONDS,
            code_tool=tool.name if (tool := self._spec.environment.code_tool) is not None else None,
        )
        path = self._folder / "setup.json"
        path.write_text(setup.model_dump_json(), encoding="utf-8")
        return path

    def _prepare_agent(self, generation: int) -> AgentSandbox:
        # Episodes have clocks of their own, which stand still while the agent waits for its environment; the sandbox's
        # does not, so it gets that time on top. It is what ends an agent that neither works nor leaves.
        models = MODEL_SECONDS if self._spec.llm is not None else 0.0
        waiting = RUNS_OF_AN_EPISODE * (PLATFORM_SECONDS + ENVIRONMENT_SECONDS + models)
        if self._alone:  # it may have been started early, and then waits for the end of another's episode too
            waiting += waiting + self._spec.episode_limits.episode_seconds
        else:
            waiting *= len(self._progress.left())
        return AgentSandbox(
            self._program,
            generation=generation,
            sandbox=self._sandbox,
            doors=self._folder / "doors",
            parallel=1 if self._alone else self._slots,
            limits=sandbox_limits(self._spec.agent_limits, seconds=self._spec.agent_limits.seconds + waiting),
            owner=self._owner,
            label=self._label,
            models=self._spec.llm is not None,
        )

    @property
    def _alone(self) -> bool:
        """Each episode has a sandbox of its own."""
        return self._spec.isolation == "scenario"

    def _start_agents(self) -> None:
        """Start as many sandboxes as there is work for."""
        most = self._slots if self._alone and not self._progress.probing else 1
        for _ in range(min(most, len(self._progress.left())) - self._working()):
            self._agents.start()

    def _working(self) -> int:
        """How many sandboxes may still bring an episode to an end."""
        return len(self._agents.unclosed.keys() - self._served) if self._alone else len(self._agents.unclosed)

    def _ready_next(self) -> None:
        """Where each episode has a sandbox of its own: have the next one ready while an agent is at work.

        Its program is started already, loads what it loads, and asks for an episode, which it is handed when one ends.
        While the agent is not proven its sandbox is made and no more; nor are more where scenarios have several trials,
        because two that run at once could tell each other how one went. Not before the one at work has its episode:
        what is done here would hold up its start.
        """
        if not self._alone or len(self._progress.left()) <= self._working():
            return
        if self._progress.probing or self._spec.trials > 1:
            self._agents.prepare()
        elif self._working() <= self._slots:
            self._agents.start_early()

    def _read_notices(self) -> None:
        try:
            while (notice := self._gateway.receive()) is not None:
                if isinstance(notice, ModelNotice):
                    if self._relay is not None:
                        self._relay.take(notice)
                elif isinstance(notice, CodeWanted | CodeUnwanted):
                    if self._code is not None:
                        self._code.take(notice)
                else:
                    self._inbox.put(notice)
        finally:  # also of a gateway that cannot be understood: one of another version, say
            self._inbox.put(GatewayOver())

    # Steps

    def _over(self) -> bool:
        """Every wanted episode has its result, and the agent has left or had its time for that."""
        if self._progress.failure is not None:
            return True
        if self._progress.done_at is None:
            return False
        return not self._agents.unclosed or time.monotonic() > self._progress.done_at + LEAVE_SECONDS

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
                self._progress.begin()
                self._ready_next()
            case EpisodeEnded():
                self._keep(event)
            case EnvironmentReady(slot=slot):
                self._environments.ready(slot)
            case EnvironmentLost(slot=slot, served=served):
                self._environments.lost(slot, served=served)
            case AgentIdle(generation=generation):
                self._agents.stop(generation)
            case AgentOver(agent=agent, error=error):
                self._agent_ended(agent, error)
            case AgentClosed():
                self._after_agent(event)
            case Trouble(error=error):
                raise error
            case GatewayOver():
                raise GatewayLost("The gateway ended unexpectedly.")

    def _keep(self, ended: EpisodeEnded) -> None:
        self._progress.keep(ended)
        if self._alone and ended.generation is not None:
            self._served.add(ended.generation)
            if self._spec.trials > 1:  # nothing of it is to run beside the next
                self._agents.stop(ended.generation)
            if not ended.lost:  # else its end tells first whether another start is worth it
                self._start_agents()

    # The agent's end

    def _agent_ended(self, agent: AgentSandbox, error: SandboxError | None) -> None:
        if error is not None:
            raise error
        failure = agent.failure = self._why(agent)
        self._agents.over(agent)
        self._gateway.send(AgentEnded(generation=agent.generation, failure=failure.code, message=failure.message))

    def _why(self, agent: AgentSandbox) -> Failure:
        verdict = agent.verdict
        if verdict is None:
            raise SandboxError("The agent's sandbox ended without a verdict.")
        if agent.stopped_idle and verdict.cause is Cause.CANCELLED:
            return Failure(
                code=FailureCode.TIME_LIMIT,
                message="The agent was stopped because it did not ask for its next episode in time.",
            )
        return agent_failure(verdict, limits=agent.limits)

    def _after_agent(self, closed: AgentClosed) -> None:
        """All that the ended sandbox left open has its result by now: go on, or give up."""
        agent = self._agents.unclosed.pop(closed.generation)
        if agent.failure is None:
            raise SandboxError("The gateway closed an agent that did not end.")
        why = self._unopened(closed, agent, agent.failure)
        if self._progress.probe_failed(opened=closed.opened, failure=agent.failure, unopened=why):
            return
        if not self._progress.left():
            return
        self._barren = 0 if closed.opened else self._barren + 1
        if self._barren < _BARREN_STARTS:
            self._start_agents()
        elif not self._working():  # one that is at work may show that the agent works
            self._progress.give_up(why)

    def _unopened(self, closed: AgentClosed, agent: AgentSandbox, failure: Failure) -> Failure:
        """Why an agent had no episode: in words of its own where it never asked for one."""
        if failure.code is not FailureCode.AGENT_ERROR or closed.asked or agent.verdict is None:
            return failure
        return never_asked(agent.verdict)

    # End

    def _close(self) -> None:
        """Take everything away, each whatever became of the others."""
        with ExitStack() as stack:
            stack.callback(self._gateway.close)
            stack.callback(self._environments.close)
            stack.callback(self._agents.close)
            if self._code is not None:
                stack.callback(self._code.close)
