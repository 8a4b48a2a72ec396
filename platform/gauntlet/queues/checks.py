"""What an operator is told of queues by ``manage.py check --database default``, and before each ``migrate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from gauntlet.queues.models import Queue


@register(Tags.database)
def no_own_queue_has_a_name_of_the_platforms(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """A queue of the operator's that is called as somebody's own: its jobs must reach the platform's workers only."""
    found: list[CheckMessage] = []
    for alias in databases or ():
        if Queue._meta.db_table not in connections[alias].introspection.table_names():
            continue  # before the first migrate
        taken = Queue.objects.using(alias).filter(name__in=settings.QUEUES).select_related("owner")
        found += [
            Error(
                f"QUEUES names '{queue.name}', which is a queue of {queue.owner.username}'s own.",
                hint="Take another name for the platform's queue. Until then the owner's workers get no job.",
                id="queues.E001",
            )
            for queue in taken
        ]
    return found
