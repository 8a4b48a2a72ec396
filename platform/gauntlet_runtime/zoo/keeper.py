"""Runs the programs of a zoo as a worker would, and compares what came of each with what it declares."""

from __future__ import annotations

import json
import tempfile
import threading
import time
import uuid
import zipfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gauntlet_runtime.episodes import run_episodes
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import (
    AgentSpec,
    Artifact,
    EnvironmentSpec,
    EpisodeResult,
    EpisodeSpec,
    RunSpec,
    SandboxLimits,
    ScoredEpisode,
    ScoreSpec,
    ScoringProgramSpec,
)
from gauntlet_runtime.programs import run_score
from gauntlet_runtime.sandbox import this_process
from gauntlet_runtime.sandbox.interface import Sandbox, SandboxError
from gauntlet_runtime.zoo.comparing import Got, differences, shown, told
from gauntlet_runtime.zoo.leftovers import leftovers
from gauntlet_runtime.zoo.programs import Expected, Program, Zoo
from gauntlet_runtime.zoo.stores import Store
from gauntlet_runtime.zoo.targets import SECRET_VARIABLE, Targets
from gauntlet_runtime.zoo.watched import WatchedSandbox
from gauntlet_scoring.trajectory import Outcome

AT_ONCE: Final = 4  # programs; most of them wait for a limit
IMAGE: Final = "gauntlet/agent"
ANSWER: Final = "42"  # right in every scenario of the zoo
_SCORER_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    program: str
    backend: str
    why: str
    expected: str
    got: str
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    lacking: tuple[str, ...] = ()  # the limits of this host for want of which it was not run

    @property
    def ok(self) -> bool:
        """The verdict is exactly the declared one, and nothing was left, reached or read."""
        return not self.problems and not self.lacking


@dataclass
class _Case:
    """One program while it runs."""

    program: Program
    label: str
    folder: Path
    sandbox: WatchedSandbox
    artifacts: list[Artifact] = field(default_factory=list)


