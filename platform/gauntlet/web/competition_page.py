"""What every page of a competition shows: its head, its tabs, and where the reader stands with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from gauntlet.competitions.access import access_competition_as_visitor, is_organizer
from gauntlet.competitions.models import Competition, Participation, Phase


@dataclass(frozen=True, kw_only=True)
class PhaseLine:
    """A phase and where it is in time."""

    phase: Phase
    state: str  # soon, open, closed

    @property
    def mark(self) -> str:
        """Its look on the line of phases."""
        return {"soon": "", "open": "now", "closed": "past"}[self.state]


def phase_state(phase: Phase, now: datetime) -> str:
    """``soon`` before its start, ``open``, ``closed`` from its end on."""
    if now < phase.start:
        return "soon"
    return "closed" if phase.end is not None and now >= phase.end else "open"


def current_phase(phases: Sequence[Phase], now: datetime) -> Phase | None:
    """The phase that a visitor is told about: the latest that is open, else the next, else the last."""
    by_state: dict[str, list[Phase]] = {"open": [], "soon": [], "closed": []}
    for phase in phases:
        by_state[phase_state(phase, now)].append(phase)
    if by_state["open"]:
        return by_state["open"][-1]
    return by_state["soon"][0] if by_state["soon"] else by_state["closed"][-1] if by_state["closed"] else None


@dataclass(frozen=True, kw_only=True)
class CompetitionPage:
    """The competition, and the reader before it."""

    competition: Competition
    phases: Sequence[PhaseLine]
    phase: Phase | None
    participation: str  # a ParticipationState, or nothing
    is_organizer: bool
    now: datetime

    def context(self, tab: str, **more: Any) -> dict[str, Any]:
        """The template's context for one of the tabs."""
        return {
            "nav": "home",
            "tab": tab,
            "competition": self.competition,
            "phases": self.phases,
            "phase": self.phase,
            "phase_state": phase_state(self.phase, self.now) if self.phase else "",
            "participation": self.participation,
            "is_organizer": self.is_organizer,
            **more,
        }


def open_page(request: HttpRequest, slug: str) -> CompetitionPage:
    """The competition at this address, for whoever may read it.

    Raises:
        CompetitionNotFound: there is none, or it is a draft of somebody else.
    """
    competition = access_competition_as_visitor(request.user, slug)
    now = timezone.now()
    phases = list(competition.phases.all())
    participation = ""
    if request.user.is_authenticated:
        found = Participation.objects.filter(competition=competition, user=request.user).values_list("state", flat=True)
        participation = found.first() or ""
    return CompetitionPage(
        competition=competition,
        phases=[PhaseLine(phase=phase, state=phase_state(phase, now)) for phase in phases],
        phase=current_phase(phases, now),
        participation=participation,
        is_organizer=is_organizer(request.user, competition),
        now=now,
    )
