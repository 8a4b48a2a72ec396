"""A score job's result becomes scores, `finished` and the board's entry: in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Count

from gauntlet.competitions.models import Takes
from gauntlet.evaluation.claims import lock_held, retry_or_fail
from gauntlet.evaluation.models import Episode, Evaluation, Report, ScenarioDetail, ScenarioScore, Score
from gauntlet.evaluation.own_workers import note_workers
from gauntlet.evaluation.states import EvaluationState, JobState
from gauntlet.evaluation.transitions import move_evaluation, move_job
from gauntlet.leaderboards.scores import TaskScores, Trial, TrialScore
from gauntlet.leaderboards.services import place_result, record_result
from gauntlet.storage.models import Artifact
from gauntlet.submissions.models import Submission
from gauntlet_runtime.jobs import Failure, ProgramScores, ScoreResult
from gauntlet_scoring.episode_files import ScenarioRow
from gauntlet_scoring.failures import FailureCode, Owner

_LAYOUT: Final = "See whether your results are named and laid out as the competition's pages ask."
_MEASURES: Final = ("steps", "tool_calls", "seconds", "model_calls", "tokens", "cost")  # of every episode
_KEY_LENGTH: Final = 80  # what the columns of Score and ScenarioScore take


@dataclass(frozen=True, kw_only=True)
class StoredScores:
    """A score job's result whose files are already in the storage."""

    result: ScoreResult
    reports: dict[str, Artifact]  # detailed results, by program key


@transaction.atomic
def finish_score(*, job: uuid.UUID, token: uuid.UUID, stored: StoredScores) -> None:
    """Store the scores and finish the evaluation; it comes into force in the place of an earlier one.

    One that ends after its own rerun was finished does not: the rerun's result is what stands by then.

    Locks the job, then its evaluation. Emits job.done and evaluation.finished, or job.lost and what follows from it.

    Raises:
        LeaseLost: the token is no longer the job's; nothing was stored.
    """
    held, evaluation = lock_held(job=job, token=token)
    result = stored.result
    held.log = result.log
    note_workers(evaluation, held)
    evaluation.scorer_seconds += result.scorer_seconds
    failure = result.failure or _contradiction(evaluation, result)
    if failure:
        if evaluation.task.takes == Takes.RESULTS and failure.code is FailureCode.SCORING_ERROR:
            failure = failure.model_copy(update={"message": f"{failure.message} {_LAYOUT}"})
        evaluation.save()
        # A judge that is away: the episodes that were run are worth waiting for it.
        away = failure.code.owner is Owner.PLATFORM
        wait = timedelta(seconds=settings.RETRY_SECONDS) if away else None
        retry_or_fail(held, evaluation, failure=failure, wait=wait, survived=True)
        return
    for program in result.programs:
        _store_program(evaluation, program, report=stored.reports.get(program.key))
    evaluation.record = {
        **evaluation.record,
        "scoring": {program.key: program.provenance for program in result.programs},
    }
    move_job(held, JobState.DONE)
    # First the submission: of two runs of it that finish at once, the second sees that the first is in force.
    submission = (
        Submission.objects.select_for_update(of=["self"]).select_related("phase").get(pk=evaluation.submission_id)
    )
    same = Evaluation.objects.filter(submission=submission, task=evaluation.task_id)
    evaluation.in_force = not same.filter(in_force=True, number__gt=evaluation.number).exists()
    if evaluation.in_force:
        same.filter(in_force=True).update(in_force=False)
    move_evaluation(evaluation, EvaluationState.FINISHED)
    record_again(submission)


def _contradiction(evaluation: Evaluation, result: ScoreResult) -> Failure | None:
    """A program that speaks of a scenario and trial that this evaluation does not have, or gives what has no place."""
    spoken_of = any(program.scenarios for program in result.programs)
    known = set(evaluation.episodes.values_list("scenario__key", "trial")) if spoken_of else set()
    for program in result.programs:
        rows = [ScenarioRow.model_validate(row) for row in program.scenarios]
        places = [(row.scenario, row.trial) for row in rows]
        names = {*program.scores, *(name for row in rows for name in row.scores)}
        if not known.issuperset(places):
            said = "gave scores for an unknown scenario or trial"
        elif len(set(places)) < len(places):
            said = "gave scores for one scenario and trial twice"
        elif any(len(_score_key(program, name)) > _KEY_LENGTH for name in names):
            said = f"gave a score a name of more than {_KEY_LENGTH - len(program.key) - 1} characters"
        else:
            continue
        sentence = f"The scoring program {program.key} {said}."
        return Failure(code=FailureCode.SCORING_ERROR, message=sentence)
    return None


def _score_key(program: ProgramScores, name: str) -> str:
    return f"{program.key}.{name}"


