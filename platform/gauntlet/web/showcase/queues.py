"""The showcase's workers, and an own queue: served by one machine, shared with a colleague, used by one competition."""

from __future__ import annotations

from datetime import datetime, timedelta

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Phase
from gauntlet.evaluation.models import Worker
from gauntlet.evaluation.workers import name_at_queue
from gauntlet.queues.models import Queue
from gauntlet.queues.services import create_queue, issue_token, share_queue
from gauntlet.web.showcase import texts


def platform_workers(*, now: datetime) -> None:
    """One that takes jobs, heard of until tomorrow for as long as the pages are looked at, and some that take none."""
    far = now + timedelta(days=1)
    for name, state, reason, seen in (
        ("worker-1:1", "idle", "", far),
        ("worker-1:2", "paused", "Its last 3 jobs failed by the platform's fault; it tries again in 4 min.", far),
        ("worker-2.rack-17.row-b.north-hall.machines.example.org:31337", "draining", texts.NO_DISK, far),
        ("worker-3:1", "stopped", "", far),
        ("worker-4:1", "busy", "", now - timedelta(hours=3)),
    ):
        host = name.partition(":")[0]
        Worker.objects.create(name=name, host=host, queues=["default"], state=state, reason=reason, seen_at=seen)


def own_queue(phase: Phase, *, colleague: User, now: datetime) -> Queue:
    """A queue of the phase's organizer, which the phase uses; heard of until tomorrow."""
    owner = phase.competition.organizer
    queue = create_queue("plant-gpu", owner=owner)
    share_queue(queue, username=colleague.username, actor=owner)
    token, _ = issue_token(queue, label="GPU machine in the lab", actor=owner)
    issue_token(queue, label="The old workstation under the desk by the window", actor=owner)
    type(token).objects.filter(pk=token.pk).update(last_used_at=now)
    for process, state, reason in (
        (4120, "busy", ""),
        (4121, "draining", texts.NO_DISK),
    ):
        Worker.objects.create(
            name=name_at_queue(queue, f"lab-gpu-1:{process}"),
            host=name_at_queue(queue, "lab-gpu-1"),
            queues=[queue.name],
            queue_token=token,
            state=state,
            reason=reason,
            sandbox="bubblewrap, best effort: memory, processes",
            version="0.1.0",
            seen_at=now + timedelta(days=1),
        )
    phase.queue = queue.name
    phase.save(update_fields=["queue"])
    return queue
