"""The states of an evaluation and of a job."""

from __future__ import annotations

from typing import Final

from django.db import models

from gauntlet.states import StateMachine


class EvaluationState(models.TextChoices):
    """Never reopened: a rerun is a new row."""

    WAITING = "waiting", "Waiting for approval"
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SCORING = "scoring", "Being scored"
    FINISHED = "finished", "Finished"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class JobState(models.TextChoices):
    """``lost`` is a lease that ran out."""

    READY = "ready", "Ready"
    LEASED = "leased", "Leased"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    LOST = "lost", "Lost"


_S = EvaluationState
EVALUATION: Final = StateMachine(
    "evaluation",
    {
        _S.WAITING: frozenset({_S.QUEUED, _S.CANCELLED}),
        # Results that were submitted are not run: their scoring is the first that a worker does.
        _S.QUEUED: frozenset({_S.RUNNING, _S.SCORING, _S.FAILED, _S.CANCELLED}),
        _S.RUNNING: frozenset({_S.SCORING, _S.FAILED, _S.CANCELLED}),
        _S.SCORING: frozenset({_S.FINISHED, _S.FAILED, _S.CANCELLED}),
        _S.FINISHED: frozenset(),
        _S.FAILED: frozenset(),
        _S.CANCELLED: frozenset(),
    },
)

_J = JobState
JOB: Final = StateMachine(
    "job",
    {
        # A job of a cancelled or failed evaluation fails without having been leased.
        _J.READY: frozenset({_J.LEASED, _J.FAILED}),
        _J.LEASED: frozenset({_J.DONE, _J.FAILED, _J.LOST}),
        _J.LOST: frozenset({_J.READY, _J.FAILED}),
        _J.DONE: frozenset(),
        _J.FAILED: frozenset(),
    },
)
