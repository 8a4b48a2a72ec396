"""The platform's own workers reach jobs through the services directly."""

from __future__ import annotations

import contextlib
import functools
import io
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar
from uuid import UUID

import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from gauntlet.away import may_pass
from gauntlet.celery import ring
from gauntlet.evaluation import claims, collecting, scores
from gauntlet.evaluation.job_models import models_of
from gauntlet.evaluation.models import Job
from gauntlet.evaluation.specs import build_spec
from gauntlet.queues.models import QueueToken
from gauntlet.storage.models import Artifact as StoredArtifact
from gauntlet.storage.models import Form
from gauntlet.storage.services import copy_to, store
from gauntlet_runtime.jobs import (
    Artifact,
    Claim,
    Failure,
    JobEvent,
    JobSource,
    LeaseLost,
    RunResult,
    ScoreResult,
    SourceUnavailable,
)
from gauntlet_runtime.metering import ModelSupply, NoModels
from gauntlet_scoring.failures import FailureCode

P = ParamSpec("P")
R = TypeVar("R")
log = structlog.get_logger(__name__)
_PASS_ON_SECONDS: Final = 1.0  # short jobs, which one process does many of, ring no more often
_NOT_BUILT: Final = Failure(code=FailureCode.INFRASTRUCTURE, message="The platform could not put this job together.")


def _connected(method: Callable[P, R]) -> Callable[P, R]:
    """Let go of a connection that broke, as Django does before a request: a job outlives a restart of the database.

    Without this a thread would hold on to its dead connection, and a lease could not be renewed any more. A caller's
    own transaction is left alone.
    """

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not connection.in_atomic_block:
            close_old_connections()
        return method(*args, **kwargs)

    return call


def _claim_of(job: Job) -> Claim:
    return Claim(
        job=str(job.pk),
        evaluation=str(job.evaluation_id),
        submission=str(job.evaluation.submission_id),
        attempt=job.attempt,
        token=str(claims.lease_of(job)),
        lease_seconds=settings.LEASE_SECONDS,
        spec=build_spec(job),
    )


def store_scores(*, job: UUID, token: UUID, result: ScoreResult) -> None:
    """Store a score job's result and end the job.

    Raises:
        LeaseLost
    """
    reports = {
        program.key: store(io.BytesIO(program.detailed_results.encode()), form=Form.FILE)
        for program in result.programs
        if program.detailed_results
    }
    scores.finish_score(job=job, token=token, stored=scores.StoredScores(result=result, reports=reports))


class DatabaseJobSource(JobSource):
    """JobSource on this machine's database and storage. Files are stored before the transaction that names them.

    Args:
        queue_token: in the name of a worker of an own queue, which comes by it
    """

    def __init__(self, queue_token: QueueToken | None = None) -> None:
        self._queue_token = queue_token
        self._passed_on = -_PASS_ON_SECONDS  # when, on the monotonic clock

    @_connected
    def claim(self, *, queues: Sequence[str], worker: str) -> Claim | None:
        """Take the next job that this worker may run, or None. One that cannot be put together goes back at once.

        Whoever finds one rings for the next process, since a ring wakes one alone: there may be more to find.
        """
        claims.take_from_dead_workers()
        while (job := claims.claim_next(queues=queues, worker=worker, queue_token=self._queue_token)) is not None:
            self._pass_on(job.queue)
            try:
                return _claim_of(job)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with its rows, no other waits for it
                # Without the error's words, which may quote a scenario.
                trace = "".join(traceback.format_tb(error.__traceback__))
                log.error("job.not_built", job=str(job.pk), error=type(error).__name__, trace=trace)
                with contextlib.suppress(LeaseLost):
                    claims.give_back(job=job.pk, token=claims.lease_of(job), failure=_NOT_BUILT)
        return None

    def _pass_on(self, queue: str) -> None:
        now = time.monotonic()
        if now - self._passed_on >= _PASS_ON_SECONDS:
            self._passed_on = now
            ring(queue)

    @_connected
    def renew(self, claim: Claim) -> None:
        """Hold the job for another lease."""
        claims.renew(job=UUID(claim.job), token=UUID(claim.token))

    @_connected
    def report(self, claim: Claim, event: JobEvent, detail: dict[str, Any]) -> None:
        """Note progress."""
        collecting.report_progress(job=UUID(claim.job), token=UUID(claim.token), event=event, detail=detail)

    @_connected
    def fetch(self, artifact: Artifact, into: Path) -> None:
        """Put the artifact's bytes into the file ``into``."""
        copy_to(StoredArtifact.objects.get(pk=artifact.digest), into)

    @_connected
    def finish(self, claim: Claim, result: RunResult | ScoreResult) -> None:
        """Store what came out and end the job.

        Raises:
            LeaseLost
            SourceUnavailable: the database or the storage is away.
        """
        try:
            self._finish(claim, result)
        except Exception as error:
            if may_pass(error):
                raise SourceUnavailable(type(error).__name__) from error
            raise

    def _finish(self, claim: Claim, result: RunResult | ScoreResult) -> None:
        job, token = UUID(claim.job), UUID(claim.token)
        if isinstance(result, RunResult):
            trajectories = {
                episode.episode: store(episode.trajectory, form=Form.ZIP)
                for episode in result.episodes
                if episode.trajectory
            }
            stored = collecting.StoredRun(result=result, trajectories=trajectories)
            collecting.finish_run(job=job, token=token, stored=stored)
            return
        store_scores(job=job, token=token, result=result)

    @_connected
    def give_back(self, claim: Claim, failure: Failure) -> None:
        """The platform failed, not the program."""
        claims.give_back(job=UUID(claim.job), token=UUID(claim.token), failure=failure)

    @_connected
    def hand_back(self, claim: Claim) -> None:
        """The worker is to end; nothing failed."""
        claims.hand_back(job=UUID(claim.job), token=UUID(claim.token))

    def let_go(self) -> None:
        """Close this thread's connection: left to the garbage collector, past jobs would hold all there are."""
        connection.close()

    def models(self, claim: Claim) -> ModelSupply:
        """Where the language models of a claimed run job come from."""
        return models_of(claim) or NoModels()
