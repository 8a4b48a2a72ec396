"""Ringing over a broker that is away, hangs, or is never emptied."""

from __future__ import annotations

import dbm
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from celery.beat import Service
from django.conf import settings
from kept_broker import KeptBroker, kept_broker
from structlog.testing import capture_logs

from gauntlet import celery
from gauntlet.doorbell import MOST_WAITING
from gauntlet_runtime.services import binaries, home


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeptBroker]:
    """A broker of the test's own, over which this process rings."""
    place = home.find(settings.VAR)
    assert place is not None
    with kept_broker(binaries.valkey_server(place), tmp_path) as broker:
        monkeypatch.setitem(celery.app.conf, "broker_url", broker.url)
        forget_connections()
        yield broker
        broker.send(signal.SIGCONT)
        monkeypatch.undo()
        forget_connections()


def forget_connections() -> None:
    """Connect to wherever the settings say at the next ring."""
    celery._quiet_until = 0.0
    celery.app.amqp._producer_pool = None
    celery.app._pool = None


def waiting(broker: KeptBroker, queue: str = "default") -> int:
    """How many rings wait in a queue."""
    return broker.client().llen(queue)


def test_a_queue_that_nobody_serves_holds_the_newest_rings_and_never_fills_the_broker(broker: KeptBroker) -> None:
    client = broker.client()
    client.lpush("gpu", *(f"old {number}" for number in range(3 * MOST_WAITING)))
    celery._send("gpu")
    assert waiting(broker, "gpu") == MOST_WAITING
    newest, second = client.lrange("gpu", 0, 1)
    assert b"gauntlet.work" in newest
    assert second == b"old %d" % (3 * MOST_WAITING - 1)


def test_a_ring_is_heard_by_a_worker_whose_clock_is_half_a_minute_ahead(broker: KeptBroker) -> None:
    celery._send("default")
    sent = json.loads(broker.client().lindex("default", 0))
    assert datetime.fromisoformat(sent["headers"]["expires"]) > datetime.now(UTC) + timedelta(seconds=30)


def test_a_broker_that_hangs_is_left_alone_until_the_beat_has_rung(
    broker: KeptBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    celery._send("default")
    broker.send(signal.SIGSTOP)
    with capture_logs() as logs:
        celery._send("default")
    assert [one["event"] for one in logs] == ["doorbell.unreachable"]
    broker.send(signal.SIGCONT)
    before = waiting(broker)
    celery._send("default")
    assert waiting(broker) == before  # it was not even asked
    monkeypatch.setattr(celery, "_quiet_until", 0.0)  # the time of a bell has passed
    celery._send("default")
    assert waiting(broker) == before + 1


def test_a_dead_broker_costs_whoever_rings_one_try_and_is_rung_as_soon_as_it_lives(
    broker: KeptBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    celery._send("default")
    broker.kill()
    slept: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", slept.append)
    with capture_logs() as logs:
        for _ in range(3):
            celery._send("default")
    assert [one["event"] for one in logs] == ["doorbell.unreachable"] * 3
    assert slept == []
    broker.start()
    celery._send("default")
    assert waiting(broker) == 2


def test_workers_and_the_beat_wait_for_a_broker_however_often_they_must_ask(broker: KeptBroker) -> None:
    broker.kill()
    asked: list[object] = []

    def away(error: object, _: float) -> None:
        asked.append(error)
        if len(asked) == 250:  # hours later
            broker.start()

    with celery.app.connection_for_read() as connection:
        retries = celery.app.conf.broker_connection_max_retries  # as they do
        connection.ensure_connection(away, retries, interval_start=0, interval_step=0)
        assert connection.connected
    assert len(asked) == 250


def test_a_ring_that_was_taken_leaves_nothing_in_the_broker(broker: KeptBroker) -> None:
    celery._send("default")
    with celery.app.connection_for_read() as connection, connection.SimpleQueue("default") as queue:
        taken = queue.get(timeout=10)
        assert taken.headers["task"] == celery.WORK_TASK
        keys = {key for key in broker.client().scan_iter() if not key.startswith(b"_kombu")}
        assert keys == set()
        taken.ack()


def test_the_beat_starts_whatever_one_that_was_killed_left_in_its_file(tmp_path: Path) -> None:
    with dbm.open(str(tmp_path / "schedule"), "c") as file:
        file[b"entries"] = b""  # broken off
    kind = celery.app.conf.beat_scheduler
    beat = Service(celery.app, schedule_filename=str(tmp_path / "schedule"), scheduler_cls=kind)
    tasks = {entry.task for entry in beat.scheduler.schedule.values()}
    assert tasks >= {celery.WORK_TASK, celery.SWEEP_TASK, celery.TIDY_TASK}


#: A worker whose work is to say that it has begun and to go on until it is killed.
BUSY = """
import os, pathlib, time
from celery import Celery
from gauntlet import doorbell
doorbell.use()
app = Celery("busy")
app.config_from_object("django.conf:settings", namespace="CELERY")
@app.task(name=doorbell.WORK_TASK)
def work():
    pathlib.Path(os.environ["BEGUN"]).touch()
    time.sleep(600)
"""


@pytest.fixture
def busy_worker(broker: KeptBroker, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Start a worker of one process, and wait until it has begun to work."""
    (tmp_path / "busy.py").write_text(BUSY)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> None:
        begun = tmp_path / name
        options = ["--concurrency", "1", "--without-gossip", "--without-mingle", "--hostname", f"{name}@%h"]
        command = [sys.executable, "-m", "celery", "-A", "busy", "worker", *options]
        environment = {**os.environ, "BROKER_URL": broker.url, "BEGUN": str(begun)}
        with (tmp_path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=environment, cwd=tmp_path, stdout=log, stderr=log, start_new_session=True
            )
        started.append(process)
        deadline = time.monotonic() + 60
        while not begun.exists():
            assert time.monotonic() < deadline, (tmp_path / f"{name}.log").read_text()
            time.sleep(0.05)

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_busy_host_takes_no_ring_that_an_idle_one_could_hear(
    broker: KeptBroker, busy_worker: Callable[[str], None]
) -> None:
    celery._send("default")
    busy_worker("first")
    celery._send("default")
    busy_worker("second")
    assert waiting(broker) == 0
