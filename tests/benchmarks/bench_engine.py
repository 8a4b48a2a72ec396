"""The engine under load: queued result submissions, many workers, episodes side by side, starts, an idle worker.

Result submissions are measured from the upload's check to `finished`, everything included. Their plain alternative is
what no platform can do without: the same files unpacked and the same scoring program started, one after the other,
without a sandbox, a queue or a database.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import engine_parts
import episodes_at_once
import result_competition
from docker_engine import docker_engine

if TYPE_CHECKING:
    from gauntlet.competitions.models import Phase

QUEUED: Final = 50
MANY: Final = 1000
WORKERS: Final = (1, 2, 4)
EACH_GOAL: Final = {"bubblewrap": 0.15, "docker": 0.5}
PLAIN: Final = "the files unpacked and the program started, without sandbox, queue or database"


@dataclass(frozen=True)
class Throughput:
    """How a number of submissions went through some workers."""

    seconds: float  # from the first check to the last score
    waited: list[float]  # seconds from queued to scoring


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    from django.conf import settings

    with tempfile.TemporaryDirectory(dir=settings.VAR) as folder:
        phase = result_competition.make_phase(Path(folder) / "competition", slug="results")
        table = [_queued("bubblewrap", phase, plain=_plain(Path(folder)))]
        table += _many(phase)
        table += engine_parts.statements(phase)
        table += engine_parts.claims()
        table += episodes_at_once.rows(Path(folder))
        table += engine_parts.starts("bubblewrap")
        table += engine_parts.idle_worker()
        with docker_engine() as missing:
            if missing is None:
                table.append(_queued("docker", phase, plain=None))
                table += engine_parts.starts("docker")
            else:
                sys.stderr.write(f"  docker: not measured, {missing}\n")
    return table


def _queued(backend: str, phase: Phase, *, plain: float | None) -> dict[str, Any]:
    """Fifty that wait, through one worker."""
    with _worker(backend):  # what is made once: caches, the gateway, the interpreter's files
        result_competition.wait_for_all(_submit(phase, 1))
    went = _through(phase, backend=backend, count=QUEUED, workers=1)
    each = went.seconds / QUEUED
    return {
        "name": f"a queued result submission, {backend}",
        "ours": each,
        "plain": plain,
        "goal": EACH_GOAL[backend],
        "unit": "s",
        "ok": each <= EACH_GOAL[backend],
        "plain_is": PLAIN,
    }


def _many(phase: Phase) -> list[dict[str, Any]]:
    """A thousand through one worker and several."""
    table = []
    first = 0.0
    for workers in WORKERS:
        went = _through(phase, backend="bubblewrap", count=MANY, workers=workers)
        rate = MANY / went.seconds
        first = first or rate
        name = f"{MANY:,} result submissions, {workers} worker{'s' if workers > 1 else ''}"
        cuts = statistics.quantiles(went.waited, n=20)
        table.append(_shown(f"{name}: a second", rate, "1/s", plain=first if workers > 1 else None))
        table.append(_shown(f"{name}: waited, median", cuts[9], "s"))
        table.append(_shown(f"{name}: waited, 95th percentile", cuts[18], "s"))
    return table


def _shown(name: str, value: float, unit: str, *, plain: float | None = None) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "ours": value, "plain": plain, "goal": "shown", "unit": unit, "ok": True}
    return row | ({"plain_is": "one worker"} if plain is not None else {})


def _submit(phase: Phase, count: int) -> list[uuid.UUID]:
    people = result_competition.make_people(phase, min(count, 20))
    return result_competition.submit(phase, count=count, people=people)


def _through(phase: Phase, *, backend: str, count: int, workers: int) -> Throughput:
    from gauntlet.evaluation.models import Evaluation
    from gauntlet.submissions.models import Submission

    submissions = _submit(phase, count)
    with _worker(backend, concurrency=workers):
        result_competition.wait_for_all(submissions)
    begun = min(Submission.objects.filter(pk__in=submissions).values_list("check_started_at", flat=True))
    times = list(
        Evaluation.objects.filter(submission__in=submissions).values_list("queued_at", "scoring_at", "ended_at")
    )
    ended = max(ended for _, _, ended in times)
    return Throughput(
        seconds=(ended - begun).total_seconds(),
        waited=[(scoring - queued).total_seconds() for queued, scoring, _ in times],
    )


@contextlib.contextmanager
def _worker(backend: str, *, concurrency: int = 1) -> Iterator[None]:
    """The platform's own worker processes, and the beat, which rings for what is tried again later."""
    from django.conf import settings

    from gauntlet.celery import app
    from gauntlet.processes import platform_processes

    environment = {"SANDBOX": backend, "GAUNTLET_STATE": str(settings.VAR / "sandbox")}
    with platform_processes(settings.VAR / "log", environment=environment) as processes:
        processes.start_beat()
        processes.start_worker(concurrency=concurrency)
        for _ in range(concurrency):
            app.send_task("gauntlet.work", queue="default")
        yield


def _plain(folder: Path) -> float:
    """Seconds of one submission without the platform; the mean of as many as are queued."""
    uploads: Sequence[bytes] = [result_competition.results(str(number)) for number in range(QUEUED)]
    begun = time.monotonic()
    for number, upload in enumerate(uploads):
        place = folder / f"plain-{number}"
        (place / "input" / "res").mkdir(parents=True)
        (place / "output").mkdir()
        (place / "upload.zip").write_bytes(upload)
        with zipfile.ZipFile(place / "upload.zip") as archive:
            archive.extractall(place / "input" / "res")
        (place / "input" / "ref").symlink_to(folder / "competition" / "reference")
        program = folder / "competition" / "scoring" / "score.py"
        subprocess.run([sys.executable, str(program), str(place / "input"), str(place / "output")], check=True)
    return (time.monotonic() - begun) / QUEUED
