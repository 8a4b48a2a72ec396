"""What it costs that a worker is far: 50 results scored by one worker over HTTP, beside one of the platform's own.

Both take jobs that wait, one at a time, of the same competition on the same installation. The platform's own reaches
the database; the other one reaches the web server on loopback, and nothing else. What TLS adds is not in it.
"""

from __future__ import annotations

import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import result_competition

if TYPE_CHECKING:
    from gauntlet.processes import Processes

RESULTS: Final = 50
QUEUE: Final = "far-away"
MORE_SECONDS: Final = 0.2  # a job, beyond what it takes the platform's own worker


def rows() -> list[dict[str, Any]]:
    """See `tests/benchmarks/__main__.py`."""
    from django.conf import settings

    from gauntlet.processes import free_port, platform_processes

    with tempfile.TemporaryDirectory(dir=settings.VAR) as folder:
        place = Path(folder)
        with platform_processes(place / "log", environment={"SANDBOX": "bubblewrap"}) as processes:
            port = free_port(0)
            processes.start_web(port)
            processes.start_worker(concurrency=1)
            processes.start_beat()
            far, own = _measure(place, processes, url=f"http://127.0.0.1:{port}")
    return [
        {
            "name": f"{RESULTS} results by a worker over HTTP: one job",
            "ours": far,
            "plain": own,
            "goal": own + MORE_SECONDS,
            "unit": "s",
            "ok": far <= own + MORE_SECONDS,
            "plain_is": "the same by a worker of the platform's own",
        }
    ]


def _measure(place: Path, processes: Processes, *, url: str) -> tuple[float, float]:
    """Seconds a job: over HTTP, and on the database. Meanwhile nothing is to be checked any more."""
    from gauntlet.competitions.models import Phase
    from gauntlet.evaluation.own_queues import change_phase_queue
    from gauntlet.queues.models import Queue
    from gauntlet.queues.services import issue_token

    phase = result_competition.make_phase(place / "competition", slug="far-away")
    owner = phase.competition.organizer
    queue = Queue.objects.create(name=QUEUE, owner=owner)
    _, secret = issue_token(queue, label="benchmark", actor=owner)
    token = place / "token"
    token.touch(mode=0o600)
    token.write_text(secret)

    def waiting() -> Sequence[uuid.UUID]:
        Phase.objects.filter(pk=phase.pk).update(queue=QUEUE)
        phase.refresh_from_db()
        made = result_competition.submit(phase, count=RESULTS, people=result_competition.make_people(phase, 1))
        result_competition.wait_until_queued(made)
        return made

    submissions = waiting()
    command = [sys.executable, "-m", "gauntlet_runtime.remote", "--url", url, "--token-file", str(token)]
    processes.start("far", [*command, "--folder", str(place / "far"), "--sandbox", "bubblewrap", "--min-free", "1M"])
    result_competition.wait_for_all(submissions)
    far = _seconds_a_job(submissions)
    worker = processes.running.pop("far")
    worker.terminate()
    worker.wait(60)

    submissions = waiting()
    change_phase_queue(phase, queue="default", actor=owner)
    result_competition.wait_for_all(submissions)
    return far, _seconds_a_job(submissions)


def _seconds_a_job(submissions: Sequence[uuid.UUID]) -> float:
    """From the first start to the last end."""
    from django.db.models import Max, Min

    from gauntlet.evaluation.models import Job

    jobs = Job.objects.filter(evaluation__submission__in=submissions)
    times = jobs.aggregate(first=Min("started_at"), last=Max("ended_at"))
    return float((times["last"] - times["first"]).total_seconds()) / RESULTS
