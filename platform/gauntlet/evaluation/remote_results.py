"""A result from another's machine: nothing in it may lead beyond the job that it is of.

What it says of that job is believed, since it is the organizer's own machines that say it (decision 0030): that an
agent answered, how long it took, what a scorer found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

from pydantic import ValidationError

from gauntlet.evaluation.claims import lease_of
from gauntlet.evaluation.collecting import StoredRun
from gauntlet.evaluation.errors import ResultRefused
from gauntlet.evaluation.models import Job, JobKind
from gauntlet.storage.models import Artifact
from gauntlet_runtime.jobs import EpisodeResult, Failure, ProgramScores, ScoreResult
from gauntlet_runtime.program_contract import MOST_SCORES, REPORT_BYTES
from gauntlet_runtime.remote.messages import FinishedRun
from gauntlet_scoring.episode_files import ScenarioRow
from gauntlet_scoring.phrases import first_phrase
from gauntlet_scoring.trajectory import Outcome

_LONGEST: Final = 1e9  # seconds: some thirty years
_COUNTS: Final = {"steps": 2**31, "tool_calls": 2**31, "model_calls": 2**31, "tokens": 2**63}  # of the columns
_COST: Final = Decimal(10**12)
_SENTENCE: Final = 2000  # characters of what readers are told
_LOG: Final = 4 << 20  # of a job; its worker keeps the end of each program's
_FACTS: Final = 64 << 10  # of all that is recorded of a job, or of a program
#: What the platform itself writes into the record of an evaluation: nobody else does.
_RESERVED: Final = frozenset(
    {
        *("platform", "agent", "packages", "environment", "input_data", "reference_data"),
        *("limits", "trials", "scoring", "workers"),
    }
)


def checked_run(held: Job, finished: FinishedRun) -> StoredRun:
    """A run job's result with the records that were sent for it.

    Raises:
        ResultRefused: it names the field.
    """
    _check_kind(held, JobKind.RUN)
    result = finished.result
    own = {str(pk) for pk in held.episodes.values_list("pk", flat=True)}
    _check_once([one.episode for one in result.episodes], known=own, place="result.episodes", what="episode")
    for index, episode in enumerate(result.episodes):
        _check_episode(episode, place=f"result.episodes.{index}")
    if result.failure is None and len(result.episodes) < len(own):
        raise ResultRefused("result.episodes: without a failure each episode of the job has its result.")
    _check_job(result.failure, seconds=result.agent_seconds, logs=(result.log, result.environment_log))
    records = _records(held, finished)
    facts = {name: value for name, value in result.provenance.items() if name not in _RESERVED}
    _check_facts(facts, place="result.provenance")
    return StoredRun(result=result.model_copy(update={"provenance": facts}), trajectories=records)


def checked_scores(held: Job, result: ScoreResult) -> ScoreResult:
    """A score job's result.

    Raises:
        ResultRefused: it names the field.
    """
    _check_kind(held, JobKind.SCORE)
    own = set(held.evaluation.task.scoring_programs.values_list("key", flat=True))
    _check_once([one.key for one in result.programs], known=own, place="result.programs", what="scoring program")
    if result.failure is None and len(result.programs) < len(own):
        raise ResultRefused("result.programs: without a failure each scoring program of the task has its scores.")
    _check_job(result.failure, seconds=result.scorer_seconds, logs=(result.log,))
    for index, program in enumerate(result.programs):
        _check_program(program, place=f"result.programs.{index}")
    return result


def check_failure(failure: Failure) -> None:
    """A failure's sentence, which readers are told.

    Raises:
        ResultRefused
    """
    _check_text(failure.message, _SENTENCE, "message")


def _check_kind(held: Job, kind: JobKind) -> None:
    if held.kind != kind:
        raise ResultRefused(f"kind: this is a {held.kind} job.")


def _check_once(names: list[str], *, known: set[str], place: str, what: str) -> None:
    for index, name in enumerate(names):
        if name not in known:
            raise ResultRefused(f"{place}.{index}: this job has no such {what}.")
        if name in names[:index]:
            raise ResultRefused(f"{place}.{index}: this {what} is there twice.")


def _check_episode(episode: EpisodeResult, *, place: str) -> None:
    if episode.trajectory is not None:
        raise ResultRefused(f"{place}.trajectory: records are named under `trajectories`; a path means nothing here.")
    if (episode.outcome == Outcome.FAILED) != (episode.failure is not None):
        raise ResultRefused(f"{place}.failure: is there if the outcome is 'failed', and only then.")
    _check_text(episode.message, _SENTENCE, f"{place}.message")
    _check_seconds(episode.seconds, f"{place}.seconds")
    for name, limit in _COUNTS.items():
        if not 0 <= getattr(episode, name) < limit:
            raise ResultRefused(f"{place}.{name}: must be at least 0 and less than {limit}.")
    if not 0 <= episode.cost < _COST:
        raise ResultRefused(f"{place}.cost: must be at least 0 and less than {_COST}.")


def _check_job(failure: Failure | None, *, seconds: float, logs: Iterable[str]) -> None:
    if failure is not None:
        check_failure(failure)
    _check_seconds(seconds, "result: the seconds of its sandboxes")
    for log in logs:
        _check_text(log, _LOG, "result: its log")


def _check_text(text: str, most: int, place: str) -> None:
    if len(text) > most:
        raise ResultRefused(f"{place}: is longer than the {most:,} characters that are taken.")


def _check_seconds(seconds: float, place: str) -> None:
    if not 0 <= seconds <= _LONGEST:
        raise ResultRefused(f"{place}: must be at least 0, and a time that there can be.")


def _check_facts(facts: Mapping[str, str], *, place: str) -> None:
    if sum(len(name) + len(value) for name, value in facts.items()) > _FACTS:
        raise ResultRefused(f"{place}: is longer than the {_FACTS:,} characters that are taken.")


def _records(held: Job, finished: FinishedRun) -> dict[str, Artifact]:
    """What was sent under this very lease, by episode."""
    ours = held.sent_records.filter(lease=lease_of(held)).select_related("artifact")
    sent = {str(one.episode_id): one.artifact for one in ours}
    told = {one.episode for one in finished.result.episodes}
    for episode, named in finished.trajectories.items():
        place = f"trajectories.{episode[:64]}"
        if episode not in told:
            raise ResultRefused(f"{place}: the result has no such episode.")
        if episode not in sent or sent[episode].digest != named.digest:
            raise ResultRefused(f"{place}: this record of the episode was not sent. Send it first.")
    return {episode: sent[episode] for episode in finished.trajectories}


def _check_program(program: ProgramScores, *, place: str) -> None:
    _check_seconds(program.seconds, f"{place}.seconds")
    _check_text(program.log, _LOG, f"{place}.log")
    _check_text(program.detailed_results or "", REPORT_BYTES, f"{place}.detailed_results")
    _check_facts(program.provenance, place=f"{place}.provenance")
    _check_scores(program.scores, f"{place}.scores")
    for index, row in enumerate(program.scenarios):
        where = f"{place}.scenarios.{index}"
        try:
            _check_scores(ScenarioRow.model_validate(row).scores, f"{where}.scores")
        except ValidationError as error:
            raise ResultRefused(f"{where}.{first_phrase(error)}.") from None


def _check_scores(scores: Mapping[str, float], place: str) -> None:
    if len(scores) > MOST_SCORES:
        raise ResultRefused(f"{place}: holds more than {MOST_SCORES} scores.")
    for name, value in scores.items():
        if not name or not name.isprintable():
            raise ResultRefused(f"{place}: every name must be text.")
        if not math.isfinite(value):
            raise ResultRefused(f"{place}: a score must be a finite number.")
