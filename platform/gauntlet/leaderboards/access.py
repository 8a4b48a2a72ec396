"""Boards are reached only through here."""

from __future__ import annotations

from django.utils import timezone

from gauntlet.competitions.access import Person, access_competition_as_visitor, access_phase, is_organizer
from gauntlet.competitions.models import Competition, Leaderboard, Phase
from gauntlet.competitions.visibility import Audience, Part, may_see
from gauntlet.leaderboards.errors import BoardNotFound, BoardNotVisible


def access_board(user: Person, *, slug: str, phase: int) -> tuple[Leaderboard, Phase]:
    """A competition's board in one of its phases, as far as this reader may see scores there.

    Raises:
        CompetitionNotFound, PhaseNotFound, BoardNotFound, BoardNotVisible
    """
    competition = access_competition_as_visitor(user, slug)
    found = access_phase(competition, phase)
    return board_for_reader(user, competition, phase=found), found


def board_for_reader(user: Person, competition: Competition, *, phase: Phase) -> Leaderboard:
    """The board of a competition and phase that were already accessed.

    Raises:
        BoardNotFound, BoardNotVisible
    """
    leaderboard = competition.leaderboards.prefetch_related("columns").order_by("index").first()
    if leaderboard is None:
        raise BoardNotFound("This competition has no leaderboard.")
    organizer = is_organizer(user, competition)
    if leaderboard.hidden and not organizer:
        raise BoardNotVisible("The organizer does not show this leaderboard.")
    audience = Audience.ORGANIZER if organizer else Audience.PUBLIC
    if not may_see(Part.AGGREGATE_SCORE, phase=phase, audience=audience, now=timezone.now()):
        raise BoardNotVisible(_until(phase))
    return leaderboard


def _until(phase: Phase) -> str:
    if phase.reveal_at is None:
        return "The scores of this phase are not shown."
    return f"The scores of this phase are shown from {phase.reveal_at:%Y-%m-%d %H:%M} UTC on."
