"""Refusals of the evaluation app."""

from __future__ import annotations

from typing import ClassVar, Self

from gauntlet.api_errors import DomainError
from gauntlet_runtime.remote.messages import LEASE_LOST, TOO_MANY_WORKERS, WORKER_OUTDATED
from gauntlet_scoring.failures import Owner


class LogNotVisible(DomainError):
    """The phase hides the agent's output from its owner."""

    code: ClassVar = "not_visible"
    status: ClassVar = 403


class ScoresNotVisible(DomainError):
    """The phase hides its scores from participants."""

    code: ClassVar = "not_visible"
    status: ClassVar = 403


class ScoresNotComparable(DomainError):
    """The two submissions have no scores that could be compared."""

    code: ClassVar = "not_comparable"
    status: ClassVar = 409


class EvaluationNotFound(DomainError):
    """There is no such evaluation, or it is of a competition that the user does not organize."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class EvaluationNotFinished(DomainError):
    """What was asked for exists only once the evaluation has its scores."""

    code: ClassVar = "not_finished"
    status: ClassVar = 409


class QueueIsServed(DomainError):
    """What waits in a queue finds a worker there, or the operator's are to see to it."""

    code: ClassVar = "queue_is_served"
    status: ClassVar = 409


class RunsNowhereElse(DomainError):
    """What is to be run again would wait in the queue that nobody serves."""

    code: ClassVar = "runs_nowhere_else"
    status: ClassVar = 409


class MessageRefused(DomainError):
    """What a worker sent is not what is sent there; the findings name the fields."""

    code: ClassVar = "invalid"
    status: ClassVar = 400
    owner: ClassVar = Owner.ORGANIZER


class MessageTooLarge(DomainError):
    """What a worker sent is larger than what is taken there."""

    code: ClassVar = "too_large"
    status: ClassVar = 413
    owner: ClassVar = Owner.ORGANIZER


class WorkerOutdated(DomainError):
    """The worker speaks another version of the protocol."""

    code: ClassVar = WORKER_OUTDATED
    status: ClassVar = 426
    owner: ClassVar = Owner.ORGANIZER


class LeaseIsLost(DomainError):
    """The job is not, or no longer, the worker's."""

    code: ClassVar = LEASE_LOST
    status: ClassVar = 409
    owner: ClassVar = Owner.PLATFORM

    @classmethod
    def now(cls) -> Self:
        """One answer for jobs that there are and that there are not."""
        return cls(
            "You do not hold this job, or no longer: it was cancelled, or its lease ran out. Stop working on it."
        )


class ReportRefused(DomainError):
    """A worker's report is not about its job."""

    code: ClassVar = "report_refused"
    status: ClassVar = 422
    owner: ClassVar = Owner.ORGANIZER


class ResultRefused(DomainError):
    """A worker's result is none of its job; nothing of it was stored."""

    code: ClassVar = "result_refused"
    status: ClassVar = 422
    owner: ClassVar = Owner.ORGANIZER


class TooManyRecords(DomainError):
    """The record of one episode was sent too often."""

    code: ClassVar = "too_many_records"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class TooManyWorkers(DomainError):
    """A token brings as many workers as it may."""

    code: ClassVar = TOO_MANY_WORKERS
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class ArtifactNotFound(DomainError):
    """The job's spec names no such file."""

    code: ClassVar = "not_found"
    status: ClassVar = 404
    owner: ClassVar = Owner.ORGANIZER


class NoModelsHere(DomainError):
    """The job has no language models."""

    code: ClassVar = "no_models"
    status: ClassVar = 404
    owner: ClassVar = Owner.ORGANIZER


class KeyUnreadable(DomainError):
    """The provider's key was stored under another secret of the installation."""

    code: ClassVar = "key_unreadable"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class AnswerNotFound(DomainError):
    """No answer of a model is kept under the key."""

    code: ClassVar = "not_found"
    status: ClassVar = 404
    owner: ClassVar = Owner.ORGANIZER


class ReasonMissing(DomainError):
    """What is decided about somebody's submission needs a reason."""

    code: ClassVar = "reason_missing"
    status: ClassVar = 400
