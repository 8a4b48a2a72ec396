"""Worker processes that die at an exact step of a job, and the ones that go on after them. A program of the tests.

    python doomed.py PLAN RESULT

PLAN is a JSON list of ``{"submission": id, "step": name, "how": "die" | "stop" | "poison" | "cancel" | "database"}``.
Each submission has a worker that takes no other's jobs and meets its end at the step, by SIGKILL; one that is stopped
goes on when the work is finished; poison kills every worker that takes it. At the step of others the worker lives on:
their owner cancels them, or the database is killed (which the submissions beside them do not bear). Then heirs do what
is left: ordinary workers, of all submissions whose own worker is gone. RESULT tells how many died and how the one that
was stopped ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import django

django.setup()

from django.conf import settings  # noqa: E402 - Django has to be set up first
from django.db import OperationalError, connection, connections, transaction  # noqa: E402
from django.db.models.functions import Now  # noqa: E402

from gauntlet.evaluation import claims, collecting, job_source, scores, work  # noqa: E402
from gauntlet.evaluation.models import Evaluation, Job  # noqa: E402
from gauntlet.evaluation.services import cancel_submission  # noqa: E402
from gauntlet.submissions.models import Submission  # noqa: E402
from gauntlet_runtime import sandbox, services, worker  # noqa: E402, F401 - loaded once for all processes
from gauntlet_runtime.gateway.pool import GatewayPool  # noqa: E402
from gauntlet_runtime.jobs import JobEvent  # noqa: E402
from gauntlet_runtime.sandbox.supervision import SupervisedRun  # noqa: E402
from gauntlet_runtime.tethered import end_with_parent  # noqa: E402

AT_ONCE: Final = 4  # submissions whose worker lives or whose end is waited for
HEIRS: Final = 2
PATIENCE: Final = 700  # seconds, after which a process that should have ended long ago is ended
FINAL: Final = ("finished", "failed", "cancelled")


def main(plan: Path, result: Path) -> None:
    """Work the plan off, several submissions at once."""
    waiting = json.loads(plan.read_text())
    folders = {name: result.with_name(name) for name in ("free", "told")}
    for folder in folders.values():
        folder.mkdir()
    heirs = [forked(lambda: inherit(folders["free"], of=len(waiting))) for _ in range(HEIRS)]
    running: set[int] = set()
    for entry in waiting:
        if len(running) == AT_ONCE:
            running.discard(next_to_end(running))
        running.add(forked(lambda entry=entry: look_after(entry, **folders)))
    for pid in (*running, *heirs):
        os.waitpid(pid, 0)
    os.waitpid(forked(reap), 0)
    result.write_text(json.dumps({path.name: json.loads(path.read_text()) for path in folders["told"].iterdir()}))


def next_to_end(running: set[int]) -> int:
    """Wait for one of these processes."""
    while True:
        for pid in running:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return pid
        time.sleep(0.05)


def reap() -> None:
    """Do what a worker does when it starts, and now and then."""
    work.worker(("default",)).reap()
    work.close()


def forked(job: Callable[[], Any]) -> int:
    """Do something in a process of its own, which ends with this one."""
    connections.close_all()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        end_with_parent(signal.SIGKILL, parent=parent)
        signal.alarm(PATIENCE)
        job()
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def look_after(entry: dict[str, str], *, free: Path, told: Path) -> None:
    """Start the submission's own worker, or workers, and wait until it is final."""
    submission, step, how = entry["submission"], entry["step"], entry["how"]
    deaths = 0
    while True:
        doomed = forked(lambda: serve(submission, step, how=how))
        _, status = os.waitpid(doomed, os.WUNTRACED)
        deaths += os.WIFSIGNALED(status)
        if how != "poison" or is_final(submission):
            break
    (free / submission).touch()
    while not is_final(submission):
        time.sleep(0.2)
    late = None
    if os.WIFSTOPPED(status):
        os.kill(doomed, signal.SIGCONT)
        late = os.waitstatus_to_exitcode(os.waitpid(doomed, 0)[1])
    (told / submission).write_text(json.dumps({"deaths": deaths, "late": late}))


def is_final(submission: str) -> bool:
    """Whether every evaluation of it is over."""
    return not Evaluation.objects.filter(submission=submission).exclude(state__in=FINAL).exists()


def serve(submission: str, step: str, *, how: str) -> None:
    """Be the worker of this submission until it is final, or until the step."""
    claims.lock_next = lambda **_: next_of([submission])  # type: ignore[assignment]
    set_up(step, (lambda: cancel(submission)) if how == "cancel" else end(how))
    while not is_final(submission):
        work.work_until_empty()
        time.sleep(0.1)
    work.close()


def inherit(free: Path, *, of: int) -> None:
    """Be a worker of all submissions whose own is gone, until every one is final."""
    claims.lock_next = lambda **_: next_of(os.listdir(free))  # type: ignore[assignment]
    while len(os.listdir(free)) < of or not all(map(is_final, os.listdir(free))):
        work.work_until_empty()
        time.sleep(0.2)
    work.close()


