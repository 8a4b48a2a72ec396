"""Who sees what of a submission's results: the one table that pages, API, exports, mails and live logs ask."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from django.utils import timezone

from gauntlet.competitions.models import Visibility


class Part(StrEnum):
    """What there is to see."""

    STATE = "state"  # and the failure code with its sentence
    AGGREGATE_SCORE = "aggregate_score"
    SCENARIO_SCORE = "scenario_score"  # under opaque ids
    SCENARIO_TEXT = "scenario_text"
    AGENT_OUTPUT = "agent_output"  # what the agent printed, also live
    TRAJECTORY = "trajectory"
    SCORER_OUTPUT = "scorer_output"
    DETAILED_RESULTS = "detailed_results"


class Audience(StrEnum):
    """Who looks."""

    OWNER = "owner"  # of the submission
    ORGANIZER = "organizer"  # of its competition, and operators
    PUBLIC = "public"


class _Phase(Protocol):
    visibility: str
    reveal_at: datetime | None


_EVERYTHING: Final = frozenset(Part)
_SCORES: Final = frozenset({Part.STATE, Part.AGGREGATE_SCORE, Part.SCENARIO_SCORE})
_BOARD: Final = frozenset({Part.AGGREGATE_SCORE})
_NOTHING: Final[frozenset[Part]] = frozenset()

TABLE: Final[dict[tuple[Visibility, Audience], frozenset[Part]]] = {
    (Visibility.FULL, Audience.OWNER): _EVERYTHING,
    (Visibility.SCORES, Audience.OWNER): _SCORES,
    (Visibility.NONE, Audience.OWNER): frozenset({Part.STATE}),
    (Visibility.FULL, Audience.ORGANIZER): _EVERYTHING,
    (Visibility.SCORES, Audience.ORGANIZER): _EVERYTHING,
    (Visibility.NONE, Audience.ORGANIZER): _EVERYTHING,
    (Visibility.FULL, Audience.PUBLIC): _BOARD,
    (Visibility.SCORES, Audience.PUBLIC): _BOARD,
    (Visibility.NONE, Audience.PUBLIC): _NOTHING,
}

# They repeat a scenario's words, so they are shown of a hidden scenario to organizers only.
_QUOTES_SCENARIO: Final = frozenset({Part.SCENARIO_TEXT, Part.TRAJECTORY, Part.SCORER_OUTPUT, Part.DETAILED_RESULTS})


def effective_visibility(phase: _Phase, *, now: datetime) -> Visibility:
    """The phase's visibility at a moment: ``none`` becomes ``scores`` at the reveal."""
    visibility = Visibility(phase.visibility)
    if visibility is Visibility.NONE and phase.reveal_at is not None and phase.reveal_at <= now:
        return Visibility.SCORES
    return visibility


def may_see(
    part: Part,
    *,
    phase: _Phase,
    audience: Audience,
    now: datetime | None = None,
    scenario_public: bool | None = None,
) -> bool:
    """Whether an audience may see a part of a submission's results in a phase.

    Args:
        part: what is to be shown.
        phase: whose ``visibility`` and ``reveal_at`` count.
        audience: who looks.
        now: the moment; the present where None.
        scenario_public: for a part that belongs to one scenario: whether that scenario is public. Leave it None for
            what belongs to no single scenario; a part that is shown scenario by scenario must give it. For detailed
            results, which are about all of a task's: whether all are public.
    """
    visibility = effective_visibility(phase, now=now or timezone.now())
    if part not in TABLE[visibility, audience]:
        return False
    return audience is Audience.ORGANIZER or scenario_public is not False or part not in _QUOTES_SCENARIO
