"""A worker process: one runtime worker, kept between rings so that its gateway and caches stay warm."""

from __future__ import annotations

import functools
import os
import socket
from typing import TYPE_CHECKING

import structlog
from django.conf import settings

from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.services import start_evaluations
from gauntlet.submissions.checks import check_next, reclaim_stuck_checks

if TYPE_CHECKING:
    from gauntlet_runtime.sandbox.interface import Sandbox
    from gauntlet_runtime.worker import Worker

log = structlog.get_logger(__name__)


@functools.cache
def sandbox() -> Sandbox:
    """This host's sandbox backend: the configured one, or the best available.

    Raises:
        SandboxUnavailable: nothing is run on this host; the message says how to get one.
    """
    # Imported here: neither the web server nor the beat, which import the tasks, pays for the sandboxes' libraries.
    from gauntlet_runtime.sandbox import open_sandbox

    return open_sandbox(
        settings.SANDBOX or None,
        state=settings.VAR / "sandbox",
        images=settings.SANDBOX_IMAGES,
        docker_runtime=settings.DOCKER_RUNTIME or None,
    )


@functools.cache
def worker(queues: tuple[str, ...]) -> Worker:
    """This process's worker."""
    from gauntlet_runtime.worker import Worker

    return Worker(
        source=DatabaseJobSource(),
        sandbox=sandbox(),
        folder=settings.VAR / "work",
        queues=queues,
        name=f"{socket.gethostname()}:{os.getpid()}",
    )


def work_until_empty(queues: tuple[str, ...] = ("default",)) -> None:
    """Check uploads and run jobs until none is left.

    Before each job the uploads, also those whose checker died: a check is short, and a submission that is not checked
    has no place in the queue.
    """
    mine = worker(queues)
    while True:
        reclaim_stuck_checks()
        while check_next(sandbox=sandbox(), on_accept=start_evaluations):
            pass
        if not mine.work_once():
            return
