"""Refusals of the submissions app: why an upload is not taken, and what to do."""

from __future__ import annotations

from typing import ClassVar, Final, Self

from gauntlet.api_errors import DomainError
from gauntlet_scoring.failures import Owner

_ROOM_SECONDS: Final = 600  # until it is worth asking again


class SubmissionNotFound(DomainError):
    """There is no such submission, or it is not the reader's to see."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class PhaseNotOpen(DomainError):
    """The phase has not begun, or is over."""

    code: ClassVar = "phase_not_open"
    status: ClassVar = 409


class QuotaUsed(DomainError):
    """No attempt is left, today or at all."""

    code: ClassVar = "quota_used"
    status: ClassVar = 429


class UploadTooLarge(DomainError):
    """The file is larger than the installation takes."""

    code: ClassVar = "too_large"
    status: ClassVar = 413


class UploadNotFound(DomainError):
    """There is no such upload in parts, or it is somebody else's."""

    code: ClassVar = "not_found"
    status: ClassVar = 404

    @classmethod
    def any_more(cls) -> Self:
        """One answer for "never was", "is over" and "not yours"."""
        return cls("There is no such upload (any more). Begin a new one.")


class UploadOffsetWrong(DomainError):
    """A part does not begin where the upload ends."""

    code: ClassVar = "wrong_offset"
    status: ClassVar = 409

    @classmethod
    def of(cls, there: int, offset: int) -> Self:
        """Say where it ends."""
        return cls(f"The upload has {there:,} bytes; the part begins at {offset:,}. Send on from there.")


class UploadBusy(DomainError):
    """Another part of this upload is just being written."""

    code: ClassVar = "busy"
    status: ClassVar = 423

    @classmethod
    def now(cls) -> Self:
        """Say what to do."""
        return cls("Another part of this upload is just being written. Ask again how much has come.")


class UploadPartDamaged(DomainError):
    """A part is not what its checksum says."""

    code: ClassVar = "checksum_mismatch"
    status: ClassVar = 460  # as the checksum extension of tus names it


class NoRoom(DomainError):
    """The disk is full, or soon would be."""

    code: ClassVar = "no_room"
    status: ClassVar = 507

    @classmethod
    def now(cls) -> Self:
        """Say what to do."""
        message = "The platform has no room for this upload at the moment. No attempt was used; try again later."
        return cls(message, retry_after=_ROOM_SECONDS)


class TooManyParts(DomainError):
    """An upload came in more parts than are kept."""

    code: ClassVar = "too_many_parts"
    status: ClassVar = 413


class TooManyUploads(DomainError):
    """One person has too many uploads that are not complete."""

    code: ClassVar = "too_many_uploads"
    status: ClassVar = 429


class UploadProtocol(DomainError):
    """The request is none of the tus protocol's."""

    code: ClassVar = "unknown_protocol"
    status: ClassVar = 412


class UploadUnusable(DomainError):
    """The request holds no usable file."""

    code: ClassVar = "invalid_upload"
    status: ClassVar = 400


class KeyUnusable(DomainError):
    """The Idempotency-Key is none."""

    code: ClassVar = "invalid_key"
    status: ClassVar = 400


class KeyUsed(DomainError):
    """Another file was sent with the same Idempotency-Key."""

    code: ClassVar = "key_used"
    status: ClassVar = 422


class FileParked(DomainError):
    """The platform failed at this file too often in a row to try it again now."""

    code: ClassVar = "file_parked"
    status: ClassVar = 409
    owner: ClassVar = Owner.PLATFORM


class NoTeams(DomainError):
    """The competition has no teams."""

    code: ClassVar = "no_teams"
    status: ClassVar = 409


class AlreadyInTeam(DomainError):
    """The person is in a team already."""

    code: ClassVar = "already_in_team"
    status: ClassVar = 409


class NotInTeam(DomainError):
    """The person is in no team."""

    code: ClassVar = "not_in_team"
    status: ClassVar = 409


class TeamNameTaken(DomainError):
    """The name is taken, or is none."""

    code: ClassVar = "name_taken"
    status: ClassVar = 409


class TeamFull(DomainError):
    """The team has as many members as a team may have."""

    code: ClassVar = "team_full"
    status: ClassVar = 409


class TeamIsBound(DomainError):
    """What was submitted binds the person to their team, or to taking part alone."""

    code: ClassVar = "team_is_bound"
    status: ClassVar = 409