def next_of(submissions: list[str]) -> Any:
    """The next job of these submissions, locked."""
    ready = Job.objects.filter(evaluation__submission__in=submissions, state="ready", available_at__lte=Now())
    return ready.select_for_update(skip_locked=True, of=["self"]).values_list("pk", flat=True).first()


def end(how: str) -> Callable[[], None]:
    """What happens at the step; a worker that was stopped and goes on is not stopped again."""
    met: list[str] = []

    def meet() -> None:
        if how == "stop" and met:
            return
        met.append(how)
        os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)

    return meet


def cancel(submission: str) -> None:
    """Its owner cancels it meanwhile; who has to wait for this transaction is waited for until it does."""

    def ask() -> None:
        found = Submission.objects.get(pk=submission)
        cancel_submission(found, actor=found.participant)
        connection.close()

    asking = threading.Thread(target=ask)
    asking.start()
    while asking.is_alive() and not (connection.in_atomic_block and somebody_waits()):
        asking.join(0.02)


def somebody_waits() -> bool:
    """Whether anybody waits for a lock that this transaction holds."""
    with connection.cursor() as cursor:
        # Not pg_stat_activity: a transaction goes on seeing those who were there when it first looked.
        cursor.execute("SELECT count(*) FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
        return bool(cursor.fetchone()[0])


def set_up(step: str, meet: Callable[[], None]) -> None:
    """Let the worker meet its end right after, or right before, the step's own call."""
    match step:
        case "queued":
            meet()
        case "every commit":
            lose_database_in(collecting, "finish_run")
            lose_database_in(scores, "finish_score")
        case "claimed" | "scoring claimed":
            kind = "score" if step == "scoring claimed" else "run"
            after(job_source.DatabaseJobSource, "claim", lambda claim: claim and claim.spec.kind == kind and meet())
        case "gateway started":
            after(GatewayPool, "spawn", lambda _: meet())
        case "environment up" | "agent started" | "scorer started":
            word = {"environment up": "-environment-", "agent started": "-agent-"}.get(step, "-score-")
            after_start(word, meet)
        case "episode open" | "between episodes" | "agent proven":
            event = {"episode open": JobEvent.EPISODE_STARTED, "between episodes": JobEvent.EPISODE_ENDED}
            after_report(event.get(step, JobEvent.AGENT_PROVEN), meet)
        case "results stored" | "results before the commit":
            around_commit(collecting, "finish_run", before=step == "results stored", meet=meet)
        case "scores stored" | "scores before the commit":
            around_commit(scores, "finish_score", before=step == "scores stored", meet=meet)
        case "run finished" | "scores committed":
            after_finish("score" if step == "scores committed" else "run", meet)
        case _:
            raise ValueError(step)


def after(owner: Any, name: str, then: Callable[[Any], Any]) -> None:
    """Do something with what a call has returned."""
    real = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        then(found)
        return found

    setattr(owner, name, call)


def after_start(word: str, meet: Callable[[], None]) -> None:
    real = SupervisedRun.start

    def start(self: SupervisedRun) -> None:
        real(self)
        if word in self._spec.label:
            meet()

    SupervisedRun.start = start  # type: ignore[method-assign]


def after_report(event: JobEvent, meet: Callable[[], None]) -> None:
    real = job_source.DatabaseJobSource.report

    def report(self: Any, claim: Any, reported: JobEvent, detail: dict[str, Any]) -> None:
        real(self, claim, reported, detail)
        if reported is event:
            meet()

    job_source.DatabaseJobSource.report = report  # type: ignore[method-assign]


def after_finish(kind: str, meet: Callable[[], None]) -> None:
    real = job_source.DatabaseJobSource.finish

    def finish(self: Any, claim: Any, result: Any) -> None:
        real(self, claim, result)
        if claim.spec.kind == kind:
            meet()

    job_source.DatabaseJobSource.finish = finish  # type: ignore[method-assign]


def around_commit(module: Any, name: str, *, before: bool, meet: Callable[[], None]) -> None:
    """The files are stored; the transaction that names them has not begun, or has all but ended."""
    real = getattr(module, name)

    def store(**kwargs: Any) -> None:
        if before:
            meet()
        with transaction.atomic():
            real(**kwargs)
            meet()

    setattr(module, name, store)


def lose_database_in(module: Any, name: str) -> None:
    """The database dies before the first commit; after the second, whose answer is lost."""
    real = getattr(module, name)
    tried: list[str] = []

    def store(**kwargs: Any) -> None:
        tried.append(name)
        if len(tried) > 2:
            real(**kwargs)
            return
        with transaction.atomic():
            real(**kwargs)
            if len(tried) == 1:
                kill_database()
        kill_database()
        raise OperationalError("the answer is lost")

    setattr(module, name, store)


def kill_database() -> None:
    """SIGKILL; and then what workers' main processes and the beat do about it."""
    pid = services.status(settings.VAR).postgres
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while services.status(settings.VAR).postgres == pid:
        time.sleep(0.02)
    services.ensure(settings.VAR)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
