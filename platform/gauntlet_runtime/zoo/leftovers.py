"""What a program's sandboxes left on the host: there must be nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gauntlet_runtime.sandbox.cgroups import OURS, ROOT
from gauntlet_runtime.sandbox.interface import Sandbox


def leftovers(label: str, *, sandbox: Sandbox, state: Path) -> list[str]:
    """Records, control groups and containers of the runs whose label begins with ``label``.

    Raises:
        SandboxUnavailable: the engine, where the backend has one, does not answer.
    """
    found = [f"record {path.name}" for folder in state.glob("*runs") for path in folder.glob(f"{label}-*")]
    found += [f"control group {path}" for path in control_groups(f"{label}-")]
    return found + [f"container {name}" for name in sandbox.containers() if name.startswith(f"{label}-")]


def control_groups(prefix: str) -> Iterator[Path]:
    """Those of this host's sandboxes whose name begins so, in every hierarchy.

    Others' groups come and go meanwhile; `os.walk` does not mind.
    """
    for folder, names, _ in os.walk(ROOT):
        if folder.endswith(f"/{OURS}"):
            yield from (Path(folder, name) for name in names if name.startswith(prefix))
