"""Workers on pages: how many take jobs, in words, and whether anybody checks what was sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from gauntlet.evaluation.models import WorkerState
from gauntlet.evaluation.workers import WorkerLine, living_workers

#: What an operator looks for first stands first.
_TOLD: Final = {
    "silent": "{} silent",
    "paused": "{} paused",
    "draining": "{} without room on a disk",
    "stopping": "{} about to end",
    "stopped": "{} ended",
}


def workers_told(lines: Sequence[WorkerLine]) -> str:
    """How many of the workers take jobs, and what the others do."""
    counts = Counter(str(line.state) for line in lines)
    taking = counts["idle"] + counts["busy"]
    others = [words.format(counts[state]) for state, words in _TOLD.items() if counts[state]]
    told = f"{taking} of {len(lines)} take{'s' if taking == 1 else ''} jobs"
    return f"{told}; {', '.join(others)}." if others else f"{told}."


def somebody_checks() -> bool:
    """Whether some worker of the platform takes work now: what was sent is checked by no other."""
    own = living_workers().filter(queue_token__isnull=True)
    return own.filter(state__in=[WorkerState.IDLE, WorkerState.BUSY]).exists()
