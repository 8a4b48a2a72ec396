"""A worker process: one runtime worker, kept between rings so that its gateway and caches stay warm."""

from __future__ import annotations

import functools
import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Final

import structlog
from django.conf import settings

from gauntlet.evaluation.job_source import DatabaseJobSource
from gauntlet.evaluation.models import WorkerState
from gauntlet.evaluation.services import start_evaluations
from gauntlet.stopping import stop_by
from gauntlet.submissions.checks import check_next, reclaim_stuck_checks

if TYPE_CHECKING:
    from gauntlet_runtime.sandbox.interface import Sandbox
    from gauntlet_runtime.worker import Worker

log = structlog.get_logger(__name__)

_CHECKING_SECONDS: Final = 5.0  # after which those who wait for a worker have their turn

_made: list[Worker] = []  # none or one: before and after this process's first ring
_unusable = ""  # why this host cannot run anything


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


def worker_name() -> str:
    """How the platform knows this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


@functools.cache
def worker(queues: tuple[str, ...]) -> Worker:
    """This process's worker."""
    from gauntlet_runtime.worker import Worker

    made = Worker(
        source=DatabaseJobSource(),
        sandbox=sandbox(),
        folder=settings.VAR / "work",
        queues=queues,
        name=worker_name(),
        min_free_bytes=settings.MIN_FREE_BYTES,
        stop_by=stop_by,
        hung=_end_at_once,
    )
    _made.append(made)
    return made


def _end_at_once() -> None:
    """A job that does not stop when it has to holds this process for ever; the pool starts another in its place."""
    os.kill(os.getpid(), signal.SIGKILL)


def work_until_empty(queues: tuple[str, ...] = ("default",)) -> None:
    """Check uploads and run jobs until none is left, or this worker is to end.

    Before each job the uploads, also those whose checker died: most checks are short, and a submission that is not
    checked has no place in the queue. After some seconds of checks a job is done all the same.
    """
    mine = _usable_worker(queues)
    while stop_by() is None:
        reclaim_stuck_checks()
        checked_all = _check_uploads(mine)
        if not mine.work_once() and checked_all:
            return


def _check_uploads(mine: Worker) -> bool:
    """Check what was uploaded, for some seconds; whether none is left that this worker may check."""
    enough = time.monotonic() + _CHECKING_SECONDS
    while stop_by() is None and not mine.health.is_short_of_disk():
        if not check_next(sandbox=sandbox(), on_accept=start_evaluations):
            break
        if time.monotonic() > enough:
            return False
    return True


def _usable_worker(queues: tuple[str, ...]) -> Worker:
    global _unusable
    from gauntlet_runtime.sandbox.interface import SandboxUnavailable

    try:
        mine = worker(queues)
    except SandboxUnavailable as error:
        _unusable = str(error)
        raise
    _unusable = ""
    return mine


def state() -> tuple[WorkerState, str]:
    """What this process does now, and why it takes no job where it takes none. Any thread may ask."""
    if stop_by() is not None:
        return WorkerState.STOPPING, ""
    if _unusable:
        return WorkerState.PAUSED, _unusable
    for made in _made:
        state, reason = made.state()
        return WorkerState(state), reason
    return WorkerState.IDLE, ""


def reap() -> None:
    """Remove what dead workers left on this host, from whatever thread, once this process has a worker."""
    for made in _made:
        made.reap()


def close() -> None:
    """End this process's gateway and remove its folders."""
    for made in _made:
        made.close()
