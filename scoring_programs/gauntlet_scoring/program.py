"""What the scoring programs share: their folders, the rule about failed episodes, and how they end.

A program is started as ``python score.py`` in ``/app/program``. Another root than ``/app`` comes as the only argument
or as ``GAUNTLET_SCORING_ROOT``, so that a program runs anywhere.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from gauntlet_scoring.episode_files import EpisodeRow, ScenarioRow
from gauntlet_scoring.errors import NonFiniteScoreError, ScoringInputError
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.program_metadata import ProgramMetadata, ProgramMetadataError, read_program_metadata
from gauntlet_scoring.reading import (
    RecordedEpisode,
    ReferenceRow,
    ground_truth_path,
    iterate_episodes,
    read_ground_truth,
)
from gauntlet_scoring.statistics import mean
from gauntlet_scoring.writing import write_provenance, write_scenarios, write_scores

ROOT_VARIABLE: Final = "GAUNTLET_SCORING_ROOT"
DEFAULT_ROOT: Final = "/app"

Part = TypeVar("Part")


@dataclass(frozen=True)
class Folders:
    """The folders of Codabench's program contract, below one root."""

    root: Path

    @property
    def reference(self) -> Path:
        """Reference data: the ground truth."""
        return self.root / "input" / "ref"

    @property
    def results(self) -> Path:
        """What is scored: episodes and trajectories."""
        return self.root / "input" / "res"

    @property
    def output(self) -> Path:
        """Where scores go."""
        return self.root / "output"


@dataclass(frozen=True)
class Case:
    """A scored episode beside its scenario's ground truth."""

    episode: RecordedEpisode
    reference: ReferenceRow


@dataclass(frozen=True)
class Measured:
    """A measure's result on one answered episode.

    Where ``unverified`` gives a reason nobody could say how good the episode is: ``scores`` then lacks what could not
    be measured, which is neither a zero nor part of any mean.
    """

    scores: dict[str, float]
    detail: dict[str, Any]
    unverified: str = ""


@dataclass(frozen=True)
class Results:
    """What a program came to, for a report about all of it."""

    scores: Mapping[str, float]
    rows: Sequence[ScenarioRow]
    episodes: int  # scenarios x trials
    failures: Mapping[str, int]  # episodes without an answer by failure code


@dataclass(frozen=True)
class Measure(Generic[Part]):
    """A scoring program's own part, in two steps, so that one record at a time is in memory: an agent fills them."""

    read: Callable[[Case], Part]  # what is needed of an answered episode
    finish: Callable[[Sequence[Part]], Sequence[Measured]]  # all of them in, as many results in that order out
    facts: Callable[[], Mapping[str, str]] = dict  # what belongs into the provenance beside the program itself
    packages: tuple[str, ...] = ()  # distributions whose versions made the scores
    keys: frozenset[str] | None = None  # of the metadata's keys, those that it gives; None: all of them
    of_answered: frozenset[str] = frozenset()  # of them, those that mean nothing for an episode without an answer
    reads_failed: bool = False  # it measures episodes that the agent failed too, instead of the worst value
    overall: Callable[[Sequence[Mapping[str, float]]], Mapping[str, float]] = lambda _: {}  # of all episodes' scores
    of_failed: Callable[[Case], Mapping[str, Any]] = lambda _: {}  # more detail of an episode that the agent failed
    report: Callable[[Results], Mapping[str, str]] = lambda _: {}  # further files of the output folder: name to text


@dataclass(frozen=True)
class _Outline:
    """What is kept of an episode once its record was read."""

    row: EpisodeRow
    failure: FailureCode | None
    scored: bool
    detail: Mapping[str, Any]  # of one that failed


