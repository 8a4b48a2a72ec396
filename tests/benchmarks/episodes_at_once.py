"""A part of the engine's measurement: one evaluation of one-second episodes, side by side.

As many episodes as the paper has scenarios, on several workers that have run an agent before, and by one agent that
works on several at once. With programs of the standard library, which start at once, the time beyond the episodes' own
is the engine's. With programs on the official MCP SDK, as most are, each start takes a second of a processor for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final

import tiny_competition

TESTS: Final = Path(__file__).resolve().parents[1]
DOOR: Final = TESTS / "security" / "zoo" / "agent" / "door" / "gateway.py"
SERVER: Final = TESTS / "gauntlet_runtime" / "run_fixtures" / "environment" / "server.py"
SCENARIOS: Final = 141
EPISODE_SECONDS: Final = 1.0
SIDE_BY_SIDE: Final = (4, 8)
OWN: Final = "the episodes' own seconds"
WARM_UP_SECONDS: Final = 0.05  # of an episode of the evaluation before the measured one
LINEAR_GOAL: Final = 0.85

PLAIN_AGENT: Final = """\
import os
import threading
import time
from door import answer, next_episode

def work():
    while episode := next_episode():
        time.sleep(SECONDS)
        answer(episode, "42")

threads = [threading.Thread(target=work) for _ in range(int(os.environ["GAUNTLET_PARALLEL_EPISODES"]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
SDK_AGENT: Final = """\
import time
from gauntlet_agent import run

def solve(episode):
    time.sleep(SECONDS)
    return "42"

run(solve, parallel=8)
"""


@dataclass(frozen=True)
class Programs:
    """An agent that waits in each episode, as for a model far away, and the environment beside it."""

    name: str
    agent: dict[str, str]
    environment: Path | None  # None: the competition's own
    goal: float | None  # the share of linear that is to be reached


def rows(folder: Path) -> list[dict[str, Any]]:
    """The lines of the table; ``folder`` is for competitions and agents."""
    plain = {"agent.py": PLAIN_AGENT, "door.py": DOOR.read_text()}
    return [
        *_measured(folder, Programs("programs of the standard library", plain, SERVER, LINEAR_GOAL)),
        *_measured(folder, Programs("programs on the MCP SDK", {"agent.py": SDK_AGENT}, None, None)),
    ]


def _measured(folder: Path, programs: Programs) -> list[dict[str, Any]]:
    alone = _seconds(folder, programs)
    name = f"{SCENARIOS} one-second episodes, {programs.name}"
    table = [_row(f"{name}, 1 worker", alone, "s", plain=SCENARIOS, plain_is=OWN)]
    for count in SIDE_BY_SIDE:
        for how, seconds in (
            (f"{count} workers", _seconds(folder, programs, workers=count)),
            (f"{count} at once in 1 worker", _seconds(folder, programs, parallel=count)),
        ):
            share = alone / (count * seconds)
            table.append(_row(f"{name}, {how}", seconds, "s", plain=SCENARIOS / count, plain_is=OWN))
            row = _row(f"{name}, {how}: share of linear", share, "")
            if programs.goal is not None:
                row |= {"goal": f"at least {programs.goal}", "ok": share >= programs.goal}
            table.append(row)
    return table


def _seconds(folder: Path, programs: Programs, *, workers: int = 1, parallel: int = 1) -> float:
    """Seconds from the evaluation's first claim to its last episode's result; a slice for each worker."""
    from django.conf import settings

    from gauntlet.processes import platform_processes

    slug = f"seconds-{programs.name.rpartition(' ')[2].casefold()}-{workers}-{parallel}"
    phase = tiny_competition.make_phase(
        folder / slug, scenarios=SCENARIOS, slug=slug, parallel=parallel, environment=programs.environment
    )
    agents = [
        _written(folder / f"{slug}-agent-{seconds}", programs.agent, seconds)
        for seconds in (WARM_UP_SECONDS, EPISODE_SECONDS)
    ]
    environment = {"SANDBOX": "bubblewrap", "RUN_SLICE": str(ceil(SCENARIOS / workers))}
    with platform_processes(settings.VAR / "log", environment=environment) as started:
        started.start_worker(concurrency=workers)
        for agent in agents:
            evaluation = tiny_competition.wait_for(tiny_competition.submit(phase, agent=agent), patience=600)
    return float((evaluation.scoring_at - evaluation.started_at).total_seconds())


def _written(folder: Path, files: dict[str, str], seconds: float) -> Path:
    folder.mkdir()
    for name, text in {"agent.yaml": "name: sleeper\ncommand: python agent.py\n", **files}.items():
        (folder / name).write_text(text.replace("SECONDS", str(seconds)))
    return folder


def _row(name: str, ours: float, unit: str, *, plain: float | None = None, plain_is: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "ours": ours,
        "plain": plain,
        "goal": "shown",
        "unit": unit,
        "ok": True,
        "plain_is": plain_is,
    }
