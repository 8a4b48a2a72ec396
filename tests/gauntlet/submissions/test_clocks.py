"""Workers whose own clocks are far off: nothing waits longer for that, is let go too early, or is told in disorder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.evaluation.services import start_evaluations
from gauntlet.storage.services import open_artifact
from gauntlet.storage.sweeping import sweep_artifacts
from gauntlet.submissions import checks, resumable, services
from gauntlet.submissions.errors import FileParked
from gauntlet.submissions.models import FileFaults, Submission, Upload
from gauntlet.submissions.parking import IN_A_ROW, note_fault, why_parked
from gauntlet.submissions.services import check_next

pytestmark = pytest.mark.django_db

CLOCKS = [timedelta(days=3), timedelta(days=-3)]
Host = Callable[[timedelta], Any]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """What is done within is done on a host whose clock is off by this much; the database's is right."""
    right = timezone.now

    @contextmanager
    def on(off: timedelta) -> Iterator[None]:
        with monkeypatch.context() as there:
            there.setattr(timezone, "now", lambda: right() + off)
            yield

    return on


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    return make_phase()


@pytest.fixture
def user(phase: Any, make_participant: Callable[[Any], User]) -> User:
    return make_participant(phase)


def check() -> bool:
    return check_next(sandbox=None, on_accept=start_evaluations)  # type: ignore[arg-type]


def later(passed: timedelta) -> None:
    """Let time pass for what was begun."""
    Submission.objects.update(check_started_at=F("check_started_at") - passed)


@pytest.mark.parametrize("off", CLOCKS)
def test_a_check_whose_worker_died_is_begun_anew_whatever_its_clock_said(
    off: timedelta, host: Host, phase: Any, user: User, send: Any
) -> None:
    submission = send(phase, user)
    with host(off):
        claimed = checks._claimed()
        claimed.__enter__()  # and the worker dies
    assert checks.reclaim_stuck_checks() == 0  # it was begun just now
    later(timedelta(seconds=6))
    assert checks.reclaim_stuck_checks() == 1
    assert not check()  # it rests a moment
    later(timedelta(seconds=6))
    assert check()
    submission.refresh_from_db()
    assert (submission.state, submission.check_attempts) == ("accepted", 2)


@pytest.mark.parametrize("off", CLOCKS)
def test_a_worker_whose_clock_is_off_takes_no_check_from_one_that_lives(
    off: timedelta, host: Host, phase: Any, user: User, send: Any
) -> None:
    send(phase, user)
    with checks._claimed(), host(off):
        assert checks.reclaim_stuck_checks() == 0


@pytest.mark.parametrize("off", CLOCKS)
def test_a_file_is_parked_for_as_long_as_on_any_other_host(
    off: timedelta, host: Host, phase: Any, user: User, send: Any
) -> None:
    for _ in range(IN_A_ROW):
        submission = send(phase, user)
        with host(off):
            note_fault(submission)
    with pytest.raises(FileParked) as caught:
        send(phase, user)
    assert 3500 < (caught.value.retry_after or 0) <= 3600
    with host(off):
        assert why_parked(submission.sent_digest) == why_parked(FileFaults.objects.get().digest) != ""


@pytest.mark.parametrize("off", CLOCKS)
def test_a_file_that_went_well_meanwhile_begins_anew_whatever_the_clocks_said(
    off: timedelta, host: Host, phase: Any, user: User, send: Any, agent_zip: Any
) -> None:
    bad = agent_zip(agent__yaml="name: x\n")
    with host(off):
        note_fault(send(phase, user, bad))
    send(phase, user, bad)
    assert check()  # it is refused, so no fault of the platform: the checks of this file work again
    with host(-off):
        note_fault(send(phase, user, bad))
    assert FileFaults.objects.get().in_a_row == 1


def test_what_is_sent_in_parts_is_not_swept_before_its_time(host: Host, user: User) -> None:
    upload = resumable.begin(owner=user, length=10, file_name="mine.zip")
    with host(timedelta(days=30)):
        assert resumable.sweep_uploads() == 0
    assert Upload.objects.filter(pk=upload.pk).exists()


def test_what_is_stored_for_a_submission_is_not_swept_before_that_is_made(
    host: Host, phase: Any, user: User, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = services.store

    def store_then_sweep(*what: Any, **more: Any) -> Any:
        stored = store(*what, **more)
        with host(timedelta(days=3)):
            sweep_artifacts()
        return stored

    monkeypatch.setattr(services, "store", store_then_sweep)
    with open_artifact(send(phase, user).bundle) as kept:
        assert kept.read()


@pytest.mark.parametrize("off", CLOCKS)
def test_the_steps_of_a_submission_are_told_in_their_order(
    off: timedelta, host: Host, phase: Any, user: User, send: Any
) -> None:
    before = timezone.now()
    submission = send(phase, user)
    with host(off):
        assert check()
    submission.refresh_from_db()
    assert before < submission.checked_at < submission.evaluations.get().queued_at < timezone.now()
