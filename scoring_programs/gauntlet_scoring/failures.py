"""Why something failed, and who is responsible: the table that every room reads."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Owner(StrEnum):
    """Whose fault a failure is, and so who has to act."""

    PARTICIPANT = "participant"
    ORGANIZER = "organizer"
    PLATFORM = "platform"


class FailureCode(StrEnum):
    """Every reason for which a submission, an evaluation, a job or an episode can fail."""

    INVALID_BUNDLE = "invalid_bundle"
    AGENT_ERROR = "agent_error"
    PROTOCOL_ERROR = "protocol_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    PROCESS_LIMIT = "process_limit"
    DISK_LIMIT = "disk_limit"
    OUTPUT_LIMIT = "output_limit"
    BUDGET_EXCEEDED = "budget_exceeded"
    ENVIRONMENT_ERROR = "environment_error"
    INGESTION_ERROR = "ingestion_error"
    SCORING_ERROR = "scoring_error"
    INFRASTRUCTURE = "infrastructure"
    IMAGE_UNAVAILABLE = "image_unavailable"

    @property
    def owner(self) -> Owner:
        """Who has to act on this failure."""
        return OWNERS[self]


OWNERS: Final[dict[FailureCode, Owner]] = {
    FailureCode.INVALID_BUNDLE: Owner.PARTICIPANT,
    FailureCode.AGENT_ERROR: Owner.PARTICIPANT,
    FailureCode.PROTOCOL_ERROR: Owner.PARTICIPANT,
    FailureCode.TIME_LIMIT: Owner.PARTICIPANT,
    FailureCode.MEMORY_LIMIT: Owner.PARTICIPANT,
    FailureCode.PROCESS_LIMIT: Owner.PARTICIPANT,
    FailureCode.DISK_LIMIT: Owner.PARTICIPANT,
    FailureCode.OUTPUT_LIMIT: Owner.PARTICIPANT,
    FailureCode.BUDGET_EXCEEDED: Owner.PARTICIPANT,
    FailureCode.ENVIRONMENT_ERROR: Owner.ORGANIZER,
    FailureCode.INGESTION_ERROR: Owner.ORGANIZER,
    FailureCode.SCORING_ERROR: Owner.ORGANIZER,
    FailureCode.INFRASTRUCTURE: Owner.PLATFORM,
    FailureCode.IMAGE_UNAVAILABLE: Owner.PLATFORM,
}
