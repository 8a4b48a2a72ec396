"""Taking an upload, or refusing it and keeping nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone

from gauntlet.accounts.models import Event, User
from gauntlet.accounts.selectors import events_of
from gauntlet.api_errors import DomainError
from gauntlet.competitions.models import Participation
from gauntlet.competitions.services import decide_participations
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact
from gauntlet.submissions import services
from gauntlet.submissions.errors import PhaseNotOpen, QuotaUsed
from gauntlet.submissions.models import Submission

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No day ends between two uploads."""
    moment = timezone.now().replace(hour=12, minute=0)
    monkeypatch.setattr(timezone, "now", lambda: moment)


def test_an_upload_becomes_a_submission(
    make_phase: Any, make_participant: Any, send: Any, agent_zip: Any, django_capture_on_commit_callbacks: Any
) -> None:
    phase = make_phase()
    user = make_participant(phase)
    with django_capture_on_commit_callbacks() as rung:
        submission = send(phase, user, name="  My\x00 best\nagent ", file_name="C:\\agents\\mine.zip")
    assert len(rung) == 1
    submission.refresh_from_db()
    assert (submission.state, submission.counts_as, submission.source) == ("received", "attempt", "web")
    assert (submission.name, submission.file_name) == ("My best agent", "mine.zip")
    with open_artifact(submission.bundle) as bundle:
        assert bundle.read() == agent_zip()
    (event,) = events_of(submission)
    assert (event.name, event.after, event.actor) == ("submission.received", "received", user)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("", "upload.zip"), ("../../etc/passwd", "passwd"), ("/", "upload.zip"), ("a" * 400 + ".zip", "a" * 251 + ".zip")],
)
def test_a_file_name_is_a_name_and_no_path(
    given: str, kept: str, make_phase: Any, make_participant: Any, send: Any
) -> None:
    phase = make_phase()
    assert send(phase, make_participant(phase), file_name=given).file_name == kept


