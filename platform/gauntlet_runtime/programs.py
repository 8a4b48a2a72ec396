"""Scores an evaluation: runs its scoring programs, each in a sandbox of its own, against the recorded episodes."""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gauntlet_runtime.environments import BARE_ENVIRONMENT, PROGRAM_FOLDER
from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import (
    RESULT_BYTES,
    Failure,
    LeaseLost,
    ProgramScores,
    ScoredEpisode,
    ScoreResult,
    ScoreSpec,
    ScoringProgramSpec,
)
from gauntlet_runtime.judge import Judge, judge_environment
from gauntlet_runtime.metering import ModelSupply, NoModels
from gauntlet_runtime.program_contract import ProgramFault, arguments_of, command_of, read_outputs
from gauntlet_runtime.provenance import unenforced
from gauntlet_runtime.sandbox.interface import Mount, Run, Sandbox, SandboxSpec, Verdict
from gauntlet_runtime.verdicts import how_it_ended, limit_hit, limit_sentence, readable, sandbox_limits
from gauntlet_scoring.episode_files import EpisodeRow
from gauntlet_scoring.failures import FailureCode

REFERENCE_FOLDER: Final = "/app/input/ref"
RESULTS_FOLDER: Final = "/app/input/res"
OUTPUT_FOLDER: Final = "/app/output"
SHARED_FOLDER: Final = "/app/shared"
PROGRAMS_AT_ONCE: Final = 2
LOG_BYTES: Final = 32 << 10
_POLL_SECONDS: Final = 0.1  # how soon a cancelled job notices


@dataclass(frozen=True)
class Scored:
    """What one program came to: its scores, or why there are none."""

    scores: ProgramScores | None
    failure: Failure | None
    log: str
    seconds: float


def run_score(
    spec: ScoreSpec,
    *,
    sandbox: Sandbox,
    folder: Path,
    files: ArtifactFolders,
    owner: str,
    label: str,
    cancelled: threading.Event,
    gateway: GatewayPool | None = None,
    models: ModelSupply | None = None,
) -> ScoreResult:
    """Run every scoring program of ``spec``; the first that fails, in their order, fails the job.

    Args:
        folder: an empty private folder on this host
        owner: see `SandboxSpec.owner`
        label: names this job's sandboxes
        cancelled: when set, everything is killed at once
        gateway: where the gateway of the judge comes from that the spec names
        models: where that judge comes from

    Raises:
        LeaseLost: ``cancelled`` was set.
        SandboxError: the platform failed; the job is to be tried again.
    """
    with ExitStack() as stack:
        judge = None
        if spec.judge is not None:
            pool = gateway or stack.enter_context(GatewayPool())
            supply = models or NoModels()
            judge = Judge(spec.judge, supply=supply, pool=pool, folder=folder / "judge", label=label)
            stack.enter_context(judge)
            if judge.failure is not None:
                return ScoreResult(programs=[], failure=judge.failure)
        return _Scoring(
            spec,
            sandbox=sandbox,
            folder=folder,
            files=files,
            owner=owner,
            label=label,
            cancelled=cancelled,
            judge=judge,
        ).run()


