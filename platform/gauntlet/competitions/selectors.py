"""Reads of the competitions app that pages and the API share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import Prefetch, Q, QuerySet

from gauntlet.accounts.models import User
from gauntlet.competitions.access import Person
from gauntlet.competitions.models import Competition, Participation, ParticipationState, Phase


class PhaseState(StrEnum):
    """Where a phase is in time."""

    FUTURE = "future"
    OPEN = "open"
    CLOSED = "closed"


def phase_state(phase: Phase, now: datetime) -> PhaseState:
    """A phase is open from its start until just before its end."""
    if now < phase.start:
        return PhaseState.FUTURE
    return PhaseState.CLOSED if phase.end is not None and now >= phase.end else PhaseState.OPEN


def current_phase(phases: Sequence[Phase], now: datetime) -> Phase | None:
    """The phase that a visitor is told about: the latest that is open, else the next, else the last."""
    by_state: dict[PhaseState, list[Phase]] = {state: [] for state in PhaseState}
    for phase in phases:
        by_state[phase_state(phase, now)].append(phase)
    for candidates in (by_state[PhaseState.OPEN][-1:], by_state[PhaseState.FUTURE][:1], by_state[PhaseState.CLOSED]):
        if candidates:
            return candidates[-1]
    return None


def visible_competitions(user: Person) -> QuerySet[Competition]:
    """The published competitions and those that the user organizes, newest first, with phases and organizer.

    Three queries whatever their number.
    """
    shown = Q(published=True)
    if isinstance(user, User):
        shown |= Q(organizer=user) | Q(pk__in=user.collaborates_on.values("pk"))
    if isinstance(user, User) and user.is_superuser:
        shown = Q()
    return (
        Competition.objects.filter(shown)
        .select_related("organizer")
        .prefetch_related(Prefetch("phases", Phase.objects.order_by("index")))
    )


@dataclass(frozen=True, kw_only=True)
class CompetitionDetail:
    """A competition as its page shows it to one reader."""

    competition: Competition
    phases: Sequence[Phase]
    participation: ParticipationState | None
    participants: int


def competition_detail(competition: Competition, *, user: Person) -> CompetitionDetail:
    """A competition that was accessed, with its phases and where the user stands; three queries."""
    state = None
    if isinstance(user, User):
        state = Participation.objects.filter(competition=competition, user=user).values_list("state", flat=True).first()
    phases = list(competition.phases.all())
    for phase in phases:
        phase.competition = competition  # saves a query for each phase's time zone
    return CompetitionDetail(
        competition=competition,
        phases=phases,
        participation=ParticipationState(state) if state else None,
        participants=competition.participations.filter(state=ParticipationState.APPROVED).count(),
    )
