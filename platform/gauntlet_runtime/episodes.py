"""Runs a slice of an evaluation's episodes: the public entrance of the run job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import JobEvent, RunResult, RunSpec
from gauntlet_runtime.metering import ModelSupply, NoModels
from gauntlet_runtime.run_job import RunJob
from gauntlet_runtime.sandbox.interface import Sandbox

OnEvent = Callable[[JobEvent, dict[str, Any]], None]


def run_episodes(
    spec: RunSpec,
    *,
    sandbox: Sandbox,
    folder: Path,
    files: ArtifactFolders,
    packages: Path | None = None,
    gateway: GatewayPool,
    owner: str,
    label: str,
    on_event: OnEvent,
    cancelled: threading.Event,
    models: ModelSupply | None = None,
) -> RunResult:
    """Run the agent against every episode of ``spec`` and record what it did.

    Each episode ends in exactly one result; an agent's crash, hang or nonsense costs the episodes that it had open and
    no other. Blocks until the last episode is over. Sandboxes are started by the calling thread and end with it.

    Args:
        folder: an empty private folder on this host; the trajectories' zips that the result names lie below it
        files: where the artifacts that the spec names come from
        packages: where agents' own packages are kept once they are installed; inside ``folder`` where None
        gateway: where a gateway process for this job comes from
        owner: see `SandboxSpec.owner`
        label: names this job's sandboxes
        on_event: told of each start and end of an episode, from the calling thread
        cancelled: when set, everything is killed at once
        models: where the language models that the spec offers come from

    Raises:
        LeaseLost: ``cancelled`` was set.
        SandboxError: the platform failed (a sandbox, or the gateway); the job is to be tried again.
    """
    job = RunJob(
        spec,
        sandbox=sandbox,
        folder=folder,
        files=files,
        packages=packages,
        pool=gateway,
        owner=owner,
        label=label,
        on_event=on_event,
        cancelled=cancelled,
        models=models or NoModels(),
    )
    return job.run()
