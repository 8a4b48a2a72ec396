"""The list of competitions: the same few queries however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, OuterRef, Q, Subquery, When
from django.utils import timezone

from gauntlet.competitions.models import Column, Competition, Participation, Phase, Sorting
from gauntlet.competitions.selectors import current_phase, phase_state, visible_competitions
from gauntlet.competitions.visibility import Audience, Part, may_see
from gauntlet.leaderboards.figures import figure
from gauntlet.leaderboards.models import ColumnValue, Entry


@dataclass(frozen=True, kw_only=True)
class Leader:
    """Who leads, with the primary score."""

    participant: str
    text: str
    column: str


@dataclass(frozen=True, kw_only=True)
class HomeRow:
    """A competition on the home page."""

    competition: Competition
    participants: int
    submissions: int
    phase: Phase | None
    phase_state: str
    leader: Leader | None
    mine: str


def home_rows(user: Any) -> list[HomeRow]:
    """The competitions that are open first, then those to come, then those that are over."""
    now = timezone.now()
    shown = list(visible_competitions(user))
    phases = {one.pk: current_phase(list(one.phases.all()), now) for one in shown}
    leaders = _leaders([phase for phase in phases.values() if phase], now)
    participants, submissions = _counts(shown)
    mine = _participations(user, shown)
    rows = [
        HomeRow(
            competition=one,
            participants=participants.get(one.pk, 0),
            submissions=submissions.get(one.pk, 0),
            phase=phases[one.pk],
            phase_state=_state(phases[one.pk], now),
            leader=leaders.get(phases[one.pk].pk) if phases[one.pk] else None,  # type: ignore[union-attr]
            mine=mine.get(one.pk, ""),
        )
        for one in shown
    ]
    order = ("open", "future", "closed", "")
    return sorted(rows, key=lambda row: order.index(row.phase_state))


def _state(phase: Phase | None, now: datetime) -> str:
    return phase_state(phase, now) if phase else ""


def _counts(competitions: Sequence[Competition]) -> tuple[dict[int, int], dict[int, int]]:
    approved = Count("participations", filter=Q(participations__state="approved"))
    counted = Competition.objects.filter(pk__in=[one.pk for one in competitions]).order_by()
    people = dict(counted.annotate(n=approved).values_list("pk", "n"))
    sent = dict(
        Phase.objects.filter(competition__in=competitions)
        .order_by()
        .values("competition")
        .annotate(n=Count("submissions"))
        .values_list("competition", "n")
    )
    return people, sent


def _participations(user: Any, competitions: Sequence[Competition]) -> dict[int, str]:
    if not user.is_authenticated:
        return {}
    mine = Participation.objects.filter(user=user, competition__in=competitions)
    return dict(mine.values_list("competition", "state"))


def _leaders(phases: Sequence[Phase], now: datetime) -> dict[int, Leader]:
    """The best unmarked entry of each phase on its competition's first board, where anybody may see scores."""
    open_to_all = [
        phase for phase in phases if may_see(Part.AGGREGATE_SCORE, phase=phase, audience=Audience.PUBLIC, now=now)
    ]
    primary = Column.objects.filter(leaderboard=OuterRef("leaderboard"), primary=True)
    value = ColumnValue.objects.filter(submission=OuterRef("submission"), column__leaderboard=OuterRef("leaderboard"))
    entries = (
        Entry.objects.filter(phase__in=open_to_all, baseline=False, leaderboard__hidden=False, leaderboard__index=0)
        .annotate(score=Subquery(value.filter(column__primary=True).values("value")[:1]))
        .annotate(sorting=Subquery(primary.values("sorting")[:1]))
        .annotate(title=Subquery(primary.values("title")[:1]))
        .annotate(precision=Subquery(primary.values("precision")[:1]))
        .filter(score__isnull=False)
        .annotate(merit=Case(When(sorting=Sorting.ASC, then=-F("score")), default=F("score")))
        .order_by("phase_id", "-merit", "submission__created_at")
        .distinct("phase_id")
        .select_related("submission__participant", "submission__team")
    )
    return {
        entry.phase_id: Leader(
            participant=entry.submission.entrant, text=figure(entry.score, entry.precision), column=entry.title
        )
        for entry in entries
    }
