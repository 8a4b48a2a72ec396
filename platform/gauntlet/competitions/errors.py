"""Refusals of the competitions app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from gauntlet.api_errors import DomainError
from gauntlet.competitions.bundle.findings import Finding
from gauntlet_scoring.failures import Owner


class CompetitionNotFound(DomainError):
    """There is no such competition, or it is not published and the reader is not one of its organizers."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class PhaseNotFound(DomainError):
    """The competition has no such phase."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class KitNotFound(DomainError):
    """The phase offers no such download."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class NotParticipating(DomainError):
    """The person has not joined, waits for approval, or was denied."""

    code: ClassVar = "not_participating"
    status: ClassVar = 403


class NotOrganizer(DomainError):
    """Only the organizer and collaborators may do this."""

    code: ClassVar = "not_organizer"
    status: ClassVar = 403


class TeamNotFound(DomainError):
    """No team of the competition is meant by this code or key."""

    code: ClassVar = "not_found"
    status: ClassVar = 404

    @classmethod
    def any_more(cls) -> Self:
        """One answer for "never was" and "is over"."""
        return cls("The competition has no such team; it may have been merged or dissolved.")


class TermsNotAccepted(DomainError):
    """Joining needs an acceptance of the terms."""

    code: ClassVar = "terms_not_accepted"
    status: ClassVar = 400


class CannotJoin(DomainError):
    """The person was denied."""

    code: ClassVar = "participation_denied"
    status: ClassVar = 403


class SlugTaken(DomainError):
    """A competition of this name exists."""

    code: ClassVar = "slug_taken"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class BundleRefused(DomainError):
    """A bundle with errors; nothing was created."""

    code: ClassVar = "invalid_bundle"
    status: ClassVar = 422
    owner: ClassVar = Owner.ORGANIZER

    def __init__(self, findings: Sequence[Finding]) -> None:
        errors = [finding for finding in findings if finding.level == "error"]
        super().__init__(
            f"The bundle has {len(errors)} error{'' if len(errors) == 1 else 's'}; nothing was created. {errors[0]}",
            errors=[finding.as_dict() for finding in findings],
        )
        self.findings = tuple(findings)
