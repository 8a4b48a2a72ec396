"""Which queues a worker of the platform's may listen to: none of somebody's own, where it would get no job."""

from __future__ import annotations

from typing import Any

import structlog
from celery import current_app
from celery.signals import celeryd_after_setup
from django.db import DatabaseError, connection

from gauntlet.queues.selectors import queue_owners

log = structlog.get_logger(__name__)


@celeryd_after_setup.connect
def refuse_own_queues(**_: Any) -> None:
    """End a worker that is started for somebody's own queue before it begins.

    A database that is away is no reason not to start: claims give it no such job either.

    Raises:
        SystemExit
    """
    try:
        owners = queue_owners(current_app.amqp.queues.consume_from)
    except DatabaseError as error:
        log.warning("queues.not_checked", error=type(error).__name__)
        return
    finally:
        connection.close()  # no child is to inherit it
    if owners:
        whose = ", ".join(f"'{queue}' is {owner}'s own" for queue, owner in sorted(owners.items()))
        raise SystemExit(
            f"This worker cannot listen to all of its queues: {whose}. Only gauntlet-worker gets jobs there, with a "
            "token of that queue. Leave it out of -Q and of WORKER_QUEUES."
        )
