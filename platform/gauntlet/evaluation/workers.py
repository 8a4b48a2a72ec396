"""Worker processes as the operator sees them: each says now and then that it lives, and why it takes no job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from gauntlet.evaluation.claims import host_of
from gauntlet.evaluation.models import Worker, WorkerState
from gauntlet.evaluation.transitions import database_now

_FORGOTTEN_AFTER: Final = timedelta(days=1)
_BEATS_MISSED: Final = 4  # after which a worker counts as silent


def report_worker(*, name: str, queues: Sequence[str], state: WorkerState, reason: str = "") -> None:
    """Note a worker's sign of life; one statement."""
    row = Worker(name=name, host=host_of(name), queues=list(queues), state=state, reason=reason, seen_at=database_now())
    Worker.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["name"], update_fields=["queues", "state", "reason", "seen_at"]
    )


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


@dataclass(frozen=True, kw_only=True)
class WorkerLine:
    """A worker as the operator sees it."""

    worker: Worker
    state: str  # a WorkerState, or silent: killed, or cut off from the database
    age: timedelta  # since its last sign of life


def worker_lines() -> list[WorkerLine]:
    """Every worker that was heard of within a day, by name; one query."""
    rows: QuerySet[Any] = Worker.objects.annotate(age=Now() - F("seen_at"))
    silent = silent_after()
    return [
        WorkerLine(
            worker=row,
            state="silent" if row.state != WorkerState.STOPPED and row.age > silent else row.state,
            age=row.age,
        )
        for row in rows
    ]
