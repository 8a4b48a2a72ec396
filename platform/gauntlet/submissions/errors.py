"""Refusals of the submissions app: why an upload is not taken, and what to do."""

from __future__ import annotations

from typing import ClassVar

from gauntlet.api_errors import DomainError


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


class UploadOffsetWrong(DomainError):
    """A part does not begin where the upload ends."""

    code: ClassVar = "wrong_offset"
    status: ClassVar = 409


class UploadBusy(DomainError):
    """Another part of this upload is just being written."""

    code: ClassVar = "busy"
    status: ClassVar = 423


class UploadPartDamaged(DomainError):
    """A part is not what its checksum says."""

    code: ClassVar = "checksum_mismatch"
    status: ClassVar = 460  # as the checksum extension of tus names it


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
