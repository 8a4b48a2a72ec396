"""What made a result: the digests, limits and seeds that a score can name."""

from __future__ import annotations

from gauntlet_runtime.jobs import RunSpec
from gauntlet_runtime.sandbox.interface import Sandbox
from gauntlet_scoring.trajectory import SCHEMA_VERSION


def run_provenance(spec: RunSpec, sandbox: Sandbox) -> dict[str, str]:
    """Of a run job.

    Raises:
        ImageUnavailable: one of its images is not on this host.
    """
    found = {
        "sandbox": sandbox.name,
        "image.agent": spec.agent.container.id if spec.agent.container else sandbox.image_digest(spec.agent.image),
        "image.environment": sandbox.image_digest(spec.environment.image),
        "agent": spec.agent.bundle.digest,
        "environment": spec.environment.program.digest,
        "trajectory_schema": str(SCHEMA_VERSION),
        "limits.episode": spec.episode_limits.model_dump_json(),
        "limits.agent": spec.agent_limits.model_dump_json(),
        "limits.environment": spec.environment.limits.model_dump_json(),
    }
    found |= unenforced(sandbox)
    if spec.agent.packages is not None:
        found["agent.packages"] = spec.agent.packages.digest
    if spec.environment.data is not None:
        found["environment.data"] = spec.environment.data.digest
    return found | {f"seed.{episode.episode}": str(episode.seed) for episode in spec.episodes}


def unenforced(sandbox: Sandbox) -> dict[str, str]:
    """The limits that this host does not enforce; nothing where it enforces all."""
    weak = sandbox.best_effort()
    return {"limits.best_effort": ", ".join(weak)} if weak else {}
