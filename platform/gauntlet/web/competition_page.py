"""What every page of a competition shows: its head, its tabs, and where the reader stands with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from gauntlet.competitions.access import access_competition_as_visitor, is_organizer
from gauntlet.competitions.errors import PhaseNotFound
from gauntlet.competitions.models import Competition, Phase
from gauntlet.competitions.selectors import competition_detail, current_phase, phase_state
from gauntlet.web.queue_page import owners_of, runs_on


@dataclass(frozen=True, kw_only=True)
class PhaseLine:
    """A phase and where it is in time."""

    phase: Phase
    state: str  # a PhaseState
    runs_on: str  # whose workers, in a sentence

    @property
    def mark(self) -> str:
        """Its look on the line of phases."""
        return {"future": "", "open": "now", "closed": "past"}[self.state]

    @property
    def models(self) -> str:
        """Its language models, in a sentence or two; nothing where it offers none."""
        return _models(self.phase.llm) if self.phase.llm else ""


def _models(llm: dict[str, Any]) -> str:
    """The language models of a phase, and what an agent may use of them."""
    budgets = [
        f"{' and '.join(_limits(llm[key]))} for {whose}"
        for key, whose in (
            ("per_episode", "an episode"),
            ("per_evaluation", "a whole run"),
            ("per_submission", "all tasks of a submission"),
        )
        if llm.get(key)
    ]
    pace = (("rate", "calls in a minute"), ("concurrency", "calls at once"))
    budgets += [f"{llm[key]:,} {what}" for key, what in pace if llm.get(key)]
    embedding = f"; for embeddings {', '.join(llm['embeddings'])}" if llm.get("embeddings") else ""
    return f"Language models: {', '.join(llm['models'])}{embedding}. At most {'; '.join(budgets)}."


def _limits(budget: dict[str, Any]) -> list[str]:
    tokens = [f"{budget['tokens']:,} tokens"] if "tokens" in budget else []
    return tokens + ([f"a cost of {budget['cost']}"] if "cost" in budget else [])


@dataclass(frozen=True, kw_only=True)
class CompetitionPage:
    """The competition, and the reader before it."""

    competition: Competition
    phases: Sequence[PhaseLine]
    phase: Phase | None
    participation: str  # a ParticipationState, or nothing
    participants: int
    is_organizer: bool
    now: datetime

    def phase_at(self, index: int) -> Phase:
        """The phase of this index.

        Raises:
            PhaseNotFound
        """
        for line in self.phases:
            if line.phase.index == index:
                return line.phase
        raise PhaseNotFound("The competition has no such phase.")

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
            "participants": self.participants,
            "is_organizer": self.is_organizer,
            **more,
        }


def open_page(request: HttpRequest, slug: str) -> CompetitionPage:
    """The competition at this address, for whoever may read it.

    Raises:
        CompetitionNotFound: there is none, or it is a draft of somebody else.
    """
    now = timezone.now()
    competition = access_competition_as_visitor(request.user, slug)
    detail = competition_detail(competition, user=request.user)
    owners = owners_of(detail.phases)
    return CompetitionPage(
        competition=competition,
        phases=[
            PhaseLine(phase=phase, state=phase_state(phase, now), runs_on=runs_on(owners.get(phase.queue, "")))
            for phase in detail.phases
        ],
        phase=current_phase(detail.phases, now),
        participation=detail.participation or "",
        participants=detail.participants,
        is_organizer=is_organizer(request.user, competition),
        now=now,
    )
