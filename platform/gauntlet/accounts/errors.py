"""Refusals of the accounts app."""

from __future__ import annotations

from typing import ClassVar

from gauntlet.api_errors import DomainError


class NotSignedIn(DomainError):
    """The request names nobody."""

    code: ClassVar = "not_signed_in"
    status: ClassVar = 401


class WrongCredentials(DomainError):
    """User name and password do not belong together."""

    code: ClassVar = "wrong_credentials"
    status: ClassVar = 401


class SecondFactorNeeded(DomainError):
    """The account is protected by a second factor, which this door cannot ask for."""

    code: ClassVar = "second_factor_needed"
    status: ClassVar = 401


class TokenNotFound(DomainError):
    """There is no such token among the user's own."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class ScopeMissing(DomainError):
    """The token may not be used for this."""

    code: ClassVar = "forbidden"
    status: ClassVar = 403
