"""Three workers on three hosts, storage that is no folder: one host is cut off in the middle and comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from network_hosts import BROKER_PORT, DATABASE_PORT, STORAGE_PORT, Host, network

from gauntlet.processes import Processes

PARTS = Path(__file__).parent / "parts"
MANIFEST = """\
version: 2
title: Far away
terms: terms.md
registration_auto_approve: true
pages: [{title: Overview, file: terms.md}]
tasks:
  - {index: 0, name: Slow, scoring_program: scoring, reference_data: reference, scorer_image: gauntlet/agent}
phases:
  - {index: 0, name: Only, start: 2024-01-01, tasks: [0], max_submissions_per_day: 1000, max_submissions: 1000}
leaderboards:
  - {title: Results, key: main, columns: [{title: Length, key: length, index: 0}]}
"""
SCORE = """\
import json, time
time.sleep(3)
said = open("/app/input/res/said.txt").read()
json.dump({"length": len(said)}, open("/app/output/scores.json", "w"))
"""


@dataclass
class Installation:
    """Processes of the platform on their hosts."""

    environment: dict[str, str]
    urls: Any
    folder: Path
    hub: Host
    running: list[Processes] = field(default_factory=list)

    def environment_on(self, host: Host) -> dict[str, str]:
        """What a process on this host is started with: all that it shares with others is at the hub's address."""
        database, broker = urlsplit(self.urls.database_url), urlsplit(self.urls.broker_url)
        address = host.hub_address
        var = self.folder / host.name
        var.mkdir(exist_ok=True)
        var.chmod(0o711)
        storage = {
            "bucket_name": "gauntlet",
            "endpoint_url": f"http://{address}:{STORAGE_PORT}",
            "access_key": "x",
            "secret_key": "x",
            "region_name": "us-east-1",
        }
        return self.environment | {
            "DJANGO_SETTINGS_MODULE": "gauntlet.settings",
            "DATABASE_URL": f"postgresql://{database.username}:{database.password}@{address}:{DATABASE_PORT}/gauntlet",
            "BROKER_URL": f"redis://:{broker.password}@{address}:{BROKER_PORT}/0",
            "STORAGE_BACKEND": "storages.backends.s3.S3Storage",
            "STORAGE_OPTIONS": json.dumps(storage),
            "GAUNTLET_VAR": str(var),
            "GAUNTLET_STATE": str(var / "sandbox"),
        }

    def start(self, host: Host, name: str, *words: str) -> None:
        """Start a process there."""
        here = Processes(logs=self.folder / "logs", environment=self.environment_on(host))
        here.start(name, host.command(sys.executable, *words))
        self.running.append(here)

    def start_worker(self, host: Host) -> None:
        options = ["--concurrency", "1", "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
        self.start(host, host.name, "-m", "celery", "-A", "gauntlet.celery", "worker", *options)

    def submit(self, count: int) -> list[str]:
        """Uploads, as the web server at the hub would take them."""
        words = [sys.executable, str(PARTS / "submit_results.py"), str(self.folder / "bundle"), "far", str(count)]
        environment = os.environ | self.environment_on(self.hub)
        done = subprocess.run(
            self.hub.command(*words), env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def log(self, name: str) -> str:
        return (self.folder / "logs" / f"{name}.log").read_text(errors="replace")

    def said(self, host: Host, *words: str) -> bool:
        """Whether one line of a worker's log holds all of these."""
        return any(all(word in line for word in words) for line in self.log(host.name).splitlines())


@pytest.fixture
def far(installation: Any, in_database: None, tmp_path: Path) -> Iterator[tuple[Installation, list[Host]]]:
    """The hub with database, broker and storage, and three hosts without workers."""
    from django.core.management import call_command

    tmp_path.chmod(0o711)
    for name, content in {
        "competition.yaml": MANIFEST,
        "terms.md": "Be fair.\n",
        "scoring/metadata": "command: python3 score.py\n",
        "scoring/score.py": SCORE,
        "reference/truth.txt": "yes\n",
    }.items():
        (tmp_path / "bundle" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bundle" / name).write_text(content)
    with network("host-a", "host-b", "host-c") as (hub, hosts):
        environment = installation.environment | {"LEASE_SECONDS": "6"}
        made = Installation(environment=environment, urls=installation.urls, folder=tmp_path, hub=hub)
        socket = Path(unquote(urlsplit(installation.urls.database_url).query.removeprefix("host="))) / ".s.PGSQL.5432"
        broker = unquote(urlsplit(installation.urls.broker_url).path)
        try:
            doors = [f"{DATABASE_PORT}={socket}", f"{BROKER_PORT}={broker}"]
            made.start(hub, "relay", str(PARTS / "relay.py"), *doors)
            made.start(hub, "storage", "-m", "moto.server", "-H", "0.0.0.0", "-p", str(STORAGE_PORT))  # noqa: S104
            schedule = str(tmp_path / "beat-schedule")
            made.start(hub, "beat", "-m", "celery", "-A", "gauntlet.celery", "beat", "-s", schedule, "--pidfile", "")
            yield made, hosts
        finally:
            for host in hosts:
                host.mend()  # so that all can end in good order
            for each in made.running:
                for process in each.running.values():
                    process.terminate()
            for each in made.running:
                each.stop()
    call_command("flush", interactive=False, verbosity=0)


def test_one_of_three_hosts_is_cut_off_and_comes_back(
    far: tuple[Installation, list[Host]], wait_until: Callable[..., Any]
) -> None:
    from django.utils import timezone

    from gauntlet.accounts.models import Event
    from gauntlet.evaluation.models import Evaluation, Job
    from gauntlet.submissions.models import Submission

    installation, hosts = far
    wait_until(lambda: "Running on" in installation.log("storage"))
    submissions = installation.submit(9)
    for host in hosts:
        installation.start_worker(host)
    lost = hosts[1]
    held = wait_until(Job.objects.filter(state="leased", worker__startswith=f"{lost.name}:").first)
    wait_until(lambda: installation.said(lost, "job_started", str(held.pk)))
    lost.cut()

    taken = Job.objects.filter(pk=held.pk, attempt=held.attempt + 1).exclude(worker__startswith=lost.name)
    wait_until(taken.filter(state="done").exists)
    lost.mend()

    unfinished = Evaluation.objects.exclude(state="finished")
    again = Job.objects.filter(state="done", worker__startswith=lost.name, ended_at__gt=timezone.now())
    deadline = time.monotonic() + 120
    while not again.exists():  # it works again, if only there is something to do
        assert time.monotonic() < deadline, installation.log(lost.name)[-4000:]
        submissions += installation.submit(6)
        # In this order: an evaluation begins with the transaction that accepts its submission.
        wait_until(lambda: not Submission.objects.exclude(state="accepted").exists() and not unfinished.exists())
    assert Evaluation.objects.filter(submission__in=submissions).count() == len(submissions)

    # The late result was refused, and nothing was scored twice.
    wait_until(lambda: installation.said(lost, "job_ended", str(held.pk), "'lost'"))
    assert set(Counter(Event.objects.filter(name="evaluation.finished").values_list("subject_id")).values()) == {1}
    assert all(evaluation.scores.count() == 1 for evaluation in Evaluation.objects.all())
    assert Job.objects.exclude(state="done").count() == 0
    workers = Job.objects.values_list("worker", flat=True)
    assert {worker.partition(":")[0] for worker in workers} == {host.name for host in hosts}
    # What was stored is at the hub, and on no host's disk.
    assert [path for path in installation.folder.glob("*/artifacts/*") if path.is_dir()] == []
