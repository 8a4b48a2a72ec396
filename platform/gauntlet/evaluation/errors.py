"""Refusals of the evaluation app."""

from __future__ import annotations

from typing import ClassVar

from gauntlet.api_errors import DomainError


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


class ReasonMissing(DomainError):
    """What is decided about somebody's submission needs a reason."""

    code: ClassVar = "reason_missing"
    status: ClassVar = 400
