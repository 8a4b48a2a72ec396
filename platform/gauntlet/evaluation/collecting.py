"""What workers give back becomes rows: in one transaction, under the fence, and only once."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.db import transaction

from gauntlet.celery import ring
from gauntlet.competitions.models import Phase
from gauntlet.evaluation.claims import fail_evaluation, jobs_waiting, lock_held, retry_or_fail
from gauntlet.evaluation.job_models import submission_account
from gauntlet.evaluation.models import Episode, Evaluation, Job, JobKind
from gauntlet.evaluation.own_workers import note_workers
from gauntlet.evaluation.states import EvaluationState, JobState
from gauntlet.evaluation.transitions import database_now, move_evaluation, move_job
from gauntlet.metering.services import give_back
from gauntlet.storage.models import Artifact
from gauntlet.submissions.services import count_as_failed_start
from gauntlet_runtime.jobs import EpisodeResult, Failure, JobEvent, RunResult
from gauntlet_scoring.failures import FailureCode, Owner

MAX_EPISODE_ATTEMPTS: Final = 3


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """A run job's result whose files are already in the storage."""

    result: RunResult
    trajectories: dict[str, Artifact]  # by episode


def create_episodes(evaluation: Evaluation, *, trials: int) -> None:
    """Make every scenario x trial of the evaluation's task an episode, in a seeded order.

    The seeds are drawn from the evaluation's seed, so that a rerun with it hands out the same order.
    """
    generator = random.Random(evaluation.seed)  # noqa: S311  # reproducible by design; guards nothing
    pairs = [(scenario, trial) for scenario in evaluation.task.scenarios.all() for trial in range(1, trials + 1)]
    generator.shuffle(pairs)
    Episode.objects.bulk_create(
        Episode(
            evaluation=evaluation,
            scenario=scenario,
            trial=trial,
            position=position,
            seed=generator.getrandbits(31),
        )
        for position, (scenario, trial) in enumerate(pairs)
    )


def create_first_job(evaluation: Evaluation) -> None:
    """Queue the evaluation's first slice alone: an agent that cannot start fails in seconds and occupies one worker."""
    _create_run_job(evaluation, list(evaluation.episodes.order_by("position")[: settings.RUN_SLICE]), index=0)


def _create_run_jobs(evaluation: Evaluation, episodes: Sequence[Episode]) -> None:
    index = evaluation.jobs.filter(kind=JobKind.RUN).count()
    for number, start in enumerate(range(0, len(episodes), settings.RUN_SLICE)):
        _create_run_job(evaluation, episodes[start : start + settings.RUN_SLICE], index=index + number)


def _create_run_job(evaluation: Evaluation, episodes: Sequence[Episode], *, index: int) -> None:
    job = _create_job(evaluation, JobKind.RUN, index=index)
    Episode.objects.filter(pk__in=[episode.pk for episode in episodes]).update(job=job)


def create_score_job(evaluation: Evaluation) -> None:
    """Queue the scoring: of all episodes, or of the results that were submitted."""
    _create_job(evaluation, JobKind.SCORE, index=0)


def _create_job(evaluation: Evaluation, kind: JobKind, *, index: int) -> Job:
    job = Job.objects.create(
        evaluation=evaluation,
        participant_id=evaluation.submission.participant_id,
        kind=kind,
        index=index,
        queue=_queue_of(evaluation),
        available_at=database_now(),
    )
    ring(job.queue)
    return job


def _queue_of(evaluation: Evaluation) -> str:
    """Where an evaluation began, so that the same workers end it; at first where its phase waits now.

    The phase is locked for that: it gets no other queue before this job is there to move along.
    """
    begun = evaluation.jobs.values_list("queue", flat=True).first()
    if begun is not None:
        return begun
    return Phase.objects.select_for_update(no_key=True).get(pk=evaluation.submission.phase_id).queue


@transaction.atomic
def finish_run(*, job: uuid.UUID, token: uuid.UUID, stored: StoredRun) -> None:
    """Store a run job's episodes, and queue what comes next: more episodes, the scoring, or nothing.

    Locks the job, then its evaluation. Emits job.done or job.failed, evaluation.scoring or evaluation.failed.

    Raises:
        LeaseLost: the token is no longer the job's; nothing was stored.
    """
    held, evaluation = lock_held(job=job, token=token)
    result = stored.result
    held.log, held.environment_log = result.log, result.environment_log
    note_workers(evaluation, held)
    evaluation.agent_seconds += result.agent_seconds
    evaluation.record = {**evaluation.record, **result.provenance}
    if result.failure and result.failure.code.owner is not Owner.PARTICIPANT:
        evaluation.save()
        retry_or_fail(held, evaluation, failure=result.failure)
        return
    _store_episodes(evaluation, stored)
    if result.failure:
        move_job(held, JobState.FAILED, failure=result.failure)
        if held.index == 0:
            count_as_failed_start(evaluation.submission)
        fail_evaluation(evaluation, failure=result.failure)
        return
    move_job(held, JobState.DONE)
    _continue(evaluation)


