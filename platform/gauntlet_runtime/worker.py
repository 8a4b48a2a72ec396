"""A worker: claims jobs from a source, does them in sandboxes, and hands back what came out."""

from __future__ import annotations

import fcntl
import shutil
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import structlog

from gauntlet_runtime.episodes import run_episodes
from gauntlet_runtime.folders import CACHE_BYTES, ArtifactFolders
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.health import Health, Unfit
from gauntlet_runtime.jobs import (
    Claim,
    Failure,
    JobEvent,
    JobSource,
    LeaseLost,
    RunResult,
    RunSpec,
    ScoreResult,
    SourceUnavailable,
)
from gauntlet_runtime.lease import Ending, Lease
from gauntlet_runtime.programs import run_score
from gauntlet_runtime.sandbox import is_alive, this_process
from gauntlet_runtime.sandbox.interface import ImageUnavailable, Sandbox
from gauntlet_scoring.failures import FailureCode

FINISH_SECONDS: Final = 60.0  # for which a result that the source cannot take now is offered again
_FIRST_WAIT: Final = 0.25
_LONGEST_WAIT: Final = 5.0

State = Literal["idle", "busy", "paused", "draining", "stopping"]

_log = structlog.get_logger(__name__)
_OVERDUE: Final = Failure(
    code=FailureCode.INFRASTRUCTURE,
    message="This took longer than all its limits together, so something of the platform hangs.",
)


