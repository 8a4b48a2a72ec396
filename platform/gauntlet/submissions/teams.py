"""Teams: people who take part as one, with one quota and one row on the board.

A team's submissions belong to its captain, so quotas, turns in the queue and rows of boards need not know of teams.
Nobody has two quotas: who has submitted alone cannot join a team, and who has submitted for one cannot leave it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.db.models import Count, Prefetch, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Lower

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.access import approved_participation
from gauntlet.competitions.errors import NotParticipating, TeamNotFound
from gauntlet.competitions.models import Competition, Participation, ParticipationState, Team
from gauntlet.submissions.errors import (
    AlreadyInTeam,
    NoTeams,
    NotInTeam,
    TeamFull,
    TeamIsBound,
    TeamNameTaken,
)
from gauntlet.submissions.models import Submission


@dataclass(frozen=True, kw_only=True)
class TeamStory:
    """A team as its members see it."""

    team: Team
    members: Sequence[User]  # the captain first
    free: int  # places

    @property
    def captain(self) -> User:
        """In whose name it submits."""
        return self.team.captain


def team_of(user: User, competition: Competition) -> TeamStory | None:
    """The user's team in a competition.

    One statement reads it with its people, so that it is neither half dissolved nor between two captains.
    """
    together = Participation.objects.filter(competition=competition, team__members__user=user)
    found = list(together.select_related("user", "team__captain").order_by("created_at"))
    team = found[0].team if found else None
    if team is None:
        return None
    members = sorted((one.user for one in found), key=lambda one: one.pk != team.captain_id)
    return TeamStory(team=team, members=members, free=max(0, competition.max_team_size - len(members)))


def teams_of(competition: Competition) -> QuerySet[Team]:
    """A competition's teams by name, each with its people and ``sent``, the number of its submissions."""
    people = Participation.objects.select_related("user").order_by("created_at")
    teams = competition.teams.select_related("captain", "competition").prefetch_related(Prefetch("members", people))
    return teams.annotate(sent=Count("submissions")).order_by(Lower("name"))


def team_as_listed(team: Team) -> Team:
    """A team as `teams_of` has it now.

    Raises:
        TeamNotFound: it was merged or dissolved meanwhile.
    """
    found = teams_of(team.competition).filter(pk=team.pk).first()
    if found is None:
        raise TeamNotFound.any_more()
    return found


def held_entrant(participation: Participation) -> tuple[User, Team | None]:
    """Under whose name a person submits, and for which team: their own, or their captain's.

    Locks the participations of both, in the order of their keys, as whoever decides about several does: of two members
    for a last attempt one gets it. In a transaction only.

    Raises:
        NotParticipating: the person, or the captain, may not take part any more, or does not.
    """
    captain = Participation.objects.filter(pk=participation.pk).values_list("team__captain", flat=True).first()
    people = [participation.user_id] if captain is None else [participation.user_id, captain]
    rows = Participation.objects.select_for_update().filter(competition=participation.competition_id, user__in=people)
    held = {row.user_id: row for row in rows.order_by("pk")}
    own = held.get(participation.user_id)
    if own is None:
        raise NotParticipating("You do not take part in this competition any more. Join it again on its page.")
    # Read after the lock, and by itself: a statement that has waited for it shows a joined row as it was before.
    team = Team.objects.select_related("captain").get(pk=own.team_id) if own.team_id is not None else None
    if (team.captain_id if team else None) != captain:
        return held_entrant(own)  # joined or left meanwhile
    if team is None:
        return own.user, None
    if team.captain_id not in held or held[team.captain_id].state != ParticipationState.APPROVED:
        raise NotParticipating("The captain of your team may not take part any more, so it cannot submit.")
    return team.captain, team


def entrant_of(user: User, competition: Competition) -> Coalesce:
    """The key of the one under whose name a person's submissions count, as part of a query."""
    captain = Participation.objects.filter(competition=competition, user=user).values("team__captain")[:1]
    return Coalesce(Subquery(captain), Value(user.pk))


def counting_in_quota(user: User, competition: Competition) -> QuerySet[Submission, Any]:
    """The keys of what counts in a person's quotas: their own or their team's, and what they carry from earlier teams.

    What somebody carries is their own affair: in a team it counts where they are its captain, and not otherwise.
    """
    entrant = entrant_of(user, competition)
    own = Submission.objects.filter(phase__competition=competition, participant=entrant)
    carried = Participation.carried.through.objects.filter(
        participation__competition=competition, participation__user=entrant
    )
    return own.order_by().values("pk").union(carried.values("submission"))


def entrant_id(user: User | AnonymousUser, competition: Competition) -> int | None:
    """Whose row on the competition's boards is this reader's; None for a visitor."""
    if not isinstance(user, User):
        return None
    captain = Participation.objects.filter(competition=competition, user=user).values_list("team__captain", flat=True)
    return captain.first() or user.pk


