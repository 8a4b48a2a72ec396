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
from typing import Any, Final

from gauntlet_scoring.episode_files import ScenarioRow
from gauntlet_scoring.errors import NonFiniteScoreError, ScoringInputError
from gauntlet_scoring.program_metadata import ProgramMetadata, ProgramMetadataError, read_program_metadata
from gauntlet_scoring.reading import (
    RecordedEpisode,
    ReferenceRow,
    ground_truth_path,
    read_episodes,
    read_ground_truth,
)
from gauntlet_scoring.statistics import mean
from gauntlet_scoring.writing import write_provenance, write_scenarios, write_scores

ROOT_VARIABLE: Final = "GAUNTLET_SCORING_ROOT"
DEFAULT_ROOT: Final = "/app"


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
    """A measure's result on one answered episode."""

    scores: dict[str, float]
    detail: dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """A scoring program's own part."""

    measure: Callable[[Sequence[Case]], Sequence[Measured]]  # answered episodes in, as many results in that order out
    facts: Callable[[], Mapping[str, str]] = dict  # what belongs into the provenance beside the program itself
    packages: tuple[str, ...] = ()  # distributions whose versions made the scores


def run(program_file: str, build: Callable[[ProgramMetadata], Measure]) -> int:
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


def score(folders: Folders, metadata: ProgramMetadata, *, measure: Measure) -> None:
    """Score every episode and write the three files.

    Answered episodes are measured. One that failed by the participant's fault gets every key's worst value. One that
    failed by any other is left out of ``scenarios.jsonl`` and counted in the provenance: the platform runs it again
    and ranks nothing before. Until then it stands in the mean with the worst value too, because the denominator is
    always scenarios x trials.

    Raises:
        ScoringInputError: an input is missing or malformed.
        NonFiniteScoreError: the measure gave something that is not a finite number.
    """
    made_by = _versions(measure.packages) | dict(measure.facts())  # first: what is missing shows before any work
    truths = read_ground_truth(folders.reference)
    episodes = read_episodes(folders.results)
    cases = {id(each): _case(each, truths, folders) for each in episodes if each.scored}
    answered = [case for case in cases.values() if case.episode.answered]
    measured = {id(case.episode): result for case, result in zip(answered, measure.measure(answered), strict=True)}
    worst = {key: scale.worst for key, scale in metadata.scores.items()}
    rows = [_row(each, measured.get(id(each)), worst) for each in episodes if each.scored]
    everything = [row.scores for row in rows] + [worst] * (len(episodes) - len(rows))
    scores = {key: mean([each[key] for each in everything]) for key in worst}
    folders.output.mkdir(parents=True, exist_ok=True)
    write_scenarios(folders.output, rows)
    write_provenance(folders.output, _provenance(folders, metadata, made_by=made_by, episodes=episodes))
    write_scores(folders.output, scores)  # last: where it stands, the rest is there too


def _case(episode: RecordedEpisode, truths: Mapping[str, ReferenceRow], folders: Folders) -> Case:
    reference = truths.get(episode.row.scenario)
    if reference is None:
        message = f"holds no ground truth of scenario {episode.row.scenario}"
        raise ScoringInputError(message, path=ground_truth_path(folders.reference))
    return Case(episode=episode, reference=reference)


def _row(episode: RecordedEpisode, measured: Measured | None, worst: Mapping[str, float]) -> ScenarioRow:
    if measured is None:
        failure = episode.failure
        detail: dict[str, Any] = {"failure": str(failure), "reason": f"the episode ended with {failure}: worst value"}
        scores = dict(worst)
    else:
        scores, detail = measured.scores, measured.detail
    return ScenarioRow(scenario=episode.row.scenario, trial=episode.row.trial, scores=scores, detail=detail)


def _versions(packages: Sequence[str]) -> dict[str, str]:
    """Versions of the distributions that make the scores."""
    try:
        return {f"package_{name}": version(name) for name in ("gauntlet-scoring", *packages)}
    except PackageNotFoundError as error:
        raise ScoringInputError(f"the package {error.name}, which makes the scores, is not installed here") from error


def _provenance(
    folders: Folders, metadata: ProgramMetadata, *, made_by: Mapping[str, str], episodes: Sequence[RecordedEpisode]
) -> dict[str, str]:
    unscored = Counter(str(each.failure) for each in episodes if not each.scored)
    return {
        "program": metadata.name,
        "program_version": metadata.version,
        "python": platform.python_version(),
        "episodes": str(len(episodes)),
        "unscored": str(unscored.total()),
        "ground_truth_sha256": _sha256(ground_truth_path(folders.reference)),
        **{f"unscored_{code}": str(count) for code, count in sorted(unscored.items())},
        **made_by,
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
