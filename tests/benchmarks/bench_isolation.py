"""A sandbox for each scenario: how long the next episode waits, with its agent started before it and without.

Counted from the end of an episode to the start of the next, in a run job of its own: whatever of the sandbox, the
program's start, its first request and the environment's reset is left by then is in it. The plain way makes the sandbox
when it is needed.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from docker_engine import docker_engine

TESTS: Final = Path(__file__).resolve().parents[1]
DOOR: Final = TESTS / "security" / "zoo" / "agent" / "door" / "gateway.py"
SERVER: Final = TESTS / "gauntlet_runtime" / "run_fixtures" / "environment" / "server.py"
EPISODES: Final = 12
AGENT: Final = "from door import *\nimport time\nepisode = next_episode()\ntime.sleep(0.8)\nanswer(episode)\n"


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    table = _compare("bubblewrap")
    with docker_engine() as missing:
        if missing is None:
            table += _compare("docker")
    return table


def _compare(backend: str) -> list[dict[str, Any]]:
    ready, needed = _median_wait(backend), _median_wait(backend, when_needed=True)
    goal = needed / 3 if backend == "docker" else needed
    return [
        {
            "name": f"isolation by scenario, {backend}: wait before an episode",
            "ours": ready * 1000,
            "plain": needed * 1000,
            "goal": "a third of plain" if backend == "docker" else "less than plain",
            "unit": "ms",
            "ok": ready <= goal,
            "plain_is": "the sandbox is made when the episode before it has ended",
        }
    ]


def _median_wait(backend: str, *, when_needed: bool = False) -> float:
    from gauntlet_runtime.agent_fleet import AgentFleet

    if not when_needed:
        return statistics.median(_waits(backend))
    prepare = AgentFleet.prepare

    def start(fleet: AgentFleet) -> None:
        prepare(fleet)
        original(fleet)

    original = AgentFleet.start
    with patch.object(AgentFleet, "prepare", lambda fleet: None), patch.object(AgentFleet, "start", start):
        return statistics.median(_waits(backend))


def _waits(backend: str) -> list[float]:
    """Seconds from the end of each episode to the start of the next."""
    from django.conf import settings

    from gauntlet_runtime.episodes import run_episodes
    from gauntlet_runtime.gateway.pool import GatewayPool
    from gauntlet_runtime.sandbox import open_sandbox, this_process

    told: list[tuple[str, float]] = []
    sandbox = open_sandbox(backend, state=settings.VAR / "sandbox", images=settings.SANDBOX_IMAGES)
    with tempfile.TemporaryDirectory(dir=settings.VAR) as name, GatewayPool() as gateways:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "job").mkdir()
        result = run_episodes(
            _spec(),
            sandbox=sandbox,
            folder=folder / "job",
            files=_Files(folder),  # type: ignore[arg-type]  # the two folders of this measurement
            gateway=gateways,
            owner=this_process(),
            label="bench",
            on_event=lambda event, detail: told.append((event.value, time.perf_counter())),
            cancelled=threading.Event(),
        )
    if any(episode.failure for episode in result.episodes):
        raise RuntimeError(f"an episode failed: {result.log}")
    return [after[1] - before[1] for before, after in pairwise(told) if before[0] == "episode_ended"]


class _Files:
    """The agent's and the environment's folders, by the first letter of their digests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for digest, files in {
            "a": {"agent.py": AGENT, "door.py": DOOR.read_text()},
            "e": {"server.py": SERVER.read_text()},
        }.items():
            (folder / digest).mkdir()
            for name, text in files.items():
                (folder / digest / name).write_text(text)

    def folder(self, artifact: Any) -> Path:
        return self._folder / artifact.digest[len("sha256:")]


def _spec() -> Any:
    from gauntlet_runtime.jobs import AgentSpec, Artifact, EnvironmentSpec, EpisodeSpec, RunSpec

    make: Callable[[str], Artifact] = lambda letter: Artifact(digest=f"sha256:{letter * 64}", size=1)  # noqa: E731
    return RunSpec(
        agent=AgentSpec(bundle=make("a"), command=["python", "agent.py"]),
        environment=EnvironmentSpec(program=make("e"), command=["python", "server.py"]),
        episodes=[
            EpisodeSpec(episode=f"e{n}", scenario=f"s{n}", key=f"KEY-{n}", seed=n, text="?") for n in range(EPISODES)
        ],
        isolation="scenario",
    )
