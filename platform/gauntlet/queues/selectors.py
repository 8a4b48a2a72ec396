"""Reads of the queues app."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings
from django.db.models import Q, QuerySet

from gauntlet.accounts.models import User
from gauntlet.queues.models import Queue, QueueToken


def own_queue(name: str) -> Queue | None:
    """The queue of this name with its owner where somebody owns it; None where it is the platform's, or there is none.

    A name of the platform's is never somebody's: should both exist, the platform's counts, and a check reports it.
    """
    return own_queues([name]).get(name)


def own_queues(names: Collection[str]) -> dict[str, Queue]:
    """Those of these queues that somebody owns, by name; one query."""
    wanted = set(names) - set(settings.QUEUES)
    if not wanted:
        return {}
    return {queue.name: queue for queue in Queue.objects.filter(name__in=wanted).select_related("owner")}


def queue_owners(names: Collection[str]) -> dict[str, str]:
    """Who owns those of these queues that somebody owns, by user name; one query."""
    return {name: queue.owner.username for name, queue in own_queues(names).items()}


def queues_usable_by(user: User) -> QuerySet[Queue]:
    """The queues that a person may name in a competition beside the platform's, by name, with their owners."""
    found = Queue.objects.exclude(name__in=settings.QUEUES).select_related("owner").order_by("name")
    if user.is_superuser:
        return found
    return found.filter(Q(owner=user) | Q(pk__in=user.shared_queues.values("pk")))


def tokens_of(queue: Queue) -> QuerySet[QueueToken]:
    """A queue's tokens that still open it, newest first."""
    return queue.tokens.filter(revoked_at__isnull=True).select_related("created_by")


def shared_with(queue: Queue) -> QuerySet[User]:
    """Who else may use a queue, by name."""
    return queue.organizers.order_by("username")
