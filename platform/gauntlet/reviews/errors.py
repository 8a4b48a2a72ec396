"""Refusals of the reviews app."""

from __future__ import annotations

from typing import ClassVar, Self

from gauntlet.api_errors import DomainError
from gauntlet_scoring.failures import Owner


class StudyNotFound(DomainError):
    """There is no such study, or the reader was not invited to it."""

    code: ClassVar = "not_found"
    status: ClassVar = 404

    @classmethod
    def any_more(cls) -> Self:
        """One answer for "never was", "is over" and "not yours"."""
        return cls("There is no such study, or you were not invited to it.")


class ItemNotFound(DomainError):
    """The study has no such trajectory or scenario."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class ParticipantsMayNotReview(DomainError):
    """Whoever takes part sees neither others' runs nor hidden scenarios."""

    code: ClassVar = "participant"
    status: ClassVar = 403


class CannotDraw(DomainError):
    """There are not enough episodes or scenarios to draw from."""

    code: ClassVar = "cannot_draw"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class CannotInvite(DomainError):
    """Somebody has no account or takes part; nobody was invited."""

    code: ClassVar = "cannot_invite"
    status: ClassVar = 422
    owner: ClassVar = Owner.ORGANIZER


class HasAnswered(DomainError):
    """What somebody has answered stays: the invitation cannot be taken back."""

    code: ClassVar = "has_answered"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class StudyClosed(DomainError):
    """Answers are taken only while the study is open."""

    code: ClassVar = "study_closed"
    status: ClassVar = 409
