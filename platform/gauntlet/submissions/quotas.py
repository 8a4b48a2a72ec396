"""How many submissions a participant has left, and when the next is allowed.

A day is a day of the competition's own time zone. What was given back counts as nothing; a submission whose agent
could not start, or whose bundle was rejected, counts against a separate debugging quota. What failed by the platform's
own fault is given back however often that happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.db.models import Count, Q
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Phase
from gauntlet.submissions.models import Submission
from gauntlet.submissions.teams import counting_in_quota
from gauntlet_scoring.failures import Owner

#: An agent can make a competition's own programs fail, and gets its attempt back each time. Not for ever.
GIVEN_BACK_PER_DAY: Final = 20


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What is left of a phase's quotas. None is "no limit" for a number, "not in this phase" for the next time."""

    phase: Phase
    per_day: int | None
    left_today: int | None
    total: int | None
    left_total: int | None
    failed_starts_per_day: int | None
    failed_starts_left_today: int | None
    next_allowed_at: datetime | None  # None also where one is allowed now
    allowed: bool  # now
    reason: str  # why not, as a sentence; empty where allowed


def allowance(*, phase: Phase, participant: User, now: datetime | None = None) -> Allowance:
    """What a participant has left in a phase; one query."""
    return allowances([phase], participant=participant, now=now)[0]


def allowances(phases: Sequence[Phase], *, participant: User, now: datetime | None = None) -> list[Allowance]:
    """What a participant, or their team, has left in each phase of one competition; one query whatever their number."""
    if not phases:
        return []
    now = now or timezone.now()
    zone = ZoneInfo(phases[0].competition.time_zone)
    today, tomorrow = day_of(now, zone)
    rows = (
        Submission.objects.filter(pk__in=counting_in_quota(participant, phases[0].competition), phase__in=phases)
        .order_by()
        .values_list("phase")
        .annotate(
            in_all=Count("pk", filter=Q(counts_as="attempt")),
            today=Count("pk", filter=Q(counts_as="attempt", created_at__gte=today)),
            failed=Count("pk", filter=Q(counts_as="failed_start", created_at__gte=today)),
            given_back=Count("pk", filter=Q(given_back_for=Owner.ORGANIZER, created_at__gte=today)),
        )
    )
    used = {row[0]: row[1:] for row in rows}
    return [_allowance(phase, used.get(phase.pk, (0, 0, 0, 0)), now=now, tomorrow=tomorrow) for phase in phases]


def day_of(now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The first instants of the zone's day that ``now`` is in, and of the one after it, in UTC.

    Where the clocks skip midnight the day begins when they have been changed; where it comes twice, with the first.
    """
    day = now.astimezone(zone).date()
    start, end = (
        datetime.combine(date, time(0), tzinfo=zone).astimezone(UTC) for date in (day, day + timedelta(days=1))
    )
    return start, end


def _allowance(phase: Phase, used: Sequence[int], *, now: datetime, tomorrow: datetime) -> Allowance:
    in_all, today, failed, given_back = used
    left_today = _left(phase.max_submissions_per_day, today)
    left_total = _left(phase.max_submissions, in_all)
    failed_left = _left(phase.max_failed_starts_per_day, failed)
    reason, next_at = "", None
    if phase.end is not None and now >= phase.end:
        reason = "The phase is over."
    elif left_total == 0:
        reason = _used(phase.max_submissions, "this phase")
    elif now < phase.start:
        reason, next_at = "The phase has not begun.", phase.start
    elif left_today == 0:
        reason, next_at = _used(phase.max_submissions_per_day, "today"), tomorrow
    elif failed_left == 0:
        reason = f"{phase.max_failed_starts_per_day} submissions of today could not be started, and more are not taken."
        next_at = tomorrow
    elif given_back >= GIVEN_BACK_PER_DAY:
        reason = f"{given_back} submissions of today made the competition's own programs fail and were given back. "
        reason += "Look at why, or ask the organizer."
        next_at = tomorrow
    if next_at is not None and phase.end is not None and next_at >= phase.end:
        next_at = None
    return Allowance(
        phase=phase,
        per_day=phase.max_submissions_per_day,
        left_today=left_today,
        total=phase.max_submissions,
        left_total=left_total,
        failed_starts_per_day=phase.max_failed_starts_per_day,
        failed_starts_left_today=failed_left,
        next_allowed_at=next_at,
        allowed=not reason,
        reason=reason,
    )


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


def _used(most: int | None, span: str) -> str:
    return f"The one submission of {span} is used." if most == 1 else f"All {most} submissions of {span} are used."
