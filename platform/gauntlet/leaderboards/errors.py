"""Refusals of the leaderboards app."""

from __future__ import annotations

from typing import ClassVar

from gauntlet.api_errors import DomainError


class BoardNotFound(DomainError):
    """The competition has no board."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class BoardNotVisible(DomainError):
    """The board exists, but its scores are not shown to this reader now."""

    code: ClassVar = "not_visible"
    status: ClassVar = 403
