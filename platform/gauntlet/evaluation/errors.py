"""Refusals of the evaluation app."""

from __future__ import annotations

from typing import ClassVar

from gauntlet.api_errors import DomainError


class LogNotVisible(DomainError):
    """The phase hides the agent's output from its owner."""

    code: ClassVar = "not_visible"
    status: ClassVar = 403