class _Scoring:
    def __init__(
        self,
        spec: ScoreSpec,
        *,
        sandbox: Sandbox,
        folder: Path,
        files: ArtifactFolders,
        owner: str,
        label: str,
        cancelled: threading.Event,
        judge: Judge | None,
    ) -> None:
        self._spec = spec
        self._judge = judge
        self._sandbox = sandbox
        self._folder = folder
        self._files = files
        self._owner = owner
        self._label = label
        self._cancelled = cancelled
        self._limits = sandbox_limits(spec.limits)

    def run(self) -> ScoreResult:
        self._image_digest = self._sandbox.image_digest(self._spec.image)
        self._inputs = self._input_mounts()
        sources = [self._files.folder(program.program) for program in self._spec.programs]  # fetched by this thread
        with ThreadPoolExecutor(max_workers=PROGRAMS_AT_ONCE) as pool:
            outcomes = list(pool.map(self._score, self._spec.programs, sources))
        result = ScoreResult(
            programs=[outcome.scores for outcome in outcomes if outcome.scores is not None],
            failure=next((outcome.failure for outcome in outcomes if outcome.failure is not None), None),
            log="".join(outcome.log for outcome in outcomes),
            scorer_seconds=sum(outcome.seconds for outcome in outcomes),
        )
        size = len(result.model_dump_json().encode())
        return result if size <= RESULT_BYTES else result.model_copy(update=_too_much(size))

    def _input_mounts(self) -> list[Mount]:
        """The reference, read-only, and what is scored: as on Codabench a private copy where it was submitted."""
        reference = self._spec.reference
        mounts = [Mount(target=REFERENCE_FOLDER, source=self._files.folder(reference))] if reference else []
        if self._spec.results is not None:
            results = self._files.folder(self._spec.results)
            return [*mounts, Mount(target=RESULTS_FOLDER, source=results, writable=True)]
        results = self._folder / "res"
        lay_out_episodes(self._spec.episodes, into=results, files=self._files)
        return [*mounts, Mount(target=RESULTS_FOLDER, source=results)]

    def _score(self, program: ScoringProgramSpec, source: Path) -> Scored:
        try:
            arguments = arguments_of(program.command or command_of(source))
        except ProgramFault as fault:
            return _failed(str(fault), log="", seconds=0.0)
        begun = time.monotonic()
        wanted = self._sandbox_spec(program, source=source, arguments=arguments)
        with self._sandbox.prepare(wanted) as run:
            with self._judge.opened(run, program.key) if self._judge is not None else nullcontext():
                run.start()
                self._sandbox.expect_another(wanted)  # where others' results wait for the same scores
                verdict = self._wait(run)
            log = _log_of(run, program.key)
            if self._judge is not None and self._judge.failure is not None:
                # Whatever the program made of it: what was scored without its judge is no score.
                failure = self._judge.failure
                return Scored(scores=None, failure=failure, log=log, seconds=time.monotonic() - begun)
            broken = self._broken(verdict)
            outputs = self._folder / f"output-{program.key}"
            outputs.mkdir()
            if broken is None:
                run.collect(OUTPUT_FOLDER, outputs)
        seconds = time.monotonic() - begun
        if broken is not None:
            return _failed(broken, log=log, seconds=seconds)
        return self._read(program, outputs, log=log, seconds=seconds)

    def _sandbox_spec(self, program: ScoringProgramSpec, *, source: Path, arguments: list[str]) -> SandboxSpec:
        return SandboxSpec(
            image=self._spec.image,
            command=arguments,
            label=f"{self._label}-score-{program.key}",
            owner=self._owner,
            environment={**BARE_ENVIRONMENT, **(judge_environment(self._spec.judge) if self._spec.judge else {})},
            working_directory=PROGRAM_FOLDER,
            mounts=[
                Mount(target=PROGRAM_FOLDER, source=source, writable=True),
                *self._inputs,
                Mount(target=OUTPUT_FOLDER, writable=True),
                Mount(target=SHARED_FOLDER, writable=True),
            ],
            limits=self._limits,
        )

    def _wait(self, run: Run) -> Verdict:
        while True:
            if self._cancelled.is_set():
                run.kill()
                raise LeaseLost
            verdict = run.wait(timeout=_POLL_SECONDS)
            if verdict is not None:
                return verdict

    def _broken(self, verdict: Verdict) -> str | None:
        """Why there is no point in reading the scores, as a sentence."""
        code = limit_hit(verdict)
        if code is not None:
            return limit_sentence(code, verdict, subject="The scoring program", limits=self._limits)
        if not verdict.ok:
            return f"The scoring program {how_it_ended(verdict)}. Its output is in the log."
        return None

    def _read(self, program: ScoringProgramSpec, outputs: Path, *, log: str, seconds: float) -> Scored:
        try:
            found = read_outputs(outputs)
        except ProgramFault as fault:
            return _failed(str(fault), log=log, seconds=seconds)
        scores = ProgramScores(
            key=program.key,
            scores=found.scores,
            scenarios=found.scenarios,
            detailed_results=found.detailed_results,
            provenance={
                **found.provenance,
                "program.digest": program.program.digest,
                **({"reference.digest": self._spec.reference.digest} if self._spec.reference else {}),
                **(self._judge.facts() if self._judge is not None else {}),
                "image.digest": self._image_digest,
                "sandbox": self._sandbox.name,
                **unenforced(self._sandbox),
            },
            seconds=seconds,
            log=log,
        )
        return Scored(scores=scores, failure=None, log=log, seconds=seconds)


def _too_much(size: int) -> dict[str, object]:
    """What becomes of a result that no source takes."""
    message = (
        f"What the scoring programs wrote takes {size >> 20} MiB together; {RESULT_BYTES >> 20} MiB are taken. "
        "Write less detail into scenarios.jsonl, or a smaller report."
    )
    return {"programs": [], "failure": Failure(code=FailureCode.SCORING_ERROR, message=message)}


def _failed(message: str, *, log: str, seconds: float) -> Scored:
    failure = Failure(code=FailureCode.SCORING_ERROR, message=message)
    return Scored(scores=None, failure=failure, log=log, seconds=seconds)


def _log_of(run: Run, key: str) -> str:
    parts = []
    for stream in ("stdout", "stderr"):
        tail = readable(run.log_tail(stream, LOG_BYTES)).strip("\n")
        if tail:
            parts.append(f"----- {key}: {stream} -----\n{tail}\n")
    return "".join(parts)


def lay_out_episodes(episodes: list[ScoredEpisode], *, into: Path, files: ArtifactFolders) -> None:
    """Write the folder that scoring programs read; see `gauntlet_scoring.episode_files`."""
    trajectories = into / "trajectories"
    blobs = trajectories / "blobs"
    blobs.mkdir(parents=True)
    rows: list[str] = []
    for episode in episodes:
        place = None
        if episode.trajectory is not None:
            place = f"trajectories/{episode.episode}.jsonl"
            with files.once(episode.trajectory) as recorded:
                shutil.copyfile(recorded / "trajectory.jsonl", into / place)
                for blob in (recorded / "blobs").glob("*"):
                    shutil.copyfile(blob, blobs / blob.name)
        row = EpisodeRow(
            episode=episode.episode,
            scenario=episode.key,
            trial=episode.trial,
            outcome=episode.outcome,
            failure=episode.failure,
            seconds=episode.seconds,
            trajectory=place,
        )
        rows.append(row.model_dump_json() + "\n")
    (into / "episodes.jsonl").write_text("".join(rows), encoding="utf-8")
    for path in (into, *into.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
