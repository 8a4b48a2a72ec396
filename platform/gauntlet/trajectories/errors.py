"""Refusals of the trajectories app."""

from __future__ import annotations

from typing import ClassVar

from gauntlet.api_errors import DomainError
from gauntlet_scoring.failures import Owner


class RecordRefused(DomainError):
    """A file that is no record of an episode as the platform keeps them."""

    code: ClassVar = "record_refused"
    status: ClassVar = 422
    owner: ClassVar = Owner.ORGANIZER