def test_a_phase_that_is_closed_while_the_file_is_stored_takes_nothing(
    make_phase: Any, make_participant: Any, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase = make_phase()
    user, store = make_participant(phase), services.store

    def close_and_store(*what: Any, **more: Any) -> Any:
        type(phase).objects.filter(pk=phase.pk).update(end=timezone.now())
        return store(*what, **more)

    monkeypatch.setattr(services, "store", close_and_store)
    with pytest.raises(PhaseNotOpen, match="is over"):
        send(phase, user)
    assert not Submission.objects.exists()


REFUSALS: dict[str, tuple[dict[str, Any], str, int]] = {
    "a stranger": ({"state": None}, "not_participating", 403),
    "one who waits": ({"state": "pending"}, "not_participating", 403),
    "one who was denied": ({"state": "denied"}, "not_participating", 403),
    "before the start": ({"start": timedelta(days=1)}, "phase_not_open", 409),
    "after the end": ({"end": timedelta(seconds=-1)}, "phase_not_open", 409),
    "too large": ({"limit": 10}, "too_large", 413),
    "empty": ({"content": b""}, "invalid_upload", 400),
    "all of today": ({"used": 1, "max_submissions_per_day": 1}, "quota_used", 429),
    "all of the phase": ({"used": 1, "max_submissions": 1}, "quota_used", 429),
    "all failed starts": (
        {"used": 1, "counts_as": "failed_start", "max_failed_starts_per_day": 1},
        "quota_used",
        429,
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_says_why_and_leaves_nothing(
    case: str, make_phase: Any, make_user: Any, make_submission: Any, send: Any, settings: Any
) -> None:
    how, code, status = REFUSALS[case]
    now = timezone.now()
    fields = {key: value for key, value in how.items() if key.startswith("max_")}
    fields |= {key: now + how[key] for key in ("start", "end") if key in how}
    phase, user = make_phase(**fields), make_user()
    state = how.get("state", "approved")
    if state:
        Participation.objects.create(competition=phase.competition, user=user, state=state, terms_accepted_at=now)
    for _ in range(how.get("used", 0)):
        make_submission(phase, user, counts_as=how.get("counts_as", "attempt"))
    settings.MAX_BUNDLE_BYTES = how.get("limit", settings.MAX_BUNDLE_BYTES)
    before = (Submission.objects.count(), Artifact.objects.count(), Event.objects.count())
    with pytest.raises(DomainError) as caught:
        send(phase, user, how.get("content"))
    assert (caught.value.code, caught.value.status) == (code, status)
    assert caught.value.message.endswith((".", "UTC."))
    assert (Submission.objects.count(), Artifact.objects.count(), Event.objects.count()) == before


def test_a_refusal_for_today_says_when_the_next_is_allowed(make_phase: Any, make_participant: Any, send: Any) -> None:
    phase = make_phase(max_submissions_per_day=1)
    user = make_participant(phase)
    send(phase, user)
    with pytest.raises(QuotaUsed, match=r"The next is allowed at \d{4}-\d\d-\d\d 00:00:00 UTC") as caught:
        send(phase, user)
    assert caught.value.retry_after is not None
    assert 0 < caught.value.retry_after <= 86400


def _race(phase: Any, users: list[User], send: Any) -> list[str]:
    """Send at the same moment; what became of each."""
    barrier = threading.Barrier(len(users))
    results: list[str] = []

    def run(user: User) -> None:
        try:
            barrier.wait()
            send(phase, user)
            results.append("taken")
        except DomainError as refusal:
            results.append(refusal.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[user]) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(results)


@pytest.fixture
def slow_count(monkeypatch: Any, request: pytest.FixtureRequest) -> threading.Barrier:
    """Makes both uploads count before either is written, as far as the lock lets them.

    Its parameter is for how many seconds one waits for the other: not for long where the lock keeps that one away.
    """
    from gauntlet.submissions import services

    together = threading.Barrier(2)
    count = services.check_allowance
    calls = threading.local()

    def counted(*args: Any, **kwargs: Any) -> None:
        count(*args, **kwargs)
        calls.number = getattr(calls, "number", 0) + 1
        if calls.number == 2:  # the count under the lock; the first is the early one
            with suppress(threading.BrokenBarrierError):  # the lock keeps the other one away
                together.wait(timeout=request.param)

    monkeypatch.setattr(services, "check_allowance", counted)
    return together


@pytest.mark.parametrize("slow_count", [1], indirect=True)
@pytest.mark.django_db(transaction=True)
def test_of_two_uploads_for_the_last_attempt_one_is_taken(
    make_phase: Any, make_participant: Any, send: Any, slow_count: threading.Barrier
) -> None:
    phase = make_phase(max_submissions_per_day=1)
    user = make_participant(phase)
    assert _race(phase, [user, user], send) == ["quota_used", "taken"]
    assert Submission.objects.count() == 1


@pytest.mark.parametrize("slow_count", [1], indirect=True)
@pytest.mark.django_db(transaction=True)
def test_of_two_members_uploads_for_their_teams_last_attempt_one_is_taken(
    make_phase: Any, make_participant: Any, send: Any, slow_count: threading.Barrier
) -> None:
    from gauntlet.submissions.teams import create_team, join_team

    phase = make_phase(max_submissions_per_day=1)
    competition = phase.competition
    competition.max_team_size = 2
    competition.save()
    captain, member = make_participant(phase), make_participant(phase)
    join_team(competition, user=member, code=create_team(competition, captain=captain, name="Two").code)
    assert _race(phase, [captain, member], send) == ["quota_used", "taken"]


@pytest.mark.parametrize("slow_count", [30], indirect=True)
@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_both_are_taken(
    make_phase: Any, make_participant: Any, send: Any, slow_count: threading.Barrier, monkeypatch: Any
) -> None:
    """Shows that the test above would notice a missing lock."""
    monkeypatch.setattr(QuerySet, "select_for_update", lambda self, *args, **kwargs: self)
    phase = make_phase(max_submissions_per_day=1)
    user = make_participant(phase)
    assert _race(phase, [user, user], send) == ["taken", "taken"]


@pytest.mark.parametrize("slow_count", [30], indirect=True)
@pytest.mark.django_db(transaction=True)
def test_two_participants_do_not_wait_for_each_other(
    make_phase: Any, make_participant: Any, send: Any, slow_count: threading.Barrier
) -> None:
    phase = make_phase(max_submissions_per_day=1)
    assert _race(phase, [make_participant(phase), make_participant(phase)], send) == ["taken", "taken"]
    assert not slow_count.broken


@pytest.mark.django_db(transaction=True)
def test_who_is_denied_during_the_upload_is_refused(
    make_phase: Any, make_participant: Callable[..., User], send: Any, monkeypatch: Any
) -> None:
    from gauntlet.submissions import services

    phase = make_phase()
    user = make_participant(phase)
    store = services.store

    def deny_then_store(*args: Any, **kwargs: Any) -> Any:
        decide_participations([Participation.objects.get(user=user)], approve=False, actor=phase.competition.organizer)
        return store(*args, **kwargs)

    monkeypatch.setattr(services, "store", deny_then_store)
    with pytest.raises(DomainError) as caught:
        send(phase, user)
    assert caught.value.code == "not_participating"
    assert not Submission.objects.exists()
