"""Jobs from the site, over HTTPS."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from gauntlet_runtime.folders import ArtifactDamaged
from gauntlet_runtime.jobs import (
    Artifact,
    Claim,
    Failure,
    JobEvent,
    JobSource,
    LeaseLost,
    RunResult,
    RunSpec,
    ScoreResult,
)
from gauntlet_runtime.metering import ModelSpec, ModelSupply, NoModels
from gauntlet_runtime.remote.errors import WorkerRefused
from gauntlet_runtime.remote.messages import (
    ClaimRequest,
    FinishedRun,
    FinishedScore,
    Heartbeat,
    HeartbeatAnswer,
    Report,
)
from gauntlet_runtime.remote.models import HttpModels
from gauntlet_runtime.remote.site import CALL_SECONDS, Site, read

CLAIM_SECONDS: Final = 30.0
FINISH_SECONDS: Final = 60.0  # in which the site stores and ranks what came out
#: For how long it is tried again where the site is away. A renewal and a claim are not: they come again anyway.
FETCH_PATIENCE: Final = 60.0
REPORT_PATIENCE: Final = 8.0
FINISH_PATIENCE: Final = 20.0
GIVE_BACK_PATIENCE: Final = 30.0
HAND_BACK_PATIENCE: Final = 5.0
_FETCHES: Final = 3  # of an artifact that comes with another digest
# After the time at which the worker is to be done: by then its lease has noted that this is why.
_STOP_SLACK_SECONDS: Final = 1.0

T = TypeVar("T")


class HttpJobSource(JobSource):
    """JobSource of a worker that does one job at a time. Any thread may call it.

    Args:
        stop_by: None, or the time (monotonic) by which the worker is to be done; asked again and again
    """

    def __init__(self, site: Site, *, stop_by: Callable[[], float | None] = lambda: None) -> None:
        self._site = site
        self._stop_by = stop_by
        self._claim: Claim | None = None
        self._lost = ""  # the token of a claim that is known to be lost
        self._sent: dict[Path, Artifact] = {}  # trajectories of the claim that the site has

    def beat(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Give a sign of life.

        Raises:
            SiteAway, WorkerRefused, SiteFault
        """
        return read(self._site.ask("POST", "heartbeat", heartbeat), HeartbeatAnswer)

    def claim(self, *, queues: Sequence[str], worker: str) -> Claim | None:
        """Take the next job. Which queue it comes from the token says, whatever ``queues`` are.

        Raises:
            SiteAway, WorkerRefused, SiteFault
        """
        answer = self._site.ask("POST", "claims", ClaimRequest(worker=worker), seconds=CLAIM_SECONDS)
        self._claim = None if answer is None else read(answer, Claim)
        self._sent = {}
        return self._claim

    def renew(self, claim: Claim) -> None:
        """Hold the job for another lease."""
        seconds = min(CALL_SECONDS, claim.lease_seconds / 3)
        self._about(claim, partial(self._site.ask, "POST", f"jobs/{claim.job}/renew", seconds=seconds))

    def report(self, claim: Claim, event: JobEvent, detail: dict[str, Any]) -> None:
        """Tell how the work goes."""
        body = Report(event=event, detail=detail)
        ask = partial(self._site.ask, "POST", f"jobs/{claim.job}/report", body, patience=REPORT_PATIENCE)
        self._about(claim, ask)

    def fetch(self, artifact: Artifact, into: Path) -> None:
        """Put the artifact's bytes into the file ``into``, which is there only once they are all right.

        Raises:
            ArtifactDamaged: the site's bytes have another digest, however often they are fetched.
            LeaseLost
            SiteAway, SiteFault
        """
        claim = self._claim
        if claim is None:
            raise ArtifactDamaged("Nothing is fetched but for a job.")
        draft = into.with_name(f"{into.name}.draft")
        path = f"jobs/{claim.job}/artifacts/{artifact.digest}"
        fetch = partial(self._site.download, path, draft, size=artifact.size, patience=FETCH_PATIENCE)
        try:
            for _ in range(_FETCHES):
                if self._about(claim, partial(fetch, check=partial(self._must_be_wanted, claim))) == artifact.digest:
                    draft.rename(into)
                    return
        finally:
            draft.unlink(missing_ok=True)
        raise ArtifactDamaged(f"What was fetched for {artifact.digest} has another digest.")

    def finish(self, claim: Claim, result: RunResult | ScoreResult) -> None:
        """Send the trajectories that the site does not have yet, then what came out.

        Raises:
            LeaseLost
            SiteAway
            SiteFault: the site takes no such result.
        """
        body = FinishedScore(result=result) if isinstance(result, ScoreResult) else self._finished_run(claim, result)
        ask = partial(
            self._site.ask,
            "POST",
            f"jobs/{claim.job}/finish",
            body,
            seconds=FINISH_SECONDS,
            patience=FINISH_PATIENCE,
        )
        self._about(claim, ask)

    def give_back(self, claim: Claim, failure: Failure) -> None:
        """The job failed, and not by its program's fault."""
        path = f"jobs/{claim.job}/give-back"
        self._about(claim, partial(self._site.ask, "POST", path, failure, patience=GIVE_BACK_PATIENCE))

    def hand_back(self, claim: Claim) -> None:
        """The worker is to end; nothing failed."""
        path = f"jobs/{claim.job}/hand-back"
        self._about(claim, partial(self._site.ask, "POST", path, patience=HAND_BACK_PATIENCE))

    def models(self, claim: Claim) -> ModelSupply:
        """Where the job's models, or its judge, come from."""
        spec = _models_of(claim)
        return NoModels() if spec is None else HttpModels(self._site, claim, partial(self._about, claim))

    def _finished_run(self, claim: Claim, result: RunResult) -> FinishedRun:
        trajectories = {
            episode.episode: self._send(claim, episode.trajectory)
            for episode in result.episodes
            if episode.trajectory is not None
        }
        bare = [episode.model_copy(update={"trajectory": None}) for episode in result.episodes]
        return FinishedRun(result=result.model_copy(update={"episodes": bare}), trajectories=trajectories)

    def _send(self, claim: Claim, trajectory: Path) -> Artifact:
        if (sent := self._sent.get(trajectory)) is not None:
            return sent
        with trajectory.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        artifact = Artifact(digest=f"sha256:{digest}", size=trajectory.stat().st_size)
        path = f"jobs/{claim.job}/files/{artifact.digest}"
        send = partial(self._site.upload, path, trajectory, patience=FINISH_PATIENCE)
        self._about(claim, partial(send, check=partial(self._must_be_ours, claim)))
        self._sent[trajectory] = artifact
        return artifact

    def _about(self, claim: Claim, ask: Callable[..., T]) -> T:
        """Ask something that is fenced by the claim's token. To a worker whose token was revoked no job belongs."""
        try:
            return ask(lease=claim.token)
        except (LeaseLost, WorkerRefused):
            self._lost = claim.token
            raise LeaseLost(f"job {claim.job} is no longer this worker's") from None

    def _must_be_ours(self, claim: Claim) -> None:
        if self._lost == claim.token:
            raise LeaseLost(f"job {claim.job} is no longer this worker's")

    def _must_be_wanted(self, claim: Claim) -> None:
        self._must_be_ours(claim)
        stop_by = self._stop_by()
        if stop_by is not None and time.monotonic() > stop_by + _STOP_SLACK_SECONDS:
            raise LeaseLost(f"this worker ends before job {claim.job} is done")


def _models_of(claim: Claim) -> ModelSpec | None:
    if isinstance(claim.spec, RunSpec):
        return claim.spec.llm
    return None if claim.spec.judge is None else claim.spec.judge.models
