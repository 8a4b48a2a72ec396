"""What the platform adds to a submission: from `queued` to `finished`, less what the agent and the scorer ran.

Both ways are workers in processes of their own, on the same installation, with the same competition (three scenarios,
the rubric) and agent. The plain one is `plain_worker.py`.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tiny_competition
from docker_engine import docker_engine

if TYPE_CHECKING:
    from gauntlet.competitions.models import Phase

HERE: Final = Path(__file__).resolve().parent
SCENARIOS: Final = 3
SUBMISSIONS: Final = 7
PLAIN_SUBMISSIONS: Final = 3
GOALS: Final = {"bubblewrap": 0.4, "docker": 1.0}


@dataclass(frozen=True)
class Measured:
    """Medians over some submissions, in seconds."""

    overhead: float
    whole: float


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    from django.conf import settings

    with tempfile.TemporaryDirectory(dir=settings.VAR) as folder:
        phase = tiny_competition.make_phase(Path(folder) / "competition", scenarios=SCENARIOS, slug="overhead")
        table = _compare("bubblewrap", phase)
        with docker_engine() as missing:
            if missing is None:
                table += _compare("docker", phase)
            else:
                sys.stderr.write(f"  docker: not measured, {missing}\n")
    return table


def _compare(backend: str, phase: Phase) -> list[dict[str, Any]]:
    with _worker(backend):
        ours = _measure(phase, submissions=SUBMISSIONS)
    with _plain_worker(backend):
        plain = _measure(phase, submissions=PLAIN_SUBMISSIONS)
    goal = GOALS[backend]
    return [
        {
            "name": f"submission, {backend}: overhead",
            "ours": ours.overhead,
            "plain": plain.overhead,
            "goal": goal,
            "unit": "s",
            "ok": ours.overhead <= goal,
            "plain_is": "a worker that looks every second and keeps nothing warm",
        },
        {
            "name": f"submission, {backend}: queued to finished in all",
            "ours": ours.whole,
            "plain": plain.whole,
            "goal": "less than plain",
            "unit": "s",
            "ok": ours.whole < plain.whole,
            "plain_is": "the same",
        },
    ]


def _measure(phase: Phase, *, submissions: int) -> Measured:
    """One after the other; the first warms what can be warm and is not counted."""
    overheads, wholes = [], []
    for number in range(submissions + 1):
        evaluation = tiny_competition.wait_for(tiny_competition.submit(phase))
        if number == 0:
            continue
        whole = (evaluation.ended_at - evaluation.queued_at).total_seconds()
        wholes.append(whole)
        overheads.append(whole - evaluation.agent_seconds - evaluation.scorer_seconds)
    return Measured(overhead=statistics.median(overheads), whole=statistics.median(wholes))


@contextlib.contextmanager
def _worker(backend: str) -> Iterator[None]:
    """The platform's own worker, rung by its doorbell."""
    from django.conf import settings

    from gauntlet.processes import platform_processes

    environment = {"SANDBOX": backend, "GAUNTLET_STATE": str(settings.VAR / "sandbox")}
    with platform_processes(settings.VAR / "log", environment=environment) as processes:
        processes.start_worker()
        yield


@contextlib.contextmanager
def _plain_worker(backend: str) -> Iterator[None]:
    from django.conf import settings

    environment = {**os.environ, "SANDBOX": backend, "GAUNTLET_STATE": str(settings.VAR / "sandbox")}
    with (settings.VAR / "log" / "plain.log").open("ab") as log:
        command = [sys.executable, str(HERE / "plain_worker.py")]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)
