"""A worker process between its jobs: what is uploaded while there is a queue does not wait for the queue's end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from gauntlet.evaluation import work
from gauntlet_runtime.health import Health


def test_uploads_are_checked_between_two_jobs_also_those_whose_checker_died(
    make_phase: Callable[..., Any], make_submission: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = timezone.now() - timedelta(minutes=1)
    left = make_submission(make_phase(), state="checking", check_attempts=1, check_started_at=begun)
    done: list[str] = []

    class Jobs:
        health = Health(tmp_path)

        def work_once(self) -> bool:
            done.append("job")
            return done.count("job") < 3

    def check(**_: object) -> bool:
        done.append("check")
        return False

    monkeypatch.setattr(work, "worker", lambda queues: Jobs())
    monkeypatch.setattr(work, "sandbox", lambda: None)
    monkeypatch.setattr(work, "check_next", check)
    work.work_until_empty()
    assert done == ["check", "job"] * 3
    left.refresh_from_db()
    assert left.state == "received"


def test_jobs_are_done_while_long_checks_still_wait(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done: list[str] = []

    class Jobs:
        health = Health(tmp_path)

        def work_once(self) -> bool:
            done.append("job")
            return done.count("job") < 2

    def check(**_: object) -> bool:
        done.append("check")
        return done.count("check") < 5

    monkeypatch.setattr(work, "worker", lambda queues: Jobs())
    monkeypatch.setattr(work, "sandbox", lambda: None)
    monkeypatch.setattr(work, "check_next", check)
    monkeypatch.setattr(work, "_CHECKING_SECONDS", -1.0)  # every check is a long one
    work.work_until_empty()
    assert done == ["check", "job"] * 5  # also when there was no job to do: checks were left
