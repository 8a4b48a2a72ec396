"""Whose machines did an evaluation's work, where they were not the platform's own."""

from __future__ import annotations

from typing import Any, Final

from gauntlet.evaluation.claims import host_of
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.queues.models import Queue

_KEY: Final = "workers"


def note_workers(evaluation: Evaluation, held: Job) -> None:
    """Name in a locked evaluation's record whose worker ends one of its jobs; the caller saves it."""
    if held.queue_token_id is None:
        return
    queue = Queue.objects.select_related("owner").get(tokens=held.queue_token_id)
    noted: dict[str, Any] = evaluation.record.get(_KEY, {})
    hosts = {*noted.get(queue.name, {}).get("hosts", ()), host_of(held.worker).removeprefix(f"{queue.name}/")}
    told = {"owner": queue.owner.username, "hosts": sorted(hosts)}
    evaluation.record = {**evaluation.record, _KEY: {**noted, queue.name: told}}