class Worker:
    """One process that does jobs, one at a time. Use as a context manager: it keeps a warm gateway.

    Args:
        source: where jobs come from and results go
        sandbox: the backend that programs run in
        folder: this host's working folder; several workers may share it
        queues: the queues whose jobs this worker may claim
        name: how the platform knows this worker
        gateways: where gateways come from; a pool of the worker's own where None
        cache_bytes: bound of the artifact cache
        min_free_bytes: room that the disk must have for a job to be taken
        stop_by: None, or the time (monotonic) by which the worker is to be done; asked again and again
        hung: called from another thread where a job does not stop that has to; not expected to return
    """

    def __init__(
        self,
        source: JobSource,
        sandbox: Sandbox,
        folder: Path,
        queues: Sequence[str],
        name: str,
        *,
        gateways: GatewayPool | None = None,
        cache_bytes: int = CACHE_BYTES,
        min_free_bytes: int = 0,
        stop_by: Callable[[], float | None] = lambda: None,
        hung: Callable[[], None] = lambda: None,
    ) -> None:
        self._source = source
        self._sandbox = sandbox
        self._queues = list(queues)
        self._name = name
        self._owner = this_process()
        self._folder = folder
        self._jobs = folder / "jobs" / self._owner.replace(":", "-")
        self._packages = folder / "packages"
        self._files = ArtifactFolders(folder / "artifacts", fetch=source.fetch, max_bytes=cache_bytes)
        self._gateways = gateways or GatewayPool()
        self._stop_by = stop_by
        self._hung = hung
        self.health = Health(folder, min_free_bytes=min_free_bytes)
        self._told: Unfit | None = None
        self.is_busy = False
        folder.mkdir(parents=True, exist_ok=True)
        self.reap()
        self._jobs.mkdir(parents=True, exist_ok=True)
        self._gateways.warm()
        self._owns_gateways = gateways is None

    def work_until_empty(self) -> int:
        """Do jobs until the source has none left for this worker; return how many were claimed."""
        done = 0
        while self.work_once():
            done += 1
        return done

    def work_once(self) -> bool:
        """Do the next job; False where the source has none for this worker, or the worker is to take none."""
        claim = self._claim()
        if claim is None or isinstance(claim.spec, RunSpec):
            self._sandbox.drop_spares()  # the scorings that followed each other are over
        if claim is None:
            return False
        self.is_busy = True
        try:
            self._do(claim)
        finally:
            self.is_busy = False
        return True

    def _claim(self) -> Claim | None:
        if self._stop_by() is not None or not self.is_fit():
            return None
        return self._source.claim(queues=self._queues, worker=self._name)

    def is_fit(self) -> bool:
        """Whether this worker may take work now; where not, it says so once."""
        if self.health.is_short_of_disk():
            self._files.drop_unused()
        unfit = self.health.unfit()
        if unfit is not None and (self._told is None or self._told.state != unfit.state):
            _log.warning("worker_takes_no_jobs", state=unfit.state, reason=unfit.reason)
        if unfit is None and self._told is not None:
            _log.info("worker_takes_jobs_again")
        self._told = unfit
        return unfit is None

    def state(self) -> tuple[State, str]:
        """What this worker does now, and why it takes no job where it takes none. Any thread may ask."""
        if self._stop_by() is not None:
            return "stopping", ""
        if self.is_busy:
            return "busy", ""
        unfit = self.health.unfit()
        return ("idle", "") if unfit is None else (unfit.state, unfit.reason)

    def close(self) -> None:
        """End the warm gateway and remove this worker's folders. Idempotent."""
        self._sandbox.drop_spares()
        if self._owns_gateways:
            self._gateways.close()
        self._files.release()
        shutil.rmtree(self._jobs, ignore_errors=True)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reap(self) -> None:
        """Remove sandboxes and folders of this host's workers that did not live to remove them.

        Any thread may call it. One worker of a host at a time does it; the others need not.
        """
        with (self._folder / ".reaping").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            reaped = self._sandbox.reap(is_alive)
            for left in (self._folder / "jobs").glob("*-*"):
                if not is_alive(left.name.replace("-", ":", 2)):
                    shutil.rmtree(left, ignore_errors=True)
                    reaped.append(left.name)
        if reaped:
            _log.warning("leftovers_reaped", labels=reaped)

    def _do(self, claim: Claim) -> None:
        log = _log.bind(job=claim.job, evaluation=claim.evaluation, submission=claim.submission, kind=claim.spec.kind)
        begun = time.monotonic()
        log.info("job_started", attempt=claim.attempt)
        folder = self._jobs / f"job-{uuid.uuid4().hex[:12]}"
        lease = Lease(self._source, claim, stop_by=self._stop_by, hung=self._hung)
        try:
            with lease:
                ended = self._work_and_tell(claim, folder, lease, log)
        except LeaseLost:
            ended = "lost"
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            self._release_files(log)
        log.info("job_ended", seconds=round(time.monotonic() - begun, 3), outcome=ended)

    def _release_files(self, log: Any) -> None:
        """What cannot be tidied up after a job keeps nobody from the next one."""
        try:
            self._files.release()
        except Exception:  # noqa: BLE001 - a later job's end tidies up too
            log.error("files_not_released", trace=traceback.format_exc())

    def _work_and_tell(self, claim: Claim, folder: Path, lease: Lease, log: Any) -> str:
        """Do the job and tell the source what became of it; the result is one word for the log."""
        try:
            outcome = self._result_or_failure(claim, folder, lease.over, log)
        except LeaseLost:
            if lease.ending is Ending.STOPPING:
                self._source.hand_back(claim)
                return "handed_back"
            if lease.ending is not Ending.OVERDUE:
                raise
            outcome = _OVERDUE
        if isinstance(outcome, Failure) and self._stop_by() is not None:
            # What ends a worker may end all its processes at once, as systemd does, and so the sandboxes: no fault.
            self._source.hand_back(claim)
            return "handed_back"
        if not isinstance(outcome, Failure):
            outcome = self._finish_or_failure(claim, outcome, log)
        self.health.note(outcome, evaluation=claim.evaluation)
        if isinstance(outcome, Failure):
            self._give_back(claim, outcome, log)
        return _describe(outcome)

    def _give_back(self, claim: Claim, failure: Failure, log: Any) -> None:
        try:
            self._source.give_back(claim, failure)
        except LeaseLost:
            raise
        except Exception:  # noqa: BLE001 - then its lease runs out, and it is tried again all the same
            log.error("job_not_given_back", trace=traceback.format_exc())

    def _result_or_failure(
        self, claim: Claim, folder: Path, lost: threading.Event, log: Any
    ) -> RunResult | ScoreResult | Failure:
        try:
            return self._run(claim, folder, lost)
        except LeaseLost:
            raise
        except ImageUnavailable as error:
            log.error("image_unavailable", reason=str(error))
            return Failure(code=FailureCode.IMAGE_UNAVAILABLE, message=f"This worker lacks an image: {error}.")
        except Exception as error:  # noqa: BLE001 - whatever it was, the job must go back and the reason into the log
            # Formatted here: a renderer that shows local variables would print the job's token and its scenarios.
            log.error("job_failed_on_the_platform", trace=traceback.format_exc())
            return Failure(
                code=FailureCode.INFRASTRUCTURE,
                message=f"The platform failed while it ran this ({type(error).__name__}).",
            )

    def _finish_or_failure(
        self, claim: Claim, result: RunResult | ScoreResult, log: Any
    ) -> RunResult | ScoreResult | Failure:
        """Store the result; what cannot be stored must not wait for its lease to run out.

        A source that is away is waited for: episodes that were run are worth it, and the fence guards the result also
        where the lease has run out meanwhile.
        """
        give_up, wait = time.monotonic() + FINISH_SECONDS, _FIRST_WAIT
        while True:
            try:
                self._source.finish(claim, result)
            except LeaseLost:
                raise
            except SourceUnavailable as error:
                if self._is_too_late(give_up):
                    return _not_stored(error, log)
                log.warning("result_waits_for_the_source", reason=str(error), wait=wait)
                time.sleep(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            except Exception as error:  # noqa: BLE001 - as above
                return _not_stored(error, log)
            else:
                return result

    def _is_too_late(self, give_up: float) -> bool:
        now, stop_by = time.monotonic(), self._stop_by()
        return now >= give_up or (stop_by is not None and now >= stop_by)

    def _run(self, claim: Claim, folder: Path, lost: threading.Event) -> RunResult | ScoreResult:
        folder.mkdir(parents=True, mode=0o700)  # here, where a disk that takes no folder gives the job back
        label = f"job-{claim.job}"
        if not isinstance(claim.spec, RunSpec):
            return run_score(
                claim.spec,
                sandbox=self._sandbox,
                folder=folder,
                files=self._files,
                owner=self._owner,
                label=label,
                cancelled=lost,
                gateway=self._gateways,
                models=self._source.models(claim) if claim.spec.judge is not None else None,
            )

        def report(event: JobEvent, detail: dict[str, Any]) -> None:
            try:
                self._source.report(claim, event, detail)
            except LeaseLost:
                raise
            except Exception:  # noqa: BLE001 - only told for those who watch: not worth the episodes that were run
                _log.warning("progress_not_reported", job=claim.job, trace=traceback.format_exc())

        return run_episodes(
            claim.spec,
            sandbox=self._sandbox,
            folder=folder,
            files=self._files,
            packages=self._packages,
            gateway=self._gateways,
            owner=self._owner,
            label=label,
            on_event=report,
            cancelled=lost,
            models=self._source.models(claim),
        )


def _not_stored(error: Exception, log: Any) -> Failure:
    log.error("result_not_stored", trace=traceback.format_exc())
    reason = error.__cause__ or error
    return Failure(
        code=FailureCode.INFRASTRUCTURE,
        message=f"The platform could not store this result ({type(reason).__name__}).",
    )


def _describe(outcome: RunResult | ScoreResult | Failure) -> str:
    if isinstance(outcome, Failure):
        return outcome.code.value
    return "done" if outcome.failure is None else outcome.failure.code.value
