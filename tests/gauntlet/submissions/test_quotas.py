"""What a participant has left, and when the next submission is allowed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from gauntlet.accounts.models import Event, User
from gauntlet.submissions.models import Submission
from gauntlet.submissions.quotas import GIVEN_BACK_PER_DAY, allowance, allowances
from gauntlet.submissions.services import count_as_failed_start, refund
from gauntlet_scoring.failures import Owner

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
TOMORROW = datetime(2026, 6, 2, tzinfo=UTC)


@pytest.fixture
def sent(make_submission: Any) -> Callable[..., Submission]:
    """A submission that was sent at a moment."""

    def make(phase: Any, user: User, at: datetime = NOON, **fields: Any) -> Submission:
        submission: Submission = make_submission(phase, user, **fields)
        Submission.objects.filter(pk=submission.pk).update(created_at=at)
        return submission

    return make


def test_nothing_used(make_phase: Any, make_user: Callable[..., User]) -> None:
    left = allowance(phase=make_phase(max_submissions_per_day=3, max_submissions=9), participant=make_user(), now=NOON)
    assert (left.per_day, left.left_today, left.total, left.left_total) == (3, 3, 9, 9)
    assert (left.allowed, left.reason, left.next_allowed_at) == (True, "", None)


def test_no_limit(make_phase: Any, make_user: Callable[..., User], sent: Any) -> None:
    phase = make_phase(max_submissions_per_day=None, max_submissions=None, max_failed_starts_per_day=None)
    user = make_user()
    for counts_as in ("attempt", "failed_start"):
        sent(phase, user, counts_as=counts_as)
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.left_today, left.left_total, left.failed_starts_left_today, left.allowed) == (None, None, None, True)


def test_today_is_used_and_the_next_is_allowed_at_midnight(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions_per_day=2), make_user()
    sent(phase, user, NOON - timedelta(hours=13))  # yesterday's does not count
    sent(phase, user)
    assert allowance(phase=phase, participant=user, now=NOON).left_today == 1
    sent(phase, user)
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.left_today, left.allowed, left.next_allowed_at) == (0, False, TOMORROW)
    assert "today" in left.reason
    assert allowance(phase=phase, participant=user, now=TOMORROW).left_today == 2


def test_the_day_is_the_competitions_own(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions_per_day=1), make_user()
    phase.competition.time_zone = "Pacific/Auckland"  # noon UTC is midnight there
    sent(phase, user, NOON - timedelta(seconds=1))
    before = allowance(phase=phase, participant=user, now=NOON - timedelta(seconds=1))
    assert (before.left_today, before.next_allowed_at) == (0, NOON)
    assert allowance(phase=phase, participant=user, now=NOON).left_today == 1


def test_all_are_used_and_there_is_no_next(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions=1), make_user()
    sent(phase, user, NOON - timedelta(days=9))
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.left_total, left.allowed, left.next_allowed_at) == (0, False, None)
    assert left.reason == "The one submission of this phase is used."


def test_there_is_no_next_where_the_phase_ends_before(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions_per_day=1, end=TOMORROW), make_user()
    sent(phase, user)
    assert allowance(phase=phase, participant=user, now=NOON).next_allowed_at is None


def test_a_phase_to_come_and_one_that_is_over(make_phase: Any, make_user: Any) -> None:
    phase, user = make_phase(start=NOON, end=TOMORROW), make_user()
    before = allowance(phase=phase, participant=user, now=NOON - timedelta(seconds=1))
    assert (before.allowed, before.next_allowed_at) == (False, NOON)
    assert allowance(phase=phase, participant=user, now=NOON).allowed
    after = allowance(phase=phase, participant=user, now=TOMORROW)
    assert (after.allowed, after.next_allowed_at) == (False, None)


def test_failed_starts_use_a_quota_of_their_own(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions_per_day=1, max_failed_starts_per_day=2), make_user()
    sent(phase, user, counts_as="failed_start")
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.left_today, left.failed_starts_left_today, left.allowed) == (1, 1, True)
    sent(phase, user, counts_as="failed_start")
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.left_today, left.failed_starts_left_today) == (1, 0)
    assert (left.allowed, left.next_allowed_at) == (False, TOMORROW)
    assert allowance(phase=phase, participant=user, now=TOMORROW).allowed


def test_others_and_other_phases_do_not_count(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions_per_day=1), make_user()
    sent(phase, make_user())
    sent(make_phase(competition=phase.competition), user)
    assert allowance(phase=phase, participant=user, now=NOON).left_today == 1


def test_many_phases_take_one_query(make_phase: Any, make_user: Any, django_assert_num_queries: Any) -> None:
    phase, user = make_phase(), make_user()
    phases = [phase, *(make_phase(competition=phase.competition) for _ in range(4))]
    with django_assert_num_queries(1):
        assert [one.phase for one in allowances(phases, participant=user, now=NOON)] == phases


def test_what_is_given_back_counts_as_nothing_once_and_for_all(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions_per_day=1), make_user()
    submission = sent(phase, user)
    assert refund(submission, fault_of=Owner.PLATFORM, reason="The worker died.")
    assert not refund(submission, fault_of=Owner.ORGANIZER)
    assert not count_as_failed_start(submission)
    assert allowance(phase=phase, participant=user, now=NOON).left_today == 1
    (event,) = Event.objects.filter(subject_id=str(submission.pk))
    assert (event.name, event.before, event.after) == ("submission.refunded", "attempt", "nothing")


def test_attempts_are_given_back_a_number_of_times_a_day_and_no_more(
    make_phase: Any, make_user: Any, sent: Any
) -> None:
    """An agent that makes its competition's environment fail would otherwise have attempts without end."""
    phase, user = make_phase(max_submissions_per_day=1), make_user()
    for _ in range(GIVEN_BACK_PER_DAY):
        assert allowance(phase=phase, participant=user, now=NOON).allowed
        assert refund(sent(phase, user), fault_of=Owner.ORGANIZER)
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.allowed, left.next_allowed_at, left.left_today) == (False, TOMORROW, 1)
    assert f"{GIVEN_BACK_PER_DAY} submissions of today made the competition's own programs fail" in left.reason
    assert allowance(phase=phase, participant=make_user(), now=NOON).allowed
    assert allowance(phase=phase, participant=user, now=TOMORROW).allowed


