"""Jobs in the hands of workers of own queues. Each call is fenced by the queue's token and the claim's lease.

The same services as behind the platform's own workers; what only this side needs is distrust.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from gauntlet.evaluation import claims, collecting
from gauntlet.evaluation.errors import ArtifactNotFound, LeaseIsLost, ReportRefused
from gauntlet.evaluation.job_source import DatabaseJobSource, store_scores
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.remote_models import refusal_of
from gauntlet.evaluation.remote_results import check_failure, checked_run, checked_scores
from gauntlet.evaluation.specs import build_spec
from gauntlet.evaluation.states import JobState
from gauntlet.evaluation.transitions import database_now
from gauntlet.evaluation.workers import name_at_queue
from gauntlet.queues.models import QueueToken
from gauntlet.storage.models import Artifact as StoredArtifact
from gauntlet_runtime.jobs import Artifact, Claim, Failure, JobEvent, LeaseLost
from gauntlet_runtime.remote.messages import FinishedRun, FinishedScore

_ABOUT_EPISODES: Final = (JobEvent.EPISODE_STARTED, JobEvent.EPISODE_ENDED)


def claim_for(token: QueueToken, *, worker: str) -> Claim | None:
    """The next job of the token's queue for one of its workers, or None.

    One whose language models are the operator's is failed instead of handed out: their key stays here.
    """
    source = DatabaseJobSource(queue_token=token)
    claims.take_from_dead_workers()
    while _waits(token.queue.name):
        claimed = source.claim(queues=[token.queue.name], worker=name_at_queue(token.queue, worker))
        if claimed is None:
            return None
        refusal = refusal_of(claimed)
        if refusal is None:
            return claimed
        with suppress(LeaseLost):
            source.finish(claimed, refusal)
    return None


def _waits(queue: str) -> bool:
    """Whether it is worth a turn among all who claim."""
    return Job.objects.filter(queue=queue, state=JobState.READY, available_at__lte=database_now()).exists()


def held_job(token: QueueToken, *, job: UUID, lease: UUID) -> Job:
    """A job that a worker of this token holds, with its evaluation, submission, phase and task.

    Raises:
        LeaseIsLost: it is no longer theirs, never was, or there is none: nobody learns which.
    """
    ours = Job.objects.filter(pk=job, token=lease, state=JobState.LEASED, queue=token.queue.name, queue_token=token)
    held = ours.filter(evaluation__state__in=claims.GOING_ON)
    found = held.select_related("evaluation__submission__phase", "evaluation__task").first()
    if found is None:
        raise LeaseIsLost.now()
    return found


def report(held: Job, event: JobEvent, detail: dict[str, Any]) -> None:
    """Note how the work on a held job goes.

    Raises:
        LeaseLost
        ReportRefused: it speaks of an episode that is not the job's.
    """
    if event in _ABOUT_EPISODES and str(detail.get("episode")) not in episodes_of(held):
        raise ReportRefused("detail.episode: this job has no such episode.")
    collecting.report_progress(job=held.pk, token=claims.lease_of(held), event=event, detail=detail)


def episodes_of(held: Job) -> set[str]:
    """The ids of a job's episodes."""
    return {str(pk) for pk in held.episodes.values_list("pk", flat=True)}


def artifact_of(held: Job, digest: str) -> StoredArtifact:
    """A file that the job's spec names.

    Raises:
        ArtifactNotFound: it names no such file, whether there is one or not.
    """
    if digest not in _digests(held.pk, claims.lease_of(held)):
        raise ArtifactNotFound("This job names no such file.")
    return StoredArtifact.objects.get(pk=digest)


@lru_cache(maxsize=128)
def _digests(job: UUID, lease: UUID) -> frozenset[str]:
    """Of all files that a claim's spec names; it stays as it is as long as the lease. A score job fetches hundreds."""
    held = Job.objects.select_related("evaluation__submission__phase", "evaluation__task").filter(pk=job, token=lease)
    found = held.first()
    if found is None:
        raise LeaseIsLost.now()
    return frozenset(artifact.digest for artifact in _artifacts(build_spec(found)))


def _artifacts(value: Any) -> list[Artifact]:
    """Whatever of a spec is a file."""
    if isinstance(value, Artifact):
        return [value]
    if isinstance(value, BaseModel):
        return [one for name in type(value).model_fields for one in _artifacts(getattr(value, name))]
    if isinstance(value, list):
        return [one for item in value for one in _artifacts(item)]
    return []


def finish(held: Job, finished: FinishedRun | FinishedScore) -> None:
    """Store a result and end the job, after a look at everything that it names.

    Raises:
        LeaseLost
        ResultRefused: it is not one of this job; nothing was stored.
    """
    lease = claims.lease_of(held)
    if isinstance(finished, FinishedRun):
        stored = checked_run(held, finished)
        collecting.finish_run(job=held.pk, token=lease, stored=stored)
    else:
        store_scores(job=held.pk, token=lease, result=checked_scores(held, finished.result))


def give_back(held: Job, failure: Failure) -> None:
    """Let another worker try a held job.

    Raises:
        LeaseLost, ResultRefused
    """
    check_failure(failure)
    claims.give_back(job=held.pk, token=claims.lease_of(held), failure=failure)
