"""Refusals of the queues app."""

from __future__ import annotations

from typing import ClassVar, Self

from gauntlet.api_errors import DomainError
from gauntlet_scoring.failures import Owner


class QueueNotFound(DomainError):
    """There is no such queue, or it is neither the reader's own nor shared with them."""

    code: ClassVar = "not_found"
    status: ClassVar = 404

    @classmethod
    def any_more(cls) -> Self:
        """One answer for "never was", "is over" and "not shared with you"."""
        return cls("There is no such queue, or it is not shared with you.")


class QueueTokenNotFound(DomainError):
    """The queue has no such token."""

    code: ClassVar = "not_found"
    status: ClassVar = 404


class NotQueueOwner(DomainError):
    """Only its owner may do this with a queue."""

    code: ClassVar = "not_queue_owner"
    status: ClassVar = 403
    owner: ClassVar = Owner.ORGANIZER


class MayNotMakeQueues(DomainError):
    """Queues are made by people who may bring competitions in."""

    code: ClassVar = "may_not_make_queues"
    status: ClassVar = 403
    owner: ClassVar = Owner.ORGANIZER


class InvalidQueueName(DomainError):
    """A queue cannot be called so."""

    code: ClassVar = "invalid_queue_name"
    status: ClassVar = 422
    owner: ClassVar = Owner.ORGANIZER


class QueueNameTaken(DomainError):
    """There is a queue of this name: the platform's, or somebody's own."""

    code: ClassVar = "queue_name_taken"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class TooMany(DomainError):
    """As many as one may have."""

    code: ClassVar = "too_many"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class CannotShare(DomainError):
    """The person is unknown, or has the queue already."""

    code: ClassVar = "cannot_share"
    status: ClassVar = 422
    owner: ClassVar = Owner.ORGANIZER


class QueueNotUsable(DomainError):
    """The person may not let jobs wait in this queue."""

    code: ClassVar = "queue_not_usable"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class QueueInUse(DomainError):
    """Phases or jobs still use the queue."""

    code: ClassVar = "queue_in_use"
    status: ClassVar = 409
    owner: ClassVar = Owner.ORGANIZER


class NoSuchQueueToken(DomainError):
    """A worker came without a token, or with one that was never issued or is revoked; workers know the code."""

    code: ClassVar = "not_authenticated"
    status: ClassVar = 401
    owner: ClassVar = Owner.ORGANIZER
