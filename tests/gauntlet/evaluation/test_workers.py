"""Workers as the operator sees them, and what a process of theirs does beside its jobs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from gauntlet import stopping
from gauntlet.evaluation import heartbeat, work
from gauntlet.evaluation.heartbeat import Heartbeat
from gauntlet.evaluation.models import Worker, WorkerState
from gauntlet.evaluation.workers import forget_workers, living_workers, report_worker, silent_after

PATIENCE = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.02)


def listed() -> str:
    out = StringIO()
    call_command("workers", stdout=out)
    return out.getvalue()


def test_a_sign_of_life_is_one_statement_and_one_row_a_worker(db: None, django_assert_num_queries: Any) -> None:
    for state in (WorkerState.IDLE, WorkerState.BUSY):
        with django_assert_num_queries(1):
            report_worker(name="host:1", queues=["default", "gpu"], state=state)
    row = Worker.objects.get()
    assert (row.name, row.host, row.queues, row.state) == ("host:1", "host", ["default", "gpu"], "busy")


def test_the_operator_sees_who_lives_and_why_one_takes_no_job(db: None) -> None:
    assert "No worker" in listed()
    report_worker(name="a:1", queues=["default"], state=WorkerState.DRAINING, reason="Only 12 MiB are free.")
    report_worker(name="b:1", queues=["default"], state=WorkerState.IDLE)
    report_worker(name="c:1", queues=["default"], state=WorkerState.STOPPED)
    Worker.objects.filter(name="b:1").update(seen_at=Now() - silent_after() - timedelta(seconds=1))
    head, first, second, third = listed().splitlines()
    assert head.split()[:4] == ["worker", "queues", "state", "seen"]
    assert "draining" in first
    assert "Only 12 MiB are free." in first
    assert "silent" in second
    assert "stopped" in third
    assert [worker.name for worker in living_workers()] == ["a:1"]


def test_workers_not_heard_of_for_a_day_are_forgotten(db: None) -> None:
    for name in ("old:1", "new:1"):
        report_worker(name=name, queues=[], state=WorkerState.IDLE)
    Worker.objects.filter(name="old:1").update(seen_at=Now() - timedelta(days=2))
    assert forget_workers() == 1
    assert Worker.objects.get().name == "new:1"


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_tells_the_state_reaps_on_its_timer_and_says_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    reaped: list[int] = []
    told: tuple[WorkerState, str] = (WorkerState.IDLE, "")
    monkeypatch.setattr(work, "reap", lambda: reaped.append(1))
    monkeypatch.setattr(work, "state", lambda: told)
    beat = Heartbeat(["default"], seconds=0.02, reap_seconds=0.05).start()
    try:
        wait_until(lambda: Worker.objects.filter(name=work.worker_name(), state="idle").exists())
        told = (WorkerState.PAUSED, "The engine is dead.")
        wait_until(lambda: Worker.objects.filter(state="paused", reason="The engine is dead.").exists())
        wait_until(lambda: len(reaped) > 1)
    finally:
        beat.stop()
    assert Worker.objects.get().state == "stopped"


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_outlives_a_database_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = heartbeat.report_worker, []

    def away(**fields: Any) -> None:
        calls.append(1)
        if len(calls) < 3:
            raise OSError("away")
        real(**fields)

    monkeypatch.setattr(heartbeat, "report_worker", away)
    beat = Heartbeat(["default"], seconds=0.02).start()
    try:
        wait_until(lambda: Worker.objects.exists())
    finally:
        beat.stop()


def test_children_read_that_the_worker_is_to_end() -> None:
    """In a process of its own: what is asked once cannot be taken back."""
    program = """
import os, django
django.setup()
from gauntlet import stopping
child = os.fork()
if child:
    _, status = os.waitpid(child, 0)
    asked = stopping.stop_by()
    print(os.waitstatus_to_exitcode(status), asked is not None)
else:
    assert stopping.stop_by() is None
    stopping.ask_to_stop()
    os._exit(0)
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "gauntlet.settings"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True"]
    assert stopping.stop_by() is None


def test_a_process_that_is_to_end_begins_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(work, "stop_by", lambda: time.monotonic())
    monkeypatch.setattr(work, "worker", lambda queues: None)
    work.work_until_empty()
    assert work.state() == (WorkerState.STOPPING, "")
