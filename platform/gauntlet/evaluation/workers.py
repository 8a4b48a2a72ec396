"""Worker processes as the operator sees them: each says now and then that it lives, and why it takes no job."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from gauntlet.evaluation.claims import host_of
from gauntlet.evaluation.errors import TooManyWorkers
from gauntlet.evaluation.models import Worker, WorkerState
from gauntlet.evaluation.transitions import database_now
from gauntlet.queues.models import Queue, QueueToken
from gauntlet.queues.selectors import own_queues

_FORGOTTEN_AFTER: Final = timedelta(days=1)
_BEATS_MISSED: Final = 4  # after which a worker counts as silent
MOST_OF_A_TOKEN: Final = 500  # workers: strangers choose their names


# A token that was revoked, or whose owner is switched off, opens nothing from that moment on.
_OPENED: Final = Q(queue_token=None) | Q(queue_token__revoked_at=None, queue_token__queue__owner__is_active=True)


def report_worker(*, name: str, queues: Sequence[str], state: WorkerState, reason: str = "") -> None:
    """Note a sign of life of a worker of the platform's own; one statement."""
    row = Worker(name=name, host=host_of(name), queues=list(queues), state=state, reason=reason, seen_at=database_now())
    Worker.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["name"], update_fields=["queues", "state", "reason", "seen_at"]
    )


def name_at_queue(queue: Queue, worker: str) -> str:
    """How the platform calls a worker of an own queue: strangers choose their names, and a host's holds no slash."""
    return f"{queue.name}/{worker}"


def report_worker_of(
    token: QueueToken, *, worker: str, state: WorkerState, reason: str = "", sandbox: str = "", version: str = ""
) -> None:
    """Note a sign of life of a worker that comes with a queue's token; one statement once it is known.

    Those that have ended make room for others where it is short: a machine may start one for each job.

    Raises:
        TooManyWorkers
    """
    name = name_at_queue(token.queue, worker)
    fields: dict[str, Any] = {
        "queues": [token.queue.name],
        "state": state,
        "reason": reason,
        "queue_token": token,
        "sandbox": sandbox,
        "version": version,
        "seen_at": database_now(),
    }
    if Worker.objects.filter(name=name).update(**fields):
        return
    known = Worker.objects.filter(queue_token=token, seen_at__gte=database_now() - _FORGOTTEN_AFTER)
    if known.count() >= MOST_OF_A_TOKEN and not known.filter(state=WorkerState.STOPPED).delete()[0]:
        raise TooManyWorkers(
            f"{MOST_OF_A_TOKEN} workers came with this token within a day. Make another for further machines."
        )
    row = Worker(name=name, host=host_of(name), **fields)
    Worker.objects.bulk_create([row], update_conflicts=True, unique_fields=["name"], update_fields=list(fields))


def forget_workers() -> int:
    """Drop the rows of those not heard of for a day; return how many."""
    forgotten, _ = Worker.objects.filter(seen_at__lt=database_now() - _FORGOTTEN_AFTER).delete()
    return forgotten


def silent_after() -> timedelta:
    """For how long a living worker says nothing at most."""
    return timedelta(seconds=settings.BELL_SECONDS * _BEATS_MISSED)


def living_workers() -> QuerySet[Worker]:
    """Those heard of lately that have not ended, whatever keeps them from taking jobs."""
    heard = Worker.objects.filter(seen_at__gte=database_now() - silent_after())
    return heard.exclude(state=WorkerState.STOPPED)


def queues_served() -> list[frozenset[str]]:
    """Of each worker that takes jobs now, from which queues. An own queue has those with its tokens alone.

    One query, and another where a worker of the platform's listens to a queue that the platform does not have.
    """
    rows = living_workers().filter(_OPENED, state__in=[WorkerState.IDLE, WorkerState.BUSY])
    taking = list(rows.values_list("queues", "queue_token"))
    owned = own_queues({name for queues, token in taking if token is None for name in queues})
    return [frozenset(queues if token else set(queues).difference(owned)) for queues, token in taking]


def taking_workers(names: Collection[str]) -> dict[str, int]:
    """How many workers take jobs of each of these queues now; as many queries as `queues_served`."""
    everybody = queues_served()
    return {name: sum(name in served for served in everybody) for name in names}


@dataclass(frozen=True, kw_only=True)
class WorkerLine:
    """A worker as the operator sees it."""

    worker: Worker
    state: str  # a WorkerState, or silent: killed, or cut off from the database
    age: timedelta  # since its last sign of life

    @property
    def owner(self) -> str:
        """Whose it is; empty: the platform's own."""
        token = self.worker.queue_token
        return token.queue.owner.username if token is not None else ""


def worker_lines() -> list[WorkerLine]:
    """Every worker that was heard of within a day, by name; one query."""
    rows: QuerySet[Any] = Worker.objects.select_related("queue_token__queue__owner").annotate(age=Now() - F("seen_at"))
    silent = silent_after()
    return [
        WorkerLine(
            worker=row,
            state="silent" if row.state != WorkerState.STOPPED and row.age > silent else row.state,
            age=row.age,
        )
        for row in rows
    ]