class Keeper:
    """Runs programs against one backend.

    Args:
        zoo: the programs and what they need
        sandbox: the backend, ready
        state: the backend's state folder
        folder: an empty private folder
        targets: what the programs are set upon; opened by the caller
        gateways: where gateway processes come from
        image: what agents, environments and scoring programs run in
    """

    def __init__(
        self,
        zoo: Zoo,
        *,
        sandbox: Sandbox,
        state: Path,
        folder: Path,
        targets: Targets,
        gateways: GatewayPool,
        image: str = IMAGE,
    ) -> None:
        self._zoo = zoo
        self.sandbox = sandbox
        self._weak = sandbox.best_effort()
        self.artifacts = folder / "artifacts"
        self._state = state
        self._folder = folder
        self._targets = targets
        self._gateways = gateways
        self._image = image
        self._store = Store(self.artifacts)
        secret = targets.secret
        self._environment = self._store.keep(zoo.part("environment"))
        self._data = self._store.keep({"secret.json": json.dumps({"secret": secret})})
        self._reference = self._store.keep({"ground_truth.jsonl": json.dumps({"answer": ANSWER, "secret": secret})})
        self._scorer = self._store.keep(zoo.part("scorer/program"))
        self._door = zoo.part("agent/door")
        self._threads = ThreadPoolExecutor(max_workers=AT_ONCE, initializer=targets.enter, thread_name_prefix="zoo")

    def begin(self, programs: Iterable[Program]) -> dict[str, Future[Row]]:
        """Start running them, several at once; the rows by the programs' names."""
        return {program.name: self._threads.submit(self.run, program) for program in programs}

    def close(self) -> None:
        """Wait for what runs; what waits does not run any more."""
        self._threads.shutdown(cancel_futures=True)

    def run(self, program: Program) -> Row:
        """Run one, in this thread."""
        expected = program.head.expected_without(self._weak)
        if lacking := tuple(limit for limit in program.head.needs if limit in self._weak):
            return Row(program.name, self.sandbox.name, program.head.why, shown(expected), "not run", lacking=lacking)
        label = f"zoo-{program.name.replace('/', '-').replace('_', '-')}-{uuid.uuid4().hex[:8]}"
        folder = Path(tempfile.mkdtemp(prefix="case-", dir=self._folder))
        case = _Case(program, label, folder, WatchedSandbox(self.sandbox))
        begun = time.monotonic()
        said = "the check failed"
        problems: list[str] = []
        try:
            said, problems = self._tried(case, expected)
            problems += self._unharmed(case)
        except Exception as error:  # noqa: BLE001  whatever it is, it is told, and the others are run all the same
            problems.append(f"the check itself failed: {type(error).__name__}: {error}")
        finally:
            self._store.folders.release()  # others too: a zoo is too small for anything to be dropped
        return Row(
            program=program.name,
            backend=self.sandbox.name,
            why=program.head.why,
            expected=shown(expected),
            got=said,
            problems=problems,
            seconds=time.monotonic() - begun,
        )

    def _tried(self, case: _Case, expected: Expected) -> tuple[str, list[str]]:
        """The verdict in a few words, and in what it is another than the declared one."""
        try:
            got = self._as_agent(case) if case.program.head.attacks == "agent" else self._as_scorer(case)
        except SandboxError as error:
            return "the sandbox failed", [f"the platform failed, which no program may bring about: {error}"]
        return shown(got), differences(expected, got)

    # What must be true whatever a program declares

    def _unharmed(self, case: _Case) -> list[str]:
        problems = [f"process {pid} of {run.label} lived on" for run in case.sandbox.runs for pid in run.left]
        problems += [f"left behind: {what}" for what in leftovers(case.label, sandbox=self.sandbox, state=self._state)]
        problems += [f"changed: {name}" for artifact in case.artifacts for name in self._store.changed(artifact)]
        problems += [f"a listener was reached: {address}" for address in self._targets.reached()]
        if self._targets.secret_file.read_text() != self._targets.secret:
            problems.append("a file of the host was changed")
        return problems

    # The two ways in

    def _agent_spec(self, case: _Case) -> RunSpec:
        head = case.program.head
        bundle = self._store.keep({**self._door, "agent.py": case.program.source, "targets.json": self._told(case)})
        case.artifacts += [bundle, self._environment, self._data]
        return RunSpec(
            agent=AgentSpec(bundle=bundle, command=["python", "agent.py"], image=self._image),
            environment=EnvironmentSpec(
                program=self._environment,
                command=["python", "server.py"],
                data=self._data,
                image=self._image,
                limits=SandboxLimits.model_validate(head.environment_limits),
            ),
            episodes=[
                EpisodeSpec(episode=f"e{n}", scenario=f"s{n}", key=f"KEY-{n}", seed=n, text="What is six times seven?")
                for n in range(head.scenarios)
            ],
            episode_limits=head.of_an_episode(),
            agent_limits=head.sandbox_limits(),
            max_parallel_episodes=head.parallel,
            isolation=head.isolation,
            probe=True,
        )

    def _told(self, case: _Case) -> str:
        """What a program may know of the host: places that an attacker could guess, never what is in them."""
        folders = self._store.folders
        files = [self._targets.secret_file, case.folder, self._state]
        files += [folders.folder(artifact) for artifact in (self._data, self._reference)]
        return json.dumps(
            {
                "addresses": self._targets.addresses(),
                "files": [str(path) for path in files],
                "worker": int(this_process().partition(":")[0]),
                "variable": SECRET_VARIABLE,
            }
        )

    def _as_agent(self, case: _Case) -> Got:
        spec = self._agent_spec(case)
        job = case.folder / "job"
        job.mkdir()
        result = run_episodes(
            spec,
            sandbox=case.sandbox,
            folder=job,
            files=self._store.folders,
            gateway=self._gateways,
            owner=this_process(),
            label=case.label,
            on_event=lambda event, detail: None,
            cancelled=threading.Event(),
        )
        agents = [run for run in case.sandbox.runs if "-agent-" in run.label.removeprefix(case.label)]
        scores = None
        if case.program.head.expect.scores is not None and result.failure is None:
            scores = self._score(case, self._scorer, episodes=[self._scored(one) for one in result.episodes]).scores
        return Got(
            failure=result.failure,
            endings=[(one.outcome, one.failure, one.message) for one in result.episodes],
            said=told(result.log),
            log=result.log,
            run=agents[0] if agents else None,
            starts=len(agents),
            scores=scores,
            leaks=self._leaks(result.log, [one.trajectory for one in result.episodes]),
        )

    def _scored(self, result: EpisodeResult) -> ScoredEpisode:
        trajectory = result.trajectory and self._store.keep_bytes(result.trajectory.read_bytes())
        return ScoredEpisode(
            episode=result.episode,
            key=f"KEY-{result.episode.removeprefix('e')}",
            trial=1,
            outcome=result.outcome,
            failure=result.failure,
            seconds=result.seconds,
            trajectory=trajectory,
        )

    def _as_scorer(self, case: _Case) -> Got:
        program = self._store.keep({"metadata.yaml": "command: python score.py\n", "score.py": case.program.source})
        case.artifacts += [program, self._reference]
        episode = ScoredEpisode(episode="e0", key="KEY-0", trial=1, outcome=Outcome.ANSWERED)
        return self._score(case, program, episodes=[episode], limits=case.program.head.sandbox_limits())

    def _score(
        self,
        case: _Case,
        program: Artifact,
        *,
        episodes: list[ScoredEpisode],
        limits: SandboxLimits | None = None,
    ) -> Got:
        folder = case.folder / "scoring"
        folder.mkdir()
        result = run_score(
            ScoreSpec(
                programs=[ScoringProgramSpec(key="zoo", program=program)],
                reference=self._reference,
                episodes=episodes,
                image=self._image,
                limits=limits or SandboxLimits(seconds=_SCORER_SECONDS),
            ),
            sandbox=case.sandbox,
            folder=folder,
            files=self._store.folders,
            owner=this_process(),
            label=case.label,
            cancelled=threading.Event(),
        )
        return Got(
            failure=result.failure,
            endings=[],
            said=told(result.log),
            log=result.log,
            run=case.sandbox.runs[-1],
            starts=1,
            scores=dict(result.programs[0].scores) if result.programs else None,
            leaks=[],
        )

    def _leaks(self, log: str, records: Iterable[Path | None]) -> list[str]:
        """Where the secret was found: it stands in places that no agent may read."""
        found = ["the log"] if self._targets.secret in log else []
        needle = self._targets.secret.encode()
        return found + [f"the record {path.name}" for path in records if path and needle in _unpacked(path)]


def _unpacked(record: Path) -> bytes:
    with zipfile.ZipFile(record) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
