"""Whether a worker is fit to take a job: room on its disk, and no row of jobs that failed by the platform's fault."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from gauntlet_runtime.jobs import Failure, RunResult, ScoreResult
from gauntlet_scoring.failures import FailureCode, Owner

FAULTS: Final = 3  # evaluations in a row whose job failed by the platform's fault; then the worker pauses
PAUSE_SECONDS: Final = 60.0  # the first pause; each further one is twice as long
LONGEST_PAUSE_SECONDS: Final = 15 * 60.0
_MIB: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Unfit:
    """Why a worker takes no job."""

    state: Literal["paused", "draining"]
    reason: str  # a sentence for the operator


class Health:
    """The fitness of one worker.

    A sick host (no memory, a broken image, a dead engine) would otherwise take job after job and use up the attempts of
    each. After a pause one job is tried: if it fails by the platform's fault too, the next pause is longer.

    Args:
        folder: on the disk that has to have room
        min_free_bytes: how much
        clock: seconds that go on
    """

    def __init__(self, folder: Path, *, min_free_bytes: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._min_free_bytes = min_free_bytes
        self._clock = clock
        self._failed: set[str] = set()  # evaluations since the last job that went well
        self._pauses = 0
        self._paused_until: float | None = None
        self._reason = ""

    def note(self, outcome: RunResult | ScoreResult | Failure, *, evaluation: str) -> None:
        """Remember how a job of an evaluation ended on this worker.

        One evaluation that the platform cannot cope with makes no host sick, however often it is tried; nor does an
        image that one task asks for and this host lacks, or a judge that is away.
        """
        failure = outcome if isinstance(outcome, Failure) else outcome.failure
        if failure is not None and failure.code is FailureCode.IMAGE_UNAVAILABLE:
            return
        if failure is not None and isinstance(outcome, ScoreResult) and failure.code.owner is Owner.PLATFORM:
            return
        if failure is None or failure.code.owner is not Owner.PLATFORM:
            self._failed.clear()
            self._pauses = 0
            return
        self._failed.add(evaluation)
        if len(self._failed) >= FAULTS:
            self._pause(failure)

    def _pause(self, failure: Failure) -> None:
        seconds = min(PAUSE_SECONDS * 2**self._pauses, LONGEST_PAUSE_SECONDS)
        self._pauses += 1
        self._paused_until = self._clock() + seconds
        again = datetime.now(UTC) + timedelta(seconds=seconds)
        self._reason = (
            f"Jobs of the last {len(self._failed)} evaluations failed on this worker by the platform's fault; the last "
            f"with {failure.code}: {failure.message} The worker tries another at {again:%H:%M:%S} UTC."
        )

    def is_short_of_disk(self) -> bool:
        """Whether the disk has less room than a worker must have."""
        return shutil.disk_usage(self._folder).free < self._min_free_bytes

    def unfit(self) -> Unfit | None:
        """Why the worker must not take a job now, or None."""
        if self._paused_until is not None and self._clock() < self._paused_until:
            return Unfit(state="paused", reason=self._reason)
        self._paused_until = None
        if self.is_short_of_disk():
            free = shutil.disk_usage(self._folder).free // _MIB
            said = (
                f"Only {free} MiB are free on the disk of {self._folder}, of {self._min_free_bytes // _MIB} MiB that "
                "have to be (MIN_FREE_BYTES; --min-free of gauntlet-worker). "
                "The worker takes jobs again as soon as there is room."
            )
            return Unfit(state="draining", reason=said)
        return None
