"""Checkers that die, and packages that are installed in a real sandbox."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import DataError, connections
from django.db.models.functions import Now

from gauntlet.accounts.selectors import events_of
from gauntlet.storage.services import open_artifact
from gauntlet.submissions import checks
from gauntlet.submissions.checks import reclaim_stuck_checks
from gauntlet.submissions.models import Submission
from gauntlet.submissions.services import check_next
from gauntlet.submissions.work_folders import remove_left_behind, work_folder
from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_runtime.sandbox.interface import Sandbox

NO_WAIT = timedelta(0)

SET_UP = """
import json, sys
from django.conf import settings
told = json.loads(sys.argv[1])
settings.DATABASES["default"].update(told["database"])
settings.STORAGES["default"] = told["storage"]
settings.FILE_UPLOAD_TEMP_DIR = told["uploads"]
import django
django.setup()
def hold(submission=None):
    print("ready", flush=True)
    sys.stdin.read()
"""
HOLD_A_CHECK = """
from gauntlet.submissions.services import check_next
check_next(sandbox=None, on_accept=hold)
"""
HOLD_A_FOLDER = """
from gauntlet.submissions.work_folders import work_folder
with work_folder():
    hold()
"""


@contextmanager
def other_process(then: str) -> Iterator[subprocess.Popen[str]]:
    """A process of its own with the test's database and folders that printed a line and now waits."""
    database = {key: django_settings.DATABASES["default"][key] for key in ("HOST", "PORT", "USER", "PASSWORD")}
    database["NAME"] = connections["default"].settings_dict["NAME"]
    told = {
        "database": database,
        "storage": django_settings.STORAGES["default"],
        "uploads": django_settings.FILE_UPLOAD_TEMP_DIR,
    }
    command = [sys.executable, "-c", SET_UP + then, json.dumps(told)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def until(condition: Callable[[], Any]) -> Any:
    """Wait for a condition; the test's own time limit ends it."""
    while not (result := condition()):
        threading.Event().wait(0.02)
    return result


@pytest.fixture
def received(make_phase: Any, make_participant: Any, send: Any) -> Callable[..., Submission]:
    """A submission that was just received."""

    def make(content: bytes | None = None) -> Submission:
        phase = make_phase()
        submission: Submission = send(phase, make_participant(phase), content)
        return submission

    return make


@pytest.mark.django_db(transaction=True)
def test_a_checker_that_is_killed_is_noticed_and_the_submission_is_checked_once_more(received: Any) -> None:
    submission = received()
    with other_process(HOLD_A_CHECK) as process:
        assert reclaim_stuck_checks(NO_WAIT) == 0  # it lives
        assert remove_left_behind() == 0
        assert not check_next(sandbox=None, on_accept=lambda one: None)  # type: ignore[arg-type]
        process.kill()
        assert until(lambda: reclaim_stuck_checks(NO_WAIT)) == 1
    submission.refresh_from_db()
    assert (submission.state, submission.check_attempts) == ("received", 1)
    Submission.objects.update(check_started_at=None)
    accepted: list[Submission] = []
    assert check_next(sandbox=None, on_accept=accepted.append)  # type: ignore[arg-type]
    assert accepted == [submission]
    names = [event.name.removeprefix("submission.") for event in events_of(submission)]
    assert names == ["received", "checking", "received", "checking", "accepted"]


@pytest.mark.django_db
def test_one_that_cannot_be_put_back_keeps_no_other(received: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt, other = received(), received()
    started = Now() - timedelta(minutes=1)
    Submission.objects.update(state="checking", check_attempts=1, check_started_at=started)
    put_back = checks.put_back

    def fail(submission: Submission, *, reason: str) -> bool:
        if submission == spoilt:
            raise DataError
        return put_back(submission, reason=reason)

    monkeypatch.setattr(checks, "put_back", fail)
    assert reclaim_stuck_checks() == 1
    assert [Submission.objects.get(pk=one.pk).state for one in (spoilt, other)] == ["checking", "received"]


@pytest.mark.django_db(transaction=True)
def test_the_folder_of_a_killed_checker_is_removed_and_that_of_a_living_one_is_not(
    received: Any, tmp_path: Path
) -> None:
    uploads = Path(django_settings.FILE_UPLOAD_TEMP_DIR)
    with work_folder() as own, other_process(HOLD_A_FOLDER) as process:
        (own / "file").write_text("x")
        assert len(list(uploads.iterdir())) == 2
        assert remove_left_behind() == 0
        process.kill()
        assert until(remove_left_behind) == 1
        assert list(uploads.iterdir()) == [own]


@pytest.mark.parametrize("other", ["web-2", "web", "we"])
def test_the_folder_of_a_checker_on_another_host_stays_whatever_the_hosts_are_called(
    other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process cannot be looked at from here; both may keep their folders in one place."""
    monkeypatch.setattr(socket, "gethostname", lambda: other)
    with work_folder() as theirs:
        for name in ("web", "web-2-1", "2", "w"):
            monkeypatch.setattr(socket, "gethostname", lambda name=name: name)
            assert remove_left_behind() == 0
        monkeypatch.setattr(socket, "gethostname", lambda: other)
        pid, started = theirs.name.split("-")[1:3]
        theirs.rename(theirs.with_name(theirs.name.replace(f"-{pid}-{started}-", f"-{pid}-1-")))
        assert remove_left_behind() == 1  # that process of its own is gone
        theirs.mkdir()  # for the block's end


@pytest.mark.django_db(transaction=True)
def test_a_bundle_that_kills_every_checker_is_given_up_and_given_back(received: Any) -> None:
    submission = received()
    for _ in range(3):
        Submission.objects.update(check_started_at=None)
        with other_process(HOLD_A_CHECK) as process:
            process.kill()
            until(lambda: reclaim_stuck_checks(NO_WAIT))
    submission.refresh_from_db()
    assert (submission.state, submission.failure_code, submission.counts_as) == (
        "rejected",
        "infrastructure",
        "nothing",
    )


@pytest.mark.django_db(transaction=True)
def test_two_checkers_never_take_the_same_submission(received: Any) -> None:
    one, two = received(), received()
    accepted: list[Submission] = []
    barrier = threading.Barrier(4)

    def run() -> None:
        try:
            barrier.wait()
            while check_next(sandbox=None, on_accept=accepted.append):  # type: ignore[arg-type]
                pass
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(s.pk for s in accepted) == sorted([one.pk, two.pk])
    assert set(Submission.objects.values_list("state", "check_attempts")) == {("accepted", 1)}


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    """This host's sandbox."""
    return open_sandbox()


def wheel(name: str, module: str, *, requires: str = "") -> bytes:
    """A pure wheel with one module."""
    info = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n" + (
        f"Requires-Dist: {requires}\n" if requires else ""
    )
    files = {
        f"{name}.py": module,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return out.getvalue()


@pytest.mark.django_db
def test_an_agents_packages_are_installed_from_its_wheels(received: Any, zip_of: Any, sandbox: Sandbox) -> None:
    files = {
        "agent.yaml": "name: x\ncommand: python agent.py\n",
        "agent.py": "import tiny_part\n",
        "requirements.txt": "tiny_part\n",
        "wheels/tiny_part-1.0-py3-none-any.whl": wheel("tiny_part", "ANSWER = 42\n"),
    }
    submission = received(zip_of(files))
    assert check_next(sandbox=sandbox, on_accept=lambda one: None)
    submission.refresh_from_db()
    assert submission.state == "accepted", (submission.failure_message, submission.check_log)
    assert submission.packages is not None
    with open_artifact(submission.packages) as archive:
        assert zipfile.ZipFile(archive).read("tiny_part.py") == b"ANSWER = 42\n"


@pytest.mark.django_db
def test_packages_that_cannot_be_installed_are_the_participants_to_mend(
    received: Any, zip_of: Any, sandbox: Sandbox
) -> None:
    files = {
        "agent.yaml": "name: x\ncommand: python agent.py\n",
        "agent.py": "",
        "requirements.txt": "tiny_part\n",
        "wheels/tiny_part-1.0-py3-none-any.whl": wheel("tiny_part", "", requires="not_in_the_bundle"),
    }
    submission = received(zip_of(files))
    assert check_next(sandbox=sandbox, on_accept=lambda one: None)
    submission.refresh_from_db()
    assert (submission.state, submission.failure_code) == ("rejected", "invalid_bundle")
    assert "not_in_the_bundle" in submission.check_log
    assert "not_in_the_bundle" not in submission.failure_message
    assert submission.counts_as == "failed_start"
