"""What a worker and the platform say to each other over HTTPS: paths, headers, and bodies that `jobs` does not have.

Every path is below ``<site>/api/v1/worker/`` and wants ``Authorization: Bearer <token of the queue>`` and PROTOCOL in
the header PROTOCOL_HEADER; what concerns a claimed job also wants the claim's token in LEASE_HEADER, and is answered
409 with the code LEASE_LOST where that is no longer current.

| request | body | answer |
|---|---|---|
| POST heartbeat | Heartbeat | HeartbeatAnswer |
| POST claims | ClaimRequest | `jobs.Claim`, or 204 where none waits |
| POST jobs/<job>/renew, hand-back | | 204 |
| POST jobs/<job>/report | Report | 204 |
| POST jobs/<job>/give-back | `jobs.Failure` | 204 |
| GET jobs/<job>/artifacts/<digest> | | the bytes of an artifact that the claim's spec names |
| PUT jobs/<job>/files/<digest> | the bytes of a trajectory's zip | 204; the same bytes again are no error |
| POST jobs/<job>/finish | FinishedRun or FinishedScore, by `kind` | 204 |
| GET jobs/<job>/models/access | | Access, or 204 where the provider is not set |
| POST jobs/<job>/models/reserve | `metering.Reservation` | `metering.Refusal`, or 204 where it is reserved |
| POST jobs/<job>/models/settle | `metering.Settlement` | 204 |
| GET, PUT jobs/<job>/models/answers/<key> | the bytes of a kept answer | the bytes, or 404; 204 |
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from gauntlet_runtime.jobs import Artifact, JobEvent, RunResult, ScoreResult

PROTOCOL: Final = "1"
PROTOCOL_HEADER: Final = "Gauntlet-Worker-Protocol"
LEASE_HEADER: Final = "Gauntlet-Lease"

#: Codes of answers that a worker acts on.
LEASE_LOST: Final = "lease_lost"  # 409
TOO_MANY_WORKERS: Final = "too_many_workers"  # 409: of one token, within a day
WORKER_OUTDATED: Final = "worker_outdated"  # 426: another PROTOCOL


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Heartbeat(_Message):
    """A worker's sign of life."""

    worker: str = Field(pattern=r"^[A-Za-z0-9._-]{1,80}:[0-9]{1,10}$")  # "<host>:<process>"
    state: Literal["idle", "busy", "paused", "draining", "stopping", "stopped"]
    reason: str = Field(default="", max_length=500)  # why it takes no job
    sandbox: str = Field(default="", max_length=200)  # the backend, and what it cannot enforce on its host
    version: str = Field(default="", max_length=40)


class HeartbeatAnswer(_Message):
    """Whom the worker works for, and when the next sign of life is due."""

    queue: str
    seconds: float


class ClaimRequest(_Message):
    """Who wants a job."""

    worker: str = Field(pattern=r"^[A-Za-z0-9._-]{1,80}:[0-9]{1,10}$")


class Report(_Message):
    """How the work goes."""

    event: JobEvent
    detail: dict[str, Any] = Field(default_factory=dict)


class FinishedRun(_Message):
    """A run job's result; its trajectories were sent before, and are named by episode."""

    kind: Literal["run"] = "run"
    result: RunResult  # every `trajectory` in it is None
    trajectories: dict[str, Artifact] = Field(default_factory=dict)


class FinishedScore(_Message):
    """A score job's result."""

    kind: Literal["score"] = "score"
    result: ScoreResult


Finished = Annotated[FinishedRun | FinishedScore, Field(discriminator="kind")]


class Access(_Message):
    """`metering.ModelAccess` with its key in clear: for the worker's memory alone, never logged or written down."""

    url: str
    key: str = Field(repr=False)
    limit_field: str
    set_by: Literal["organizer", "operator"]
    public_only: bool
