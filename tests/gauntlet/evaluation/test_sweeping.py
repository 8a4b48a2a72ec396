"""The sweep: what fails at one job, or in one step, is logged and keeps nothing else from being swept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DataError, connection
from structlog.testing import capture_logs

from gauntlet.evaluation import claims, tasks
from gauntlet.evaluation.models import Evaluation, Job
from gauntlet.evaluation.states import JobState

pytestmark = pytest.mark.django_db


def logged(logs: Any, event: str) -> list[dict[str, Any]]:
    return [dict(one) for one in logs if one["event"] == event]


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Jobs that cannot be moved, whatever is tried: the database refuses."""
    found: list[Job] = []
    move = claims.move_job

    def fail(job: Job, state: JobState, **more: Any) -> None:
        if job in found:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        move(job, state, **more)

    monkeypatch.setattr(claims, "move_job", fail)
    return found


def test_a_lease_that_cannot_be_taken_away_keeps_no_other(
    start: Callable[..., Evaluation], worker: Any, expire: Any, spoilt: list[Job]
) -> None:
    for _ in range(3):
        start()
    for claim in [worker.must_claim() for _ in range(3)]:
        expire(claim)
    spoilt.append(claims._left_behind()[0])
    with capture_logs() as logs:
        assert claims.take_from_dead_workers() == 2
    (told,) = logged(logs, "sweep.failed")
    assert (told["thing"], told["log_level"], told["exc_info"]) == (str(spoilt[0].pk), "error", True)
    assert list(Job.objects.filter(state="leased")) == spoilt
    spoilt.clear()
    assert claims.take_from_dead_workers() == 1


def test_a_job_of_an_ended_evaluation_that_cannot_be_dropped_keeps_no_other(
    start: Callable[..., Evaluation], spoilt: list[Job]
) -> None:
    for _ in range(3):
        start()
    Evaluation.objects.update(state="cancelled", ended_at="2026-01-01T00:00Z")
    spoilt.append(Job.objects.filter(state="ready")[0])
    with capture_logs() as logs:
        assert claims.sweep() == 2
    assert [one["thing"] for one in logged(logs, "sweep.failed")] == [str(spoilt[0].pk)]
    assert list(Job.objects.filter(state="ready")) == spoilt


@pytest.mark.parametrize(
    ("task", "steps", "then"),
    [
        (tasks.sweep, ["reclaim_stuck_checks", "sweep_uploads", "forget_workers"], ["work"]),
        (tasks.tidy, ["forget_records", "sweep_artifacts", "sweep_temporary_files"], []),
    ],
)
def test_a_step_that_fails_keeps_no_other(
    task: Any, steps: list[str], then: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a sweep its process works: of two hosts one might hear all rings and take no jobs, the other all sweeps."""
    taken: list[str] = []

    def step(name: str) -> Callable[[], None]:
        def take() -> None:
            taken.append(name)
            raise DataError(name)

        return take

    for name in steps:
        monkeypatch.setattr(tasks, name, step(name))
    monkeypatch.setattr(tasks, "work", lambda: taken.append("work"))
    with capture_logs() as logs:
        task()
    assert taken == steps + then
    told = logged(logs, "sweep.step_failed")
    assert [(one["log_level"], one["exc_info"]) for one in told] == [("error", True)] * len(steps)
