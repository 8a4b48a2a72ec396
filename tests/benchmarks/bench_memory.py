"""Memory of the web server, a worker and the beat at idle, beside the same processes with every library loaded.

Counted is the proportional set size of each process and of all its children (the worker's own processes and its warm
gateway), in which a page shared by several counts once in all. The plain alternative is what the obvious import at the
top of a module leads to: the same processes with every library that the platform uses loaded.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import psutil

GOAL_MB: Final = 350
SETTLED_SECONDS: Final = 3.0
MOST_SECONDS: Final = 60.0
#: What some part of the platform imports, and what another must not pay for.
LIBRARIES: Final = ("mcp", "mcp.server.lowlevel", "docker", "pandas", "numpy", "httpx", "uvicorn", "starlette", "yaml")
PARTS: Final = ("web", "worker", "beat")
PLAIN_IS: Final = f"the same with {', '.join(LIBRARIES)} loaded in each"


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    ours, with_torch = _measure({})
    with tempfile.TemporaryDirectory() as folder:
        # Python imports a module of this name at each start, where it finds one.
        imports = "".join(f"import {name}\n" for name in LIBRARIES)
        (Path(folder) / "sitecustomize.py").write_text(imports)
        plain, _ = _measure({"PYTHONPATH": folder})
    table = [_row(f"idle memory: {part}", ours[part], plain[part], goal="in all") for part in PARTS]
    table.append(_row("idle memory: in all", sum(ours.values()), sum(plain.values()), goal=GOAL_MB))
    table.append(
        {
            "name": "processes with torch loaded",
            "ours": with_torch,
            "plain": None,
            "goal": 0,
            "unit": "",
            "ok": not with_torch,
        }
    )
    return table


def _row(name: str, ours: float, plain: float, *, goal: float | str) -> dict[str, Any]:
    ok = isinstance(goal, str) or ours < goal
    return {"name": name, "ours": ours, "plain": plain, "goal": goal, "unit": "MB", "ok": ok, "plain_is": PLAIN_IS}


def _measure(environment: Mapping[str, str]) -> tuple[dict[str, float], int]:
    """Megabytes of each part once it no longer changes, and how many processes have torch loaded."""
    from django.conf import settings

    from gauntlet.processes import free_port, platform_processes

    with platform_processes(settings.VAR / "log", environment=environment) as processes:
        processes.start_worker()
        processes.start_beat()
        processes.start_web(free_port(0))
        trees = {part: psutil.Process(processes.running[part].pid) for part in PARTS}
        _wait_until_settled(trees)
        processes.check()
        everyone = [each for tree in trees.values() for each in [tree, *tree.children(recursive=True)]]
        torch = sum("libtorch" in Path(f"/proc/{each.pid}/maps").read_text() for each in everyone)
        return {part: _megabytes(tree) for part, tree in trees.items()}, torch


def _wait_until_settled(trees: Mapping[str, psutil.Process]) -> None:
    """Until the sum stays within a megabyte: the worker's processes have started what they keep warm."""
    deadline = time.monotonic() + MOST_SECONDS
    before = 0.0
    while time.monotonic() < deadline:
        time.sleep(SETTLED_SECONDS)
        now = sum(map(_megabytes, trees.values()))
        if abs(now - before) < 1:
            return
        before = now
    sys.stderr.write("  memory still changes\n")


def _megabytes(tree: psutil.Process) -> float:
    total = 0
    for each in [tree, *tree.children(recursive=True)]:
        for line in Path(f"/proc/{each.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) << 10
    return total / 2**20