def run(program_file: str, build: Callable[[ProgramMetadata], Measure[Any]]) -> int:
    """Run a program to its end and return its exit status: 0, or 1 with one sentence on standard error."""
    os.environ.setdefault("HOME", os.sep)  # a sandbox's uid has no account, and NLTK fails without a home
    root = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get(ROOT_VARIABLE, DEFAULT_ROOT))
    try:
        metadata = read_program_metadata(Path(program_file).resolve().parent)
        score(Folders(root), metadata, measure=build(metadata))
    except (ScoringInputError, NonFiniteScoreError, ProgramMetadataError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def score(folders: Folders, metadata: ProgramMetadata, *, measure: Measure[Any]) -> None:
    """Score every episode and write the three files.

    Answered episodes are measured. One that failed by the participant's fault gets every key's worst value. One that
    failed by any other is left out of ``scenarios.jsonl`` and counted in the provenance: the platform runs it again
    and ranks nothing before. Until then it stands in the mean with the worst value too, because the denominator is
    always scenarios x trials. What is unverified has a row without the scores that nobody could give, is in no mean,
    and is counted in the provenance.

    Raises:
        ScoringInputError: an input is missing or malformed, or all answered episodes are unverified.
        NonFiniteScoreError: the measure gave something that is not a finite number.
    """
    made_by = _versions(measure.packages) | dict(measure.facts())  # first: what is missing shows before any work
    truths = read_ground_truth(folders.reference)
    outlines: list[_Outline] = []
    parts: dict[int, Any] = {}  # by position among the outlines
    for episode in iterate_episodes(folders.results):
        detail: Mapping[str, Any] = {}
        if episode.scored:
            case = _case(episode, truths, folders)
            if episode.answered or measure.reads_failed:
                parts[len(outlines)] = measure.read(case)
            else:
                detail = measure.of_failed(case)
        outlines.append(_Outline(row=episode.row, failure=episode.failure, scored=episode.scored, detail=detail))
    measured = dict(zip(parts, measure.finish(list(parts.values())), strict=True))
    unverified = [each.unverified for each in measured.values() if each.unverified]
    if unverified and len(unverified) == len(measured):
        raise ScoringInputError(f"none of {len(measured)} answered episodes could be verified: {unverified[0]}")
    keys = {key: scale for key, scale in metadata.scores.items() if measure.keys is None or key in measure.keys}
    whole = {key for key, scale in keys.items() if scale.overall}
    worst = {key: scale.worst for key, scale in keys.items() if key not in measure.of_answered | whole}
    rows = [_row(each, measured.get(at), worst) for at, each in enumerate(outlines) if each.scored]
    everything = [row.scores for row in rows] + [worst] * (len(outlines) - len(rows))
    found = {key: [each[key] for each in everything if key in each] for key in keys}
    scores = {key: mean(values) for key, values in found.items() if values} | dict(measure.overall(everything))
    folders.output.mkdir(parents=True, exist_ok=True)
    write_scenarios(folders.output, rows)
    made_by |= {"unverified": str(len(unverified))}
    write_provenance(folders.output, _provenance(folders, metadata, made_by=made_by, outlines=outlines))
    failures = Counter(str(each.failure) for each in outlines if each.failure is not None)
    results = Results(scores=scores, rows=rows, episodes=len(outlines), failures=failures)
    for name, text in measure.report(results).items():
        (folders.output / name).write_text(text, encoding="utf-8")
    write_scores(folders.output, scores)  # last: where it stands, the rest is there too


def _case(episode: RecordedEpisode, truths: Mapping[str, ReferenceRow], folders: Folders) -> Case:
    reference = truths.get(episode.row.scenario)
    if reference is None:
        message = f"holds no ground truth of scenario {episode.row.scenario}"
        raise ScoringInputError(message, path=ground_truth_path(folders.reference))
    return Case(episode=episode, reference=reference)


def _row(outline: _Outline, measured: Measured | None, worst: Mapping[str, float]) -> ScenarioRow:
    if measured is None:
        reason = f"the episode ended with {outline.failure}: worst value"
        detail = {"failure": str(outline.failure), "reason": reason, **outline.detail}
        measured = Measured(scores=dict(worst), detail=detail)
    detail = measured.detail | ({"unverified": measured.unverified} if measured.unverified else {})
    return ScenarioRow(scenario=outline.row.scenario, trial=outline.row.trial, scores=measured.scores, detail=detail)


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """Versions of the distributions that make the scores."""
    try:
        return {f"package_{name}": version(name) for name in ("gauntlet-scoring", *packages)}
    except PackageNotFoundError as error:
        raise ScoringInputError(f"the package {error.name}, which makes the scores, is not installed here") from error


def _provenance(
    folders: Folders, metadata: ProgramMetadata, *, made_by: Mapping[str, str], outlines: Sequence[_Outline]
) -> dict[str, str]:
    unscored = Counter(str(each.failure) for each in outlines if not each.scored)
    return {
        "program": metadata.name,
        "program_version": metadata.version,
        "python": platform.python_version(),
        "episodes": str(len(outlines)),
        "unscored": str(unscored.total()),
        "ground_truth_sha256": _sha256(ground_truth_path(folders.reference)),
        **{f"unscored_{code}": str(count) for code, count in sorted(unscored.items())},
        **made_by,
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
