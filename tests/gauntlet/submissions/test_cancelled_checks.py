"""A check whose submission is cancelled meanwhile: its installer is told to stop, and nothing of it is stored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from gauntlet.evaluation.services import cancel_submission
from gauntlet.submissions import checks
from gauntlet_runtime.jobs import LeaseLost

PATIENCE = 60.0


def cancel(submission: Any) -> None:
    """From another process's point of view: a connection of its own."""

    def work() -> None:
        try:
            cancel_submission(submission, actor=submission.participant)
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE)


@pytest.mark.django_db(transaction=True)
def test_the_installer_is_told_to_stop_and_the_submission_stays_cancelled(
    make_phase: Callable[..., Any], make_submission: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = make_submission(make_phase(), state="received")

    def install(checked: Any, sandbox: Any, unwanted: threading.Event) -> Any:
        cancel(checked)
        assert unwanted.wait(PATIENCE), "nobody told the installer"
        raise LeaseLost  # as `install_packages` does

    monkeypatch.setattr(checks, "_examine", install)
    accepted: list[Any] = []
    assert checks.check_next(sandbox=None, on_accept=accepted.append)
    submission.refresh_from_db()
    assert (submission.state, accepted, submission.bundle) == ("cancelled", [], None)
    assert submission.sent_digest.startswith("sha256:")
    assert not checks.check_next(sandbox=None, on_accept=accepted.append)


@pytest.mark.django_db(transaction=True)
def test_a_check_that_ends_just_after_the_cancel_accepts_nothing(
    make_phase: Callable[..., Any], make_submission: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = make_submission(make_phase(), state="received")

    def examine(checked: Any, sandbox: Any, unwanted: threading.Event) -> Any:
        cancel(checked)
        return checks.Outcome(findings=[], agent={"name": "agent"}, bundle=checked.bundle)

    monkeypatch.setattr(checks, "_examine", examine)
    accepted: list[Any] = []
    assert checks.check_next(sandbox=None, on_accept=accepted.append)
    submission.refresh_from_db()
    assert (submission.state, accepted) == ("cancelled", [])
    assert not submission.evaluations.exists()
