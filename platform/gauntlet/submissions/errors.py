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


class UploadUnusable(DomainError):
    """The request holds no usable file."""

    code: ClassVar = "invalid_upload"
    status: ClassVar = 400
