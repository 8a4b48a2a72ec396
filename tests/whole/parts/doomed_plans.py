"""Runs workers that die at an exact step (`doomed.py`), for the tests of both sandbox backends."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from django.core.files.base import ContentFile

from gauntlet_runtime.tethered import tethered

PATIENCE = 800  # seconds, on a machine with much else to do
DOOMED = Path(__file__).with_name("doomed.py")


@dataclass
class Aftermath:
    """What came of a plan: the submissions by name, what their workers told, and which processes lived on."""

    submissions: dict[str, Any]
    told: dict[str, dict[str, Any]]
    living: list[Any]

    def of(self, name: str) -> tuple[Any, dict[str, Any]]:
        """A submission and what its workers told."""
        return self.submissions[name], self.told[str(self.submissions[name].pk)]


def submit(phase: Any, person: Any, bundle: bytes) -> Any:
    """Receive a submission and check it, as the platform does; its first job is ready then."""
    from gauntlet.evaluation.services import start_evaluations
    from gauntlet.submissions.services import check_next, receive

    submission = receive(phase=phase, participant=person, upload=ContentFile(bundle), file_name="agent.zip")
    while check_next(sandbox=None, on_accept=start_evaluations):
        pass
    submission.refresh_from_db()
    assert submission.state == "accepted"
    return submission


def work_off(installation: Any, folder: Path, entries: list[dict[str, str]], **environment: str) -> tuple[Any, Any]:
    """Run the doomed workers' program to its end; returns what it told and which of its processes live on."""
    plan, result = folder / "plan.json", folder / "result.json"
    plan.write_text(json.dumps(entries))
    own = {"DJANGO_SETTINGS_MODULE": "gauntlet.settings", "LEASE_SECONDS": "5", "RUN_SLICE": "2", **environment}
    with (folder / "doomed.log").open("wb") as log:
        process = subprocess.Popen(
            tethered([sys.executable, str(DOOMED), str(plan), str(result)]),
            env={**os.environ, **installation.environment, **own},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            status = process.wait(PATIENCE)
        finally:
            process.kill()  # and its children end with it
            process.wait()
    assert status == 0, (folder / "doomed.log").read_text(errors="replace")[-4000:]
    return json.loads(result.read_text()), members(process.pid)


def members(session: int) -> list[psutil.Process]:
    """The live processes of a session."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def attempts(submission: Any) -> list[int]:
    """How often each of its jobs was begun."""
    from gauntlet.evaluation.models import Job

    return sorted(Job.objects.filter(evaluation__submission=submission).values_list("attempt", flat=True))
