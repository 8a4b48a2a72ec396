"""One process of a worker: it asks the site for jobs and does them, one at a time."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import structlog

from gauntlet_runtime import heartbeat, stopping
from gauntlet_runtime.remote.errors import SiteAway, SiteFault, Why, WorkerRefused
from gauntlet_runtime.remote.messages import Heartbeat
from gauntlet_runtime.remote.options import Options
from gauntlet_runtime.remote.site import Site
from gauntlet_runtime.remote.source import HttpJobSource
from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_runtime.sandbox.interface import Sandbox
from gauntlet_runtime.worker import Worker

_POLL_SECONDS: Final = 1.0  # after which a site that had no job is asked again
_POLLS_A_SECOND: Final = 10  # of all processes together: half of what a site lets one token ask
_UNEVEN: Final = 0.2  # by which a pause is longer or shorter, so that processes do not ask all at once
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 60.0  # between two questions to a site that is away
_ONCE_PATIENCE: Final = 60.0  # with a site that is away, of a worker that is to end when nothing is left
_BEATS: Final = (1.0, 60.0)  # seconds between two, whatever the site says
_LOOK_SECONDS: Final = 0.2

_log = structlog.get_logger(__name__)


class SiteHeartbeat(heartbeat.Heartbeat):
    """Tells the site how a worker does."""

    def __init__(self, source: HttpJobSource, worker: Worker, *, name: str, sandbox: str, seconds: float) -> None:
        super().__init__(seconds=seconds)
        self._source = source
        self._worker = worker
        self._said = partial(sign_of_life, name=name, sandbox=sandbox)

    def beat(self) -> None:
        """Say what this process does now. A site that is away has been told of in the log."""
        state, reason = self._worker.state()
        self._tell(self._said(state=state, reason=reason))

    def last_beat(self) -> None:
        """Say that it has ended."""
        self._tell(self._said(state="stopped"))

    def reap(self) -> None:
        """Remove what dead workers left on this host."""
        self._worker.reap()

    def _tell(self, said: Heartbeat) -> None:
        with suppress(SiteAway, WorkerRefused):  # whoever asks for jobs waits for it, or ends
            self.seconds = beat_seconds(self._source.beat(said).seconds)


def sign_of_life(*, name: str, state: Any, sandbox: str, reason: str = "") -> Heartbeat:
    """What the site is told of a process."""
    return Heartbeat(
        worker=name,
        state=state,
        reason=reason[:500],
        sandbox=sandbox[:200],
        version=version("gauntlet-runtime")[:40],
    )


def beat_seconds(asked: float) -> float:
    """The seconds between two signs of life that a site asked for, as far as that is reasonable."""
    shortest, longest = _BEATS
    return min(max(asked, shortest), longest)


def described(sandbox: Sandbox) -> str:
    """The backend, and what it cannot enforce here, for those who trust its scores."""
    weak = sandbox.best_effort()
    return f"{sandbox.name}, best effort: {', '.join(weak)}" if weak else sandbox.name


def sandbox_of(options: Options) -> Sandbox:
    """The backend that was asked for.

    Raises:
        SandboxUnavailable
    """
    return open_sandbox(
        options.sandbox,
        state=options.folder / "sandbox",
        images=options.images,
        docker_runtime=options.docker_runtime,
    )


def serve(options: Options) -> None:
    """Do jobs until this worker is to end, or with ``once`` until none is left.

    Raises:
        WorkerRefused
        SiteAway: with ``once`` only
        SandboxUnavailable
    """
    stop_by = partial(stopping.stop_by, options.stop_seconds)
    with Site(options.url, options.token, verify=options.verify) as site:
        _Serving(options, HttpJobSource(site, stop_by=stop_by)).run()


class _Serving:
    def __init__(self, options: Options, source: HttpJobSource) -> None:
        self._options = options
        self._source = source
        self._name = f"{options.name}:{os.getpid()}"

    def run(self) -> None:
        sandbox = sandbox_of(self._options)
        said = described(sandbox)
        seconds = self._first_contact(said)
        if seconds is None:
            return
        with Worker(
            self._source,
            sandbox,
            self._options.folder,
            [],  # the token knows which
            self._name,
            min_free_bytes=self._options.min_free_bytes,
            stop_by=partial(stopping.stop_by, self._options.stop_seconds),
            hung=_end_at_once,
        ) as worker:
            beat = SiteHeartbeat(self._source, worker, name=self._name, sandbox=said, seconds=seconds)
            beat.start()
            try:
                self._work(worker)
            finally:
                beat.stop()

    def _first_contact(self, sandbox: str) -> float | None:
        """The seconds between two signs of life, once the site has answered; None where this worker is to end first.

        A site that is down is waited for. At an address where no site is, waiting would not help.
        """
        waits = _Waits(once=self._options.once)
        while stopping.asked_at() is None:
            try:
                answer = self._source.beat(sign_of_life(name=self._name, state="idle", sandbox=sandbox))
            except SiteFault:
                raise WorkerRefused(Why.NO_SITE) from None
            except SiteAway as away:
                if away.hint is not None:
                    raise WorkerRefused(away.hint) from None
                waits.wait(away)
                continue
            _log.info("worker_started", queue=answer.queue, worker=self._name, sandbox=sandbox)
            return beat_seconds(answer.seconds)
        return None

    def _work(self, worker: Worker) -> None:
        waits = _Waits(once=self._options.once)
        while stopping.asked_at() is None:
            try:
                worked = worker.work_once()
            except SiteAway as away:  # the log has it, once
                waits.wait(away)
                continue
            except SiteFault as fault:  # it is there, and takes no claim: a fault that somebody has to see
                _log.error("no_job_can_be_claimed", reason=str(fault))
                waits.wait(SiteAway(str(fault)))
                continue
            waits.over()
            if worked:
                continue
            if self._options.once and worker.is_fit():
                return
            pause(poll_seconds(self._options.processes) * random.uniform(1 - _UNEVEN, 1 + _UNEVEN))  # noqa: S311


class _Waits:
    """Longer waits for a site that stays away; of a worker that does a queue's jobs once, not for ever."""

    def __init__(self, *, once: bool) -> None:
        self._once = once
        self._since: float | None = None
        self._next = _FIRST_WAIT

    def wait(self, away: SiteAway) -> None:
        """Raises SiteAway where it is not to be waited for any longer."""
        now = time.monotonic()
        self._since = self._since or now
        if self._once and now - self._since > _ONCE_PATIENCE:
            raise away
        pause(max(self._next, away.after or 0.0))
        self._next = min(2 * self._next, _LONGEST_WAIT)

    def over(self) -> None:
        """It has answered."""
        self._since, self._next = None, _FIRST_WAIT


def pause(seconds: float) -> None:
    """Wait, but not longer than this worker may go on."""
    over = time.monotonic() + seconds
    while stopping.asked_at() is None and (left := over - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_SECONDS))


def poll_seconds(processes: int) -> float:
    """How long each of a worker's idle processes waits before it asks for a job again."""
    return max(_POLL_SECONDS, processes / _POLLS_A_SECOND)


def _end_at_once() -> None:
    """A job that does not stop when it has to holds this process for ever; another is started in its place."""
    os.kill(os.getpid(), signal.SIGKILL)
