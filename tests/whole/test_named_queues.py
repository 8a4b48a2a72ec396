"""Named queues: a worker takes what waits in its own, and what waits in another is told that nobody serves it."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gauntlet.processes import Processes, platform_processes

MANIFEST = """\
version: 2
title: Two queues
terms: terms.md
registration_auto_approve: true
queue: gpu
pages: [{title: Overview, file: terms.md}]
tasks:
  - {index: 0, name: One, scoring_program: scoring, reference_data: reference, scorer_image: gauntlet/agent}
phases:
  - {index: 0, name: Special, start: 2024-01-01, tasks: [0]}
  - {index: 1, name: Plain, start: 2024-01-02, tasks: [0], queue: default}
leaderboards:
  - {title: Results, key: main, columns: [{title: One, key: one, index: 0}]}
"""
FILES = {
    "competition.yaml": MANIFEST,
    "terms.md": "Be fair.\n",
    "scoring/metadata": "command: python3 score.py\n",
    "scoring/score.py": "open('/app/output/scores.txt', 'w').write('one: 1')\n",
    "reference/truth.txt": "yes\n",
}


def test_a_worker_does_what_waits_in_the_queues_that_it_was_started_for(
    installation: Any, in_database: None, settings: Any, tmp_path: Path, wait_until: Callable[..., Any]
) -> None:
    from django.utils import timezone

    from gauntlet.accounts.models import User
    from gauntlet.competitions.services import import_bundle, join
    from gauntlet.competitions.visibility import Audience
    from gauntlet.evaluation.selectors import submission_story
    from gauntlet.submissions.models import Submission

    settings.QUEUES = ["default", "gpu"]
    for name, content in FILES.items():
        (tmp_path / "bundle" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bundle" / name).write_text(content)
    user = User.objects.create(username="queuer", email="queuer@example.org")
    competition = import_bundle(tmp_path / "bundle", organizer=user, publish=True)
    join(competition, user=user, terms_accepted=True)
    special, plain = (_submit(phase, user) for phase in competition.phases.all())

    def told(submission: Submission) -> Any:
        return submission_story(submission, audience=Audience.OWNER, now=timezone.now()).evaluations

    environment = installation.environment | {"QUEUES": "default,gpu"}
    with platform_processes(tmp_path / "logs", environment=environment) as processes:
        _start_worker(processes, "special", "gpu")
        processes.start_beat()
        wait_until(lambda: [one.state for one in told(special)] == ["finished"])
        waits = wait_until(lambda: [one for one in told(plain) if one.position])
        assert (waits[0].state, waits[0].position, waits[0].unserved_queue) == ("queued", 1, "default")
        _start_worker(processes, "both", "gpu,default")
        wait_until(lambda: [one.state for one in told(plain)] == ["finished"])
    workers = {one.evaluations.get().jobs.get().queue for one in (special, plain)}
    assert workers == {"gpu", "default"}


def test_a_worker_that_is_started_for_somebodys_own_queue_says_whose_it_is_and_ends(
    installation: Any, in_database: None, tmp_path: Path
) -> None:
    from gauntlet.accounts.models import User
    from gauntlet.queues.models import Queue

    Queue.objects.create(name="lab", owner=User.objects.create(username="labber", email="labber@example.org"))
    ended = subprocess.run(
        _worker_command("lab"), env=installation.environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 1
    assert "'lab' is labber's own" in ended.stderr
    assert "Traceback" not in ended.stderr


def _submit(phase: Any, user: Any) -> Any:
    from django.core.files.base import ContentFile

    from gauntlet.submissions.services import receive

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("said.txt", phase.name)
    return receive(phase=phase, participant=user, upload=ContentFile(out.getvalue()), file_name="results.zip")


def _start_worker(processes: Processes, name: str, queues: str) -> None:
    processes.start(name, [*_worker_command(queues), "--hostname", f"{name}@%h"])


def _worker_command(queues: str) -> list[str]:
    options = ["--concurrency", "1", "--loglevel", "INFO", "--without-gossip", "--without-mingle", "-Q", queues]
    return [sys.executable, "-m", "celery", "-A", "gauntlet.celery", "worker", *options]


@pytest.fixture(autouse=True)
def emptied(in_database: None) -> Any:
    """What the test made is removed."""
    from django.core.management import call_command

    yield
    call_command("flush", interactive=False, verbosity=0)
