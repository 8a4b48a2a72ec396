"""A claimed job is held: its lease is renewed from a thread of its own, until there is a reason to let go."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import structlog

from gauntlet_runtime.jobs import Claim, JobSource, LeaseLost, RunSpec, SourceUnavailable
from gauntlet_runtime.run_job import ENVIRONMENT_SECONDS, MODEL_SECONDS, PLATFORM_SECONDS, RUNS_OF_AN_EPISODE

RENEWALS_PER_LEASE: Final = 3
RENEWAL_SECONDS: Final = 2.0  # at the latest: a renewal is also how a worker hears that its job was cancelled
LOOK_SECONDS: Final = 0.2  # how soon a worker that is to end lets go of its job
HANG_SECONDS: Final = 180.0  # for which a job that was told to stop may go on before its process counts as hung

# What a job may take beyond the limits of its programs: files fetched and unpacked, sandboxes started and removed.
_SLACK_SECONDS: Final = 600.0
_INSTALL_SECONDS: Final = 300.0
_IDLE_SECONDS: Final = 60.0  # an agent between two episodes, at least

_log = structlog.get_logger(__name__)


class Ending(StrEnum):
    """Why a job is to be stopped before its end."""

    LOST = "lost"  # it is no longer ours
    OVERDUE = "overdue"  # it took longer than all its limits together
    STOPPING = "stopping"  # the worker is to end


def longest_seconds(claim: Claim) -> float:
    """How long a job can take whose programs keep to their limits, in seconds; beyond it something hangs."""
    spec = claim.spec
    if not isinstance(spec, RunSpec):
        return _SLACK_SECONDS + max(1, len(spec.programs)) * spec.limits.seconds
    episode = spec.episode_limits.episode_seconds
    waiting = PLATFORM_SECONDS + ENVIRONMENT_SECONDS  # meanwhile an episode's clock stands still
    if spec.llm is not None:
        waiting += MODEL_SECONDS
    each = RUNS_OF_AN_EPISODE * (episode + waiting) + max(_IDLE_SECONDS, episode)
    return _SLACK_SECONDS + _INSTALL_SECONDS + len(spec.episodes) * each


class Lease:
    """Renews a claim while the block lasts. ``over`` is set once the work is to stop at once; ``ending`` says why.

    A worker whose work hangs must not hold its job for ever: after `longest_seconds` the lease is renewed no more, so
    another worker gets the job, and where the work does not stop then, ``hung`` is called.

    Args:
        stop_by: None, or the time (monotonic) by which the worker wants to be done; asked again and again
        hung: called from the lease's thread; not expected to return
    """

    def __init__(
        self,
        source: JobSource,
        claim: Claim,
        *,
        stop_by: Callable[[], float | None] = lambda: None,
        hung: Callable[[], None] = lambda: None,
        longest: float | None = None,
    ) -> None:
        self._source = source
        self._claim = claim
        self._stop_by = stop_by
        self._hung = hung
        self._overdue_at = time.monotonic() + (longest_seconds(claim) if longest is None else longest)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease-{claim.job}", daemon=True)
        self.over = threading.Event()
        self.ending: Ending | None = None

    def __enter__(self) -> Lease:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._hold()
        finally:
            self._source.let_go()

    def _hold(self) -> None:
        held_until = time.monotonic() + self._claim.lease_seconds
        every = min(self._claim.lease_seconds / RENEWALS_PER_LEASE, RENEWAL_SECONDS)
        next_renewal = time.monotonic() + every
        while not self._done.wait(min(LOOK_SECONDS, every)):
            now = time.monotonic()
            if now >= self._overdue_at:
                self._end(Ending.OVERDUE)
                return
            stop_by = self._stop_by()
            if stop_by is not None and now >= stop_by and self.ending is None:
                self.ending = Ending.STOPPING  # and the lease is held on to, until the job was handed back
                self.over.set()
            if now < next_renewal:
                continue
            next_renewal = now + every
            if self._renewed():
                held_until = now + self._claim.lease_seconds
            elif self.ending is Ending.LOST or time.monotonic() >= held_until:
                self._end(Ending.LOST)
                return

    def _renewed(self) -> bool:
        try:
            self._source.renew(self._claim)
        except LeaseLost:
            self.ending = Ending.LOST
            return False
        except SourceUnavailable as error:  # which may pass before the lease runs out
            _log.warning("lease_not_renewed", job=self._claim.job, reason=str(error))
            return False
        except Exception:  # noqa: BLE001 - as above
            _log.warning("lease_not_renewed", job=self._claim.job, trace=traceback.format_exc())
            return False
        return True

    def _end(self, why: Ending) -> None:
        self.ending = why
        self.over.set()
        if not self._done.wait(HANG_SECONDS):
            _log.error("worker_hangs", job=self._claim.job, ending=why, seconds=HANG_SECONDS)
            self._hung()
