"""Parts of the engine's measurement: statements, a long queue, starts, an idle worker."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import bench_memory
import psutil
import result_competition

if TYPE_CHECKING:
    from gauntlet.competitions.models import Phase

WAITING: Final = 10_000
STARTS: Final = 15
COUNTED: Final = 10


def statements(phase: Phase) -> list[dict[str, Any]]:
    """Statements on the database from the upload's check to `finished`, in one process."""
    from django.conf import settings
    from django.db import connection

    from gauntlet.evaluation.job_source import DatabaseJobSource
    from gauntlet.evaluation.services import start_evaluations
    from gauntlet.submissions.checks import check_next
    from gauntlet_runtime.sandbox import open_sandbox
    from gauntlet_runtime.worker import Worker

    people = result_competition.make_people(phase, 5)
    result_competition.submit(phase, count=COUNTED, people=people)
    sandbox = open_sandbox("bubblewrap", state=settings.VAR / "sandbox", images=settings.SANDBOX_IMAGES)
    counted: Counter[str] = Counter()

    def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        counted[sql.split(" ", 1)[0].strip()] += 1
        return execute(sql, params, many, context)

    with tempfile.TemporaryDirectory(dir=settings.VAR) as folder, connection.execute_wrapper(count):
        Path(folder).chmod(0o711)
        with Worker(DatabaseJobSource(), sandbox, Path(folder), ["default"], "counted:1") as worker:
            while check_next(sandbox=sandbox, on_accept=start_evaluations):
                pass
            done = worker.work_until_empty()
    each = counted.total() / done
    return [_row("statements on the database for a result submission", each, "", goal="shown")]


def claims() -> list[dict[str, Any]]:
    """One claim while ten thousand of a thousand participants wait; its plain alternative is a queue without turns."""
    from django.db import connection, transaction

    from gauntlet.evaluation.models import Job
    from gauntlet.evaluation.queue import lock_next
    from gauntlet.evaluation.waiting import places_of

    class Undo(Exception):
        """What was made for this measurement is not kept."""

    plain_statement = """
        SELECT id FROM evaluation_job WHERE state = 'ready' AND queue = 'default'
         ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED
    """
    try:
        with transaction.atomic():
            _fill_queue()
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE evaluation_job, evaluation_evaluation")
            ours = _median(lambda: lock_next(queues=["default"], host="host"))
            last = Job.objects.filter(state="ready").latest("created_at").evaluation_id
            told = _median(lambda: places_of([last]))
            with connection.cursor() as cursor:
                plain = _median(lambda: cursor.execute(plain_statement))
            raise Undo
    except Undo:
        pass
    plain_is = "the oldest of all, whoever's it is"
    return [
        _row(f"a claim while {WAITING:,} wait", ours * 1000, "ms", goal=50, plain=plain * 1000, plain_is=plain_is),
        _row(f"one's place while {WAITING:,} wait", told * 1000, "ms", goal="shown"),
    ]


def _fill_queue() -> None:
    """Rows straight into the tables: what matters is how many there are."""
    from django.utils import timezone

    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase
    from gauntlet.evaluation.models import Evaluation, Job, JobKind
    from gauntlet.submissions.models import Submission

    phase = Phase.objects.filter(takes="results").first()
    bundle = Submission.objects.filter(phase=phase).first().bundle
    task, now = phase.tasks.get(), timezone.now()
    users = User.objects.bulk_create(User(username=f"waits{n}", email=f"waits{n}@localhost") for n in range(1000))
    submissions = Submission.objects.bulk_create(
        Submission(phase=phase, participant=users[n % 1000], name="x", file_name="x.zip", bundle=bundle)
        for n in range(WAITING)
    )
    evaluations = Evaluation.objects.bulk_create(
        Evaluation(submission=one, task=task, seed=0, queued_at=now) for one in submissions
    )
    Job.objects.bulk_create(
        Job(
            evaluation=one,
            participant_id=one.submission.participant_id,
            kind=JobKind.SCORE,
            available_at=now,
            started_at=now if number % 7 == 0 else None,
        )
        for number, one in enumerate(evaluations)
    )


def starts(backend: str) -> list[dict[str, Any]]:
    """From the wish for a sandbox to a program's first word in it: everything made now, and prepared before."""
    from django.conf import settings

    from gauntlet_runtime.sandbox import open_sandbox, this_process
    from gauntlet_runtime.sandbox.interface import Limits, SandboxSpec

    sandbox = open_sandbox(backend, state=settings.VAR / "sandbox", images=settings.SANDBOX_IMAGES)
    spec = SandboxSpec(
        image="gauntlet/agent",
        command=["echo", "ready"],
        label="bench",
        owner=this_process(),
        limits=Limits(seconds=30),
    )
    cold, warm = [], []
    for _ in range(STARTS):
        wished = time.monotonic()
        with sandbox.prepare(spec) as run:
            prepared = time.monotonic()
            run.start()
            run.wait()
            ended = time.monotonic()
        cold.append(ended - wished)
        warm.append(ended - prepared)
    ready = statistics.median(warm) * 1000
    whole = statistics.median(cold) * 1000
    # Only of Docker a third is asked for: bubblewrap has little that can be made before.
    goal = whole / 3 if backend == "docker" else "shown"
    return [
        _row(f"start in a sandbox, {backend}: cold", whole, "ms", goal="shown"),
        _row(f"start in a sandbox, {backend}: prepared before", ready, "ms", goal=goal, plain=whole, plain_is="cold"),
    ]


def idle_worker() -> list[dict[str, Any]]:
    """Memory of a worker of one process that has worked and waits, with its warm gateway."""
    from django.conf import settings

    from gauntlet.processes import platform_processes

    with platform_processes(settings.VAR / "log", environment={"SANDBOX": "bubblewrap"}) as processes:
        process = psutil.Process(processes.start_worker(concurrency=1).pid)
        bench_memory._wait_until_settled({"worker": process})
        megabytes = bench_memory._megabytes(process)
    return [_row("memory of an idle worker", megabytes, "MB", goal="shown")]


def _median(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


def _row(
    name: str, value: float, unit: str, *, goal: float | str, plain: float | None = None, plain_is: str = "the same"
) -> dict[str, Any]:
    ok = isinstance(goal, str) or value <= goal
    return {"name": name, "ours": value, "plain": plain, "goal": goal, "unit": unit, "ok": ok, "plain_is": plain_is}