def test_what_the_platform_failed_at_is_given_back_however_often(make_phase: Any, make_user: Any, sent: Any) -> None:
    phase, user = make_phase(max_submissions_per_day=1), make_user()
    for _ in range(GIVEN_BACK_PER_DAY):
        assert refund(sent(phase, user), fault_of=Owner.PLATFORM)
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.allowed, left.left_today) == (True, 1)


@pytest.mark.parametrize("faults", list(permutations([Owner.ORGANIZER, Owner.PLATFORM])))
def test_of_two_faults_the_platforms_is_the_one_that_counts(
    faults: tuple[Owner, ...], make_phase: Any, make_user: Any, sent: Any
) -> None:
    """Of two tasks one may fail by the environment and the other by a lost worker, in either order."""
    submission = sent(make_phase(), make_user())
    assert [refund(submission, fault_of=fault) for fault in faults] == [True, False]
    submission.refresh_from_db()
    assert (submission.counts_as, submission.given_back_for) == ("nothing", Owner.PLATFORM)


def test_a_failed_start_gives_the_attempt_back_and_may_be_given_back_too(
    make_phase: Any, make_user: Any, sent: Any
) -> None:
    phase, user = make_phase(max_submissions_per_day=1), make_user()
    submission = sent(phase, user)
    assert count_as_failed_start(submission)
    assert not count_as_failed_start(submission)
    left = allowance(phase=phase, participant=user, now=NOON)
    assert (left.left_today, left.failed_starts_left_today) == (1, 9)
    assert refund(submission, fault_of=Owner.PLATFORM)
    assert allowance(phase=phase, participant=user, now=NOON).failed_starts_left_today == 10
