"""One interface, two backends: Docker and bubblewrap."""

from __future__ import annotations

from pathlib import Path

from gauntlet_runtime.sandbox.bubblewrap import Bubblewrap
from gauntlet_runtime.sandbox.docker import Docker
from gauntlet_runtime.sandbox.interface import Sandbox, SandboxUnavailable
from gauntlet_runtime.sandbox.processes import is_alive, this_process

__all__ = ["BACKENDS", "is_alive", "open_sandbox", "this_process"]

# The best first: bubblewrap starts ten times as fast, and what it started dies with the worker.
BACKENDS: dict[str, type[Bubblewrap] | type[Docker]] = {"bubblewrap": Bubblewrap, "docker": Docker}


def open_sandbox(
    name: str | None = None, *, state: Path | None = None, images: Path | None = None, docker_runtime: str | None = None
) -> Sandbox:
    """The backend of that name, or the best that this host offers, checked and ready.

    ``state`` (default: GAUNTLET_STATE, or ./var/sandbox) is shared by all workers of a host; ``images`` (default:
    GAUNTLET_IMAGES, or ./var/images) is where `sandbox_images/build.py` installs. ``docker_runtime`` names the runtime
    that Docker starts containers with, as its engine knows it (default: the engine's own default).

    Raises:
        SandboxUnavailable: it cannot be had here; the message says what to do.
    """
    if name is not None and name not in BACKENDS:
        raise SandboxUnavailable(f"there is no sandbox backend {name!r}; there are {', '.join(BACKENDS)}")
    reasons = []
    for candidate in [name] if name is not None else BACKENDS:
        sandbox: Sandbox
        if candidate == Docker.name:
            sandbox = Docker(state=state, images=images, runtime=docker_runtime)
        else:
            sandbox = BACKENDS[candidate](state=state, images=images)
        try:
            sandbox.check()
        except SandboxUnavailable as error:
            reasons.append(str(error))
        else:
            return sandbox
    raise SandboxUnavailable(f"no sandbox can be had on this host: {'; '.join(reasons)}")
