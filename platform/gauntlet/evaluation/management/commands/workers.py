"""`manage.py workers`: the worker processes of all hosts, when each was last heard of, and why it takes no job."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from gauntlet.evaluation.workers import WorkerLine, worker_lines

_HEAD = ("worker", "queues", "state", "seen", "why it takes no job")


class Command(BaseCommand):
    """Print one line a worker."""

    help = "List the workers: what they do, and why one takes no job."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it."""
        rows = [_HEAD, *(_row(line) for line in worker_lines())]
        if len(rows) == 1:
            self.stdout.write("No worker has been heard of for a day. Start one: celery -A gauntlet.celery worker")
            return
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
            self.stdout.write("  ".join([*cells, row[-1]]).rstrip())


def _row(line: WorkerLine) -> tuple[str, ...]:
    seen = f"{line.age.total_seconds():.0f} s ago"
    return (line.worker.name, ", ".join(line.worker.queues), line.state, seen, line.worker.reason)
