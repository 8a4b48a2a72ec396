"""A worker: claims jobs from a source, does them in sandboxes, and hands back what came out."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import structlog

from gauntlet_runtime.episodes import run_episodes
from gauntlet_runtime.folders import CACHE_BYTES, ArtifactFolders
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import (
    Claim,
    Failure,
    JobEvent,
    JobSource,
    LeaseLost,
    RunResult,
    RunSpec,
    ScoreResult,
)
from gauntlet_runtime.programs import run_score
from gauntlet_runtime.sandbox import is_alive, this_process
from gauntlet_runtime.sandbox.interface import ImageUnavailable, Sandbox
from gauntlet_scoring.failures import FailureCode

RENEWALS_PER_LEASE: Final = 3
RENEWAL_SECONDS: Final = 2.0  # at the latest: a renewal is also how a worker hears that its job was cancelled

_log = structlog.get_logger(__name__)


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
    ) -> None:
        self._source = source
        self._sandbox = sandbox
        self._queues = list(queues)
        self._name = name
        self._owner = this_process()
        self._jobs = folder / "jobs" / self._owner.replace(":", "-")
        self._packages = folder / "packages"
        self._files = ArtifactFolders(folder / "artifacts", fetch=source.fetch, max_bytes=cache_bytes)
        self._gateways = gateways or GatewayPool()
        folder.mkdir(parents=True, exist_ok=True)
        self._clean_up_after_the_dead(folder / "jobs")
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
        """Do the next job; False where the source has none for this worker."""
        claim = self._source.claim(queues=self._queues, worker=self._name)
        if claim is None:
            return False
        self._do(claim)
        return True

    def close(self) -> None:
        """End the warm gateway and remove this worker's folders. Idempotent."""
        if self._owns_gateways:
            self._gateways.close()
        self._files.release()
        shutil.rmtree(self._jobs, ignore_errors=True)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _clean_up_after_the_dead(self, jobs: Path) -> None:
        """Sandboxes and folders of workers that did not live to remove them."""
        reaped = self._sandbox.reap(is_alive)
        if reaped:
            _log.warning("sandboxes_reaped", labels=reaped)
        for left in jobs.glob("*-*"):
            if not is_alive(left.name.replace("-", ":", 1)):
                shutil.rmtree(left, ignore_errors=True)

    def _do(self, claim: Claim) -> None:
        log = _log.bind(job=claim.job, evaluation=claim.evaluation, submission=claim.submission, kind=claim.spec.kind)
        begun = time.monotonic()
        log.info("job_started", attempt=claim.attempt)
        folder = Path(tempfile.mkdtemp(prefix="job-", dir=self._jobs))
        try:
            with self._lease(claim) as lost:
                outcome = self._result_or_failure(claim, folder, lost, log)
                if not isinstance(outcome, Failure):
                    outcome = self._finish_or_failure(claim, outcome, log)
                if isinstance(outcome, Failure):
                    self._source.give_back(claim, outcome)
        except LeaseLost:
            log.warning("job_lost", seconds=round(time.monotonic() - begun, 3))
        else:
            log.info("job_ended", seconds=round(time.monotonic() - begun, 3), outcome=_describe(outcome))
        finally:
            self._files.release()
            shutil.rmtree(folder, ignore_errors=True)

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
                message=f"The platform failed while it ran this ({type(error).__name__}). It is tried again.",
            )

    def _finish_or_failure(
        self, claim: Claim, result: RunResult | ScoreResult, log: Any
    ) -> RunResult | ScoreResult | Failure:
        """A result that cannot be stored must not wait for its lease to run out."""
        try:
            self._source.finish(claim, result)
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            log.error("result_not_stored", trace=traceback.format_exc())
            return Failure(
                code=FailureCode.INFRASTRUCTURE,
                message=f"The platform could not store this result ({type(error).__name__}). It is tried again.",
            )
        return result

    def _run(self, claim: Claim, folder: Path, lost: threading.Event) -> RunResult | ScoreResult:
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
        )

    @contextmanager
    def _lease(self, claim: Claim) -> Iterator[threading.Event]:
        """Renew the lease in a thread of its own; the event is set once the job is no longer ours."""
        lost, done = threading.Event(), threading.Event()
        thread = threading.Thread(target=self._renew, args=(claim, lost, done), name=f"lease-{claim.job}", daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            done.set()
            thread.join()

    def _renew(self, claim: Claim, lost: threading.Event, done: threading.Event) -> None:
        held_until = time.monotonic() + claim.lease_seconds
        while not done.wait(min(claim.lease_seconds / RENEWALS_PER_LEASE, RENEWAL_SECONDS)):
            asked = time.monotonic()
            try:
                self._source.renew(claim)
                held_until = asked + claim.lease_seconds
            except LeaseLost:
                lost.set()
                return
            except Exception:  # noqa: BLE001 - a source that cannot be reached now may be before the lease runs out
                _log.warning("lease_not_renewed", job=claim.job, trace=traceback.format_exc())
                if time.monotonic() >= held_until:
                    lost.set()
                    return


def _describe(outcome: RunResult | ScoreResult | Failure) -> str:
    if isinstance(outcome, Failure):
        return outcome.code.value
    return "done" if outcome.failure is None else outcome.failure.code.value