def owns(user: User, submission: Submission) -> bool:
    """Whether a submission is the person's own, or their team's."""
    if submission.participant_id == user.pk:
        return True
    if submission.team_id is None:
        return False
    members = Participation.objects.filter(team=submission.team_id, state=ParticipationState.APPROVED)
    return members.filter(user=user).exists()


def of_person(user: User) -> Q:
    """The submissions that are a person's own, or their team's."""
    teams = Team.objects.filter(members__user=user, members__state=ParticipationState.APPROVED)
    return Q(participant=user) | Q(team__in=teams)


def create_team(competition: Competition, *, captain: User, name: str) -> Team:
    """Make a team with its captain in it; what the captain submitted before becomes the team's.

    Locks the captain's participation. Emits ``team.created``.

    Raises:
        NoTeams, NotParticipating, AlreadyInTeam, TeamNameTaken
    """
    _needs_teams(competition)
    name = usable_name(name, own=captain)
    try:
        with transaction.atomic():
            participation = _held(captain, competition)
            _needs_no_team(participation)
            team = Team.objects.create(
                competition=competition, name=name, captain=captain, code=secrets.token_urlsafe(12)
            )
            participation.team = team
            participation.save(update_fields=["team"])
            _own(captain, competition).update(team=team)
            record_event(team, "team.created", actor=captain)
    except IntegrityError as error:
        raise TeamNameTaken(f"There is a team named “{name}” already. Choose another name.") from error
    return team


def usable_name(name: str, *, own: User) -> str:
    """A team's name in one line of printable characters; of people's names only the captain's own is one.

    Raises:
        TeamNameTaken
    """
    name = " ".join("".join(c if c.isprintable() else " " for c in name).split())[:64]
    if not name:
        raise TeamNameTaken("Give the team a name.")
    if User.objects.filter(username__iexact=name).exclude(pk=own.pk).exists():
        raise TeamNameTaken(f"“{name}” is a person's name here, and boards show both. Choose another name.")
    return name


def join_team(competition: Competition, *, user: User, code: str) -> Team:
    """Join the team that the code belongs to.

    Locks the person's participation, then the team: of two for the last place one gets it. Emits ``team.joined``.

    Raises:
        NoTeams, NotParticipating, AlreadyInTeam, TeamNotFound, TeamIsBound, TeamFull
    """
    _needs_teams(competition)
    with transaction.atomic():
        participation = _held(user, competition)
        _needs_no_team(participation)
        team = Team.objects.select_for_update().filter(competition=competition, code=code.strip()).first()
        if team is None:
            raise TeamNotFound("No team has this code. Ask its captain for it again.")
        if _own(user, competition).exists():
            raise TeamIsBound("You have submitted to this competition already, so you take part alone.")
        if team.members.count() >= competition.max_team_size:
            raise TeamFull(f"The team has {competition.max_team_size} members, and no more may be in one.")
        participation.team = team
        participation.save(update_fields=["team"])
        record_event(team, "team.joined", actor=user)
    return team


def leave_team(competition: Competition, *, user: User) -> None:
    """Leave one's team; a captain who is alone in it ends it.

    Locks the person's participation, then the team. Emits ``team.left``, or ``team.ended``.

    Raises:
        NotInTeam
        TeamIsBound: the person has submitted for it, or is its captain and not alone.
    """
    with transaction.atomic():
        participation = Participation.objects.select_for_update().filter(competition=competition, user=user).first()
        if participation is None or participation.team_id is None:
            raise NotInTeam("You are in no team of this competition.")
        team = Team.objects.select_for_update().get(pk=participation.team_id)
        is_captain = team.captain_id == user.pk
        if is_captain and team.members.count() > 1:
            raise TeamIsBound("The team's submissions are in its captain's name, so a captain leaves last.")
        if Submission.objects.filter(team=team).filter(Q(sent_by=user) | Q(participant=user, sent_by=None)).exists():
            raise TeamIsBound("You have submitted for this team, so you stay in it.")
        if is_captain and team.submissions.exists():
            raise TeamIsBound("The team has submissions in your name, so you stay in it.")
        participation.team = None
        participation.save(update_fields=["team"])
        record_event(team, "team.ended" if is_captain else "team.left", actor=user)
        if is_captain:
            team.delete()


def _needs_teams(competition: Competition) -> None:
    if competition.max_team_size < 2:
        raise NoTeams("In this competition everybody takes part alone.")


def _needs_no_team(participation: Participation) -> None:
    if participation.team_id is not None:
        raise AlreadyInTeam("You are in a team of this competition already.")


def _held(user: User, competition: Competition) -> Participation:
    """The user's approved participation, locked: no submission of theirs is received meanwhile."""
    Participation.objects.select_for_update().filter(competition=competition, user=user).first()
    return approved_participation(user, competition)


def _own(user: User, competition: Competition) -> QuerySet[Submission]:
    return Submission.objects.filter(phase__competition=competition, participant=user)