def _store_program(evaluation: Evaluation, program: ProgramScores, *, report: Artifact | None) -> None:
    Score.objects.bulk_create(
        Score(evaluation=evaluation, key=_score_key(program, name), value=value)
        for name, value in program.scores.items()
    )
    Report.objects.create(evaluation=evaluation, program=program.key, html=report, log=program.log)
    if not program.scenarios:
        return
    episodes = {(key, trial): pk for key, trial, pk in evaluation.episodes.values_list("scenario__key", "trial", "pk")}
    rows = [(episodes[row.scenario, row.trial], row) for row in map(ScenarioRow.model_validate, program.scenarios)]
    ScenarioScore.objects.bulk_create(
        ScenarioScore(episode_id=episode, key=_score_key(program, name), value=value)
        for episode, row in rows
        for name, value in row.scores.items()
    )
    ScenarioDetail.objects.bulk_create(
        ScenarioDetail(episode_id=episode, program=program.key, detail=row.detail)
        for episode, row in rows
        if row.detail
    )


def record_again(submission: Submission) -> bool:
    """Put a submission on the boards, from its stored scores, once the evaluations of all its tasks are in force.

    In the caller's transaction, which holds the submission. Returns whether it stands on the boards now.
    """
    in_force = _all_in_force(submission)
    if in_force:
        tasks = [task_scores(one) for one in in_force]
        record_result(submission, tasks=tasks, scenarios=_count_scenarios(in_force))
    return bool(in_force)


def place_again(submission: Submission) -> None:
    """Move the entry of a submission's participant by the boards' rules; the submission's values stay as they are."""
    if in_force := _all_in_force(submission):
        place_result(submission, scenarios=_count_scenarios(in_force))


def _all_in_force(submission: Submission) -> list[Evaluation]:
    """The evaluations in force, in the order of the tasks; none unless every task has one."""
    in_force = list(submission.evaluations.filter(in_force=True).order_by("task__index"))
    return in_force if len(in_force) == submission.phase.tasks.count() else []


def _count_scenarios(evaluations: Sequence[Evaluation]) -> int:
    found = Episode.objects.filter(evaluation__in=evaluations).aggregate(n=Count("scenario", distinct=True))
    return int(found["n"])


def task_scores(evaluation: Evaluation) -> TaskScores:
    """All scores of a finished evaluation: the programs' and the platform's own measures of its episodes.

    The platform's own: ``episodes.steps``, ``episodes.tool_calls``, ``episodes.seconds`` and, of language models,
    ``episodes.model_calls``, ``episodes.tokens`` and ``episodes.cost`` of every episode, ``episodes.answered`` (0 or
    1), and over all of them ``episodes.total_tokens`` and ``episodes.total_cost``.
    """
    aggregates = dict(evaluation.scores.values_list("key", "value"))
    task = str(evaluation.task_id)
    scoring = evaluation.record.get("scoring")
    programs = None if scoring is None else frozenset(scoring)
    if not evaluation.episodes_total:  # results that were submitted
        return TaskScores(task=task, programs=programs, aggregates=aggregates)
    scenarios: dict[str, list[TrialScore]] = {}
    for key, score in _trial_scores(evaluation):
        scenarios.setdefault(key, []).append(score)
    measured = _measured(evaluation)
    return TaskScores(
        task=task,
        programs=programs,
        aggregates=aggregates | measured.totals,
        scenarios=scenarios | measured.scores,
        trials=measured.trials,
        failed=frozenset(measured.failed),
        tags=measured.tags,
    )


class _Measured(NamedTuple):
    """The platform's own measures of every episode and their totals, by key; which trials ran; scenarios' tags.

    Of the trials that ran, ``failed`` are those that ended by the participant's fault.
    """

    scores: dict[str, list[TrialScore]]
    totals: dict[str, float]
    trials: list[Trial]
    failed: list[Trial]
    tags: dict[str, dict[str, str]]


def _measured(evaluation: Evaluation) -> _Measured:
    rows = evaluation.episodes.order_by("scenario__key", "trial").values_list(
        "scenario__opaque_id", "scenario__tags", "trial", "outcome", "failure_code", *_MEASURES
    )
    scores: dict[str, list[TrialScore]] = {}
    totals: dict[str, Any] = {"tokens": 0, "cost": Decimal(0)}
    trials: list[Trial] = []
    failed: list[Trial] = []
    tags: dict[str, dict[str, str]] = {}
    for scenario, own_tags, trial, outcome, failure, *values in rows:
        tags[scenario] = own_tags
        if not failure or FailureCode(failure).owner is Owner.PARTICIPANT:
            trials.append(Trial(scenario, trial))
            failed += trials[-1:] if failure else []
        measured: dict[str, Any] = {"answered": outcome == "answered", **dict(zip(_MEASURES, values, strict=True))}
        for name, value in measured.items():
            if value is not None:
                scores.setdefault(f"episodes.{name}", []).append(TrialScore(scenario, trial, float(value)))
        totals = {name: total + measured[name] for name, total in totals.items()}
    return _Measured(
        scores, {f"episodes.total_{name}": float(total) for name, total in totals.items()}, trials, failed, tags
    )


def _trial_scores(evaluation: Evaluation) -> Iterator[tuple[str, TrialScore]]:
    rows = (
        ScenarioScore.objects.filter(episode__evaluation=evaluation)
        .order_by("episode__scenario__key", "episode__trial")
        .values_list("key", "episode__scenario__opaque_id", "episode__trial", "value")
    )
    for key, scenario, trial, value in rows:
        yield key, TrialScore(scenario, trial, value)
