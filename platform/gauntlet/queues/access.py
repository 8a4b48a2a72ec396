"""Queues are reached only through these; each refusal is a line of its own.

The owner does everything. With whom a queue is shared uses it for competitions, and sees who serves it and what waits;
tokens are the owner's. An operator may do what the owner may.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from gauntlet.accounts.errors import NotSignedIn
from gauntlet.accounts.models import User
from gauntlet.queues.errors import NotQueueOwner, QueueNotFound, QueueTokenNotFound
from gauntlet.queues.models import Queue, QueueToken
from gauntlet.queues.selectors import queues_usable_by


def may_make_queues(user: User | AnonymousUser) -> bool:
    """Whoever may bring a competition in may have machines of their own for it."""
    return isinstance(user, User) and user.has_perm("competitions.add_competition")


def is_owner(user: User | AnonymousUser, queue: Queue) -> bool:
    """Whether somebody owns a queue, or is an operator."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return user.is_superuser or queue.owner_id == user.pk


def access_queue_as_user(user: User | AnonymousUser, name: str) -> Queue:
    """A queue that is the user's own or shared with them, with its owner.

    Raises:
        NotSignedIn, QueueNotFound
    """
    if not isinstance(user, User):
        raise NotSignedIn("Log in first.")
    queue = queues_usable_by(user).filter(name=name).first()
    if queue is None:
        raise QueueNotFound.any_more()
    return queue


def access_queue_as_owner(user: User | AnonymousUser, name: str) -> Queue:
    """A queue that the user owns.

    Raises:
        NotSignedIn, QueueNotFound, NotQueueOwner
    """
    queue = access_queue_as_user(user, name)
    if not is_owner(user, queue):
        raise NotQueueOwner(f"Only {queue.owner.username}, who owns this queue, may do this.")
    return queue


def access_token_as_owner(user: User | AnonymousUser, name: str, token_id: UUID) -> QueueToken:
    """A token of a queue that the user owns, whatever its state.

    Raises:
        NotSignedIn, QueueNotFound, NotQueueOwner, QueueTokenNotFound
    """
    queue = access_queue_as_owner(user, name)
    token = queue.tokens.filter(pk=token_id).first()
    if token is None:
        raise QueueTokenNotFound("The queue has no token of this id.")
    token.queue = queue
    return token
