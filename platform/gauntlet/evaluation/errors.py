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
