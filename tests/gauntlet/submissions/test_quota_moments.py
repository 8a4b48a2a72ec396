"""Quotas at the moments at which something changes: midnights of all kinds, a phase's end, what is given back late."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.api_errors import DomainError
from gauntlet.competitions.models import Competition, Participation, Team
from gauntlet.evaluation.team_changes import appoint_captain, dissolve_team, merge_teams, move_person
from gauntlet.submissions import services
from gauntlet.submissions.errors import PhaseNotOpen, QuotaUsed
from gauntlet.submissions.models import IdempotencyKey, Submission
from gauntlet.submissions.once import Once
from gauntlet.submissions.quotas import GIVEN_BACK_PER_DAY, Allowance, allowance
from gauntlet.submissions.services import count_as_failed_start, refund
from gauntlet.submissions.teams import create_team, join_team
from gauntlet_scoring.failures import Owner

pytestmark = pytest.mark.django_db

INSTANT = timedelta(microseconds=1)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)

#: Midnights, and how long the day is that begins with them.
MIDNIGHTS = {
    "UTC": ("2026-06-02T00:00:00", 24),
    "Asia/Kathmandu": ("2026-06-01T18:15:00", 24),
    "Europe/Belgrade": ("2026-03-28T23:00:00", 23),  # forward in the night
    "Africa/Cairo": ("2024-04-25T22:00:00", 23),  # midnight itself is skipped
    "America/Havana": ("2026-11-01T04:00:00", 25),  # midnight comes twice: the first counts
    "Pacific/Apia": ("2011-12-30T10:00:00", 24),  # before it, a day that does not exist
}


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """Let it be a moment."""

    def be(moment: datetime) -> None:
        monkeypatch.setattr(timezone, "now", lambda: moment)

    return be


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    """With one attempt a day, open since before any of the midnights."""
    return make_phase(max_submissions_per_day=1, max_submissions=10, start=datetime(2000, 1, 1, tzinfo=UTC))


@pytest.fixture
def user(phase: Any, make_participant: Callable[[Any], User]) -> User:
    return make_participant(phase)


def left(phase: Any, user: User) -> Allowance:
    return allowance(phase=phase, participant=user)


@pytest.mark.parametrize("zone", MIDNIGHTS)
def test_one_is_taken_just_before_midnight_and_one_at_it(
    zone: str, phase: Any, user: User, send: Any, at: Callable[[datetime], None]
) -> None:
    Competition.objects.update(time_zone=zone)
    phase.competition.refresh_from_db()
    text, hours = MIDNIGHTS[zone]
    midnight = datetime.fromisoformat(text).replace(tzinfo=UTC)
    following = midnight + timedelta(hours=hours)

    at(midnight - INSTANT)
    send(phase, user)
    with pytest.raises(QuotaUsed) as caught:
        send(phase, user)
    assert left(phase, user).next_allowed_at == midnight
    assert caught.value.retry_after == INSTANT.total_seconds()
    assert f"{midnight:%Y-%m-%d %H:%M:%S} UTC" in caught.value.message

    at(midnight)
    send(phase, user)
    for moment in (midnight, midnight + timedelta(hours=1), following - INSTANT):  # also as the hour comes again
        at(moment)
        with pytest.raises(QuotaUsed):
            send(phase, user)
        assert left(phase, user).next_allowed_at == following
    at(following)
    send(phase, user)
    assert Submission.objects.count() == 3


def test_up_to_its_end_a_phase_takes_and_from_it_on_nothing(
    phase: Any, user: User, make_participant: Any, send: Any, at: Callable[[datetime], None]
) -> None:
    phase.end = NOON
    phase.save()
    other = make_participant(phase)
    at(NOON - INSTANT)
    submission = send(phase, user)
    assert left(phase, user).next_allowed_at is None  # tomorrow it is over
    at(NOON)
    with pytest.raises(PhaseNotOpen, match=r"^The phase is over\.$") as caught:
        send(phase, other)
    assert caught.value.retry_after is None
    assert refund(submission, fault_of=Owner.PLATFORM)  # which comes too late to be used
    with pytest.raises(PhaseNotOpen):
        send(phase, user)
    assert (left(phase, user).left_today, left(phase, user).allowed) == (1, False)


def test_what_is_given_back_on_the_next_day_gives_the_day_back_on_which_it_was_sent(
    phase: Any, user: User, send: Any, at: Callable[[datetime], None]
) -> None:
    at(NOON)
    first = send(phase, user)
    at(NOON + DAY)
    send(phase, user)
    assert refund(first, fault_of=Owner.PLATFORM)
    now = left(phase, user)
    assert (now.left_today, now.left_total, now.allowed) == (0, 9, False)  # today's own is used
    at(NOON)
    assert left(phase, user).left_total == 9
    at(NOON + 2 * DAY)
    assert (left(phase, user).left_today, left(phase, user).left_total) == (1, 9)


def test_a_failed_start_that_is_noticed_on_the_next_day_uses_up_the_day_on_which_it_was_sent(
    phase: Any, user: User, send: Any, at: Callable[[datetime], None]
) -> None:
    at(NOON)
    first = send(phase, user)
    at(NOON + DAY)
    assert count_as_failed_start(first)
    now = left(phase, user)
    assert (now.left_today, now.left_total, now.failed_starts_left_today) == (1, 10, 10)


def test_what_is_given_back_again_and_again_counts_for_the_day_on_which_it_was_sent(
    phase: Any, user: User, send: Any, at: Callable[[datetime], None]
) -> None:
    at(NOON)
    for _ in range(GIVEN_BACK_PER_DAY):
        refund(send(phase, user), fault_of=Owner.ORGANIZER)
    with pytest.raises(QuotaUsed, match="Look at why"):
        send(phase, user)
    at(NOON + DAY)
    late = send(phase, user)
    at(NOON + 2 * DAY)
    assert refund(late, fault_of=Owner.ORGANIZER)
    assert left(phase, user).allowed


# Teams


@pytest.fixture
def team(phase: Any, make_participant: Any) -> Team:
    """Of two, in a competition whose teams may have four."""
    Competition.objects.update(max_team_size=4)
    phase.competition.refresh_from_db()
    captain, member = make_participant(phase), make_participant(phase)
    made = create_team(phase.competition, captain=captain, name="Pumps")
    join_team(phase.competition, user=member, code=made.code)
    return made


def people(team: Team) -> list[User]:
    return list(User.objects.filter(participations__team=team).order_by("pk"))


def _appoint(team: Team, member: User) -> None:
    appoint_captain(team, username=member.username, actor=team.competition.organizer)


def _move_out(team: Team, member: User) -> None:
    one = Participation.objects.get(user=member, competition=team.competition)
    move_person(one, to=None, actor=team.competition.organizer)


def _dissolve(team: Team, _: User) -> None:
    dissolve_team(team, actor=team.competition.organizer)


def _merge(team: Team, _: User) -> None:
    merge_teams(team, into=team.competition.teams.get(name="Fans"), actor=team.competition.organizer)


CHANGES = {"another captain": _appoint, "the sender leaves": _move_out, "no team": _dissolve, "two are one": _merge}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_given_back_after_the_team_has_changed_is_given_back_to_everybody_it_counted_for(
    change: str, phase: Any, team: Team, make_participant: Any, send: Any, at: Callable[[datetime], None]
) -> None:
    create_team(phase.competition, captain=make_participant(phase), name="Fans")
    both = people(team)
    captain, member = both
    at(NOON)
    submission = send(phase, member)
    assert submission.participant == captain
    CHANGES[change](team, member)
    assert [left(phase, one).left_today for one in both] == [0, 0]
    for one in both:
        with pytest.raises(QuotaUsed):
            send(phase, one)
    submission.refresh_from_db()
    assert refund(submission, fault_of=Owner.PLATFORM)
    assert [left(phase, one).left_today for one in both] == [1, 1]
    send(phase, both[0])


@pytest.mark.django_db(transaction=True)
def test_of_many_uploads_of_a_teams_members_at_once_as_many_are_taken_as_are_left(
    phase: Any, team: Team, agent_zip: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    type(phase).objects.filter(pk=phase.pk).update(max_submissions_per_day=3)
    phase.refresh_from_db()
    senders = people(team) * 3
    together, store = threading.Barrier(len(senders)), services.store

    def store_together(*what: Any, **more: Any) -> Any:
        together.wait(60)
        return store(*what, **more)

    monkeypatch.setattr(services, "store", store_together)
    told: list[str] = []

    def send(number: int) -> None:
        upload = ContentFile(agent_zip(more=str(number)))
        try:
            services.receive(phase=phase, participant=senders[number], upload=upload, file_name="a.zip")
            told.append("taken")
        except DomainError as refusal:
            told.append(refusal.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=[number]) for number in range(len(senders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["quota_used"] * 3 + ["taken"] * 3
    assert Submission.objects.count() == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("files", "code"), [(1, ""), (2, "key_used")])
def test_of_requests_with_one_key_at_once_one_file_is_taken(
    files: int, code: str, phase: Any, user: User, agent_zip: Any, monkeypatch: pytest.MonkeyPatch, at_once: Any
) -> None:
    type(phase).objects.filter(pk=phase.pk).update(max_submissions_per_day=9)
    phase.refresh_from_db()
    count, store = 4, services.store
    together = threading.Barrier(count)
    wanted = [agent_zip(more=str(number % files)) for number in range(count)]

    def store_together(*what: Any, **more: Any) -> Any:
        together.wait(60)
        return store(*what, **more)

    monkeypatch.setattr(services, "store", store_together)

    def send() -> str:
        upload = ContentFile(wanted.pop())
        try:
            made = services.receive(
                phase=phase, participant=user, upload=upload, file_name="a.zip", once=Once("the key")
            )
        except DomainError as refusal:
            return refusal.code
        return str(made.pk)

    told = at_once(count, send)
    submission = Submission.objects.get()
    assert told.count(str(submission.pk)) == count // files
    assert told.count(code) == count - count // files
    assert IdempotencyKey.objects.get().submission == submission