def _store_episodes(evaluation: Evaluation, stored: StoredRun) -> None:
    episodes = {
        str(episode.pk): episode
        for episode in evaluation.episodes.filter(pk__in=[result.episode for result in stored.result.episodes])
    }
    for result in stored.result.episodes:
        _store_episode(episodes[result.episode], result, trajectory=stored.trajectories.get(result.episode))
    _give_back(evaluation, [one for one in stored.result.episodes if episodes[one.episode].job_id is None])
    evaluation.episodes_done = evaluation.episodes.filter(ended_at__isnull=False).count()
    evaluation.save()


def _store_episode(episode: Episode, result: EpisodeResult, *, trajectory: Artifact | None) -> None:
    episode.attempts += 1
    episode.failure_code = result.failure or ""
    episode.failure_message = result.message
    episode.seconds = result.seconds
    episode.steps, episode.tool_calls = result.steps, result.tool_calls
    episode.model_calls, episode.tokens, episode.cost = result.model_calls, result.tokens, result.cost
    episode.trajectory = trajectory
    if _is_to_be_repeated(result) and episode.attempts < MAX_EPISODE_ATTEMPTS:
        episode.job = None
    else:
        episode.outcome = result.outcome
        episode.ended_at = episode.ended_at or database_now()
    episode.save()


def _give_back(evaluation: Evaluation, repeated: Sequence[EpisodeResult]) -> None:
    """What was used of budgets in episodes that are run again, by no fault of the agent's."""
    tokens, cost = sum(one.tokens for one in repeated), sum((one.cost for one in repeated), Decimal(0))
    if tokens or cost:
        shared = submission_account(evaluation.submission_id, number=evaluation.number)
        give_back(shared=shared, account=evaluation.pk, tokens=tokens, cost=cost)


def _is_to_be_repeated(result: EpisodeResult) -> bool:
    return result.failure is not None and result.failure.owner is not Owner.PARTICIPANT


def _continue(evaluation: Evaluation) -> None:
    """Queue the episodes that no job has; when every one has ended, queue the scoring."""
    if jobs_waiting(evaluation, JobKind.RUN):
        return
    left = list(evaluation.episodes.filter(outcome="").order_by("position"))
    if left:
        _create_run_jobs(evaluation, left)
        return
    if unscored := _unscored(evaluation.episodes.all()):
        fail_evaluation(evaluation, failure=unscored, survived=True)
        return
    move_evaluation(evaluation, EvaluationState.SCORING)
    create_score_job(evaluation)


def _unscored(episodes: Iterable[Episode]) -> Failure | None:
    """Why the evaluation cannot be ranked: an episode that ended by the environment's or the platform's fault."""
    for episode in episodes:
        if episode.failure_code and FailureCode(episode.failure_code).owner is not Owner.PARTICIPANT:
            sentence = (
                f"An episode could not be completed in {MAX_EPISODE_ATTEMPTS} attempts, and not by the agent's fault: "
                f"{episode.failure_message} The attempt was given back."
            )
            return Failure(code=FailureCode(episode.failure_code), message=sentence)
    return None


@transaction.atomic
def report_progress(*, job: uuid.UUID, token: uuid.UUID, event: JobEvent, detail: dict[str, Any]) -> None:
    """Note that an episode started or ended, or queue what waited for the agent to come up.

    What is reported twice counts once, so that no number goes backwards and no episode has two jobs.

    Raises:
        LeaseLost: the token is no longer the job's.
    """
    _, evaluation = lock_held(job=job, token=token)
    match event:
        case JobEvent.EPISODE_STARTED:
            evaluation.episodes.filter(pk=detail["episode"], started_at__isnull=True).update(started_at=database_now())
        case JobEvent.EPISODE_ENDED:
            evaluation.episodes.filter(pk=detail["episode"], ended_at__isnull=True).update(ended_at=database_now())
            evaluation.episodes_done = evaluation.episodes.filter(ended_at__isnull=False).count()
            evaluation.save(update_fields=["episodes_done"])
        case JobEvent.AGENT_STARTED | JobEvent.AGENT_PROVEN:  # either may have been lost
            never_queued = evaluation.episodes.filter(job=None, attempts=0).order_by("position")
            _create_run_jobs(evaluation, list(never_queued))
