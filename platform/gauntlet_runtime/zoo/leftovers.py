"""What a program's sandboxes left on the host: there must be nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

import docker

from gauntlet_runtime.sandbox.docker import LABEL
from gauntlet_runtime.sandbox.interface import Sandbox

_GROUPS: Final = Path("/sys/fs/cgroup")


def leftovers(label: str, *, sandbox: Sandbox, state: Path) -> list[str]:
    """Records, control groups and containers of the runs whose label begins with ``label``."""
    found = [f"record {path.name}" for folder in state.glob("*runs") for path in folder.glob(f"{label}-*")]
    for pattern in ("gauntlet", "*/gauntlet", "*/*/gauntlet", "*/*/*/gauntlet"):  # version 2, version 1, nested
        found += [f"control group {path}" for path in _GROUPS.glob(f"{pattern}/{label}-*")]
    if sandbox.name == "docker":
        with contextlib.closing(docker.from_env()) as client:
            containers = client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
            names = [str(container.labels.get(LABEL)) for container in containers]
            found += [f"container {name}" for name in names if name.startswith(f"{label}-")]
    return found
