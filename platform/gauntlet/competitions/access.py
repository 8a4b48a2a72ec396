"""Competitions and phases are reached only through these; each refusal is a line of its own."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from gauntlet.accounts.errors import NotSignedIn
from gauntlet.accounts.models import User
from gauntlet.competitions.errors import (
    CompetitionNotFound,
    NotOrganizer,
    NotParticipating,
    PhaseNotFound,
    TeamNotFound,
)
from gauntlet.competitions.models import Competition, Participation, ParticipationState, Phase, Team

Person = User | AnonymousUser

_WHY_NOT = {
    ParticipationState.PENDING.value: "Your participation waits for the organizer's approval.",
    ParticipationState.DENIED.value: "The organizer denied your participation.",
}


def is_organizer(user: Person, competition: Competition) -> bool:
    """Whether a person organizes a competition: its organizer, a collaborator, or an operator."""
    if not isinstance(user, User) or not user.is_active:
        return False
    if user.is_superuser or competition.organizer_id == user.pk:
        return True
    return competition.collaborators.filter(pk=user.pk).exists()


def must_organize(user: Person, competition: Competition) -> None:
    """Refuse whoever does not organize a competition.

    Raises:
        NotOrganizer
    """
    if not is_organizer(user, competition):
        raise NotOrganizer("Only the organizer and collaborators may do this.")


def access_competition_as_visitor(user: Person, slug: str) -> Competition:
    """A published competition, or one that the user organizes.

    Raises:
        CompetitionNotFound
    """
    competition = Competition.objects.filter(slug=slug).select_related("organizer").first()
    if competition is None:
        raise CompetitionNotFound("There is no such competition.")
    if not competition.published and not is_organizer(user, competition):
        raise CompetitionNotFound("There is no such competition.")
    return competition


def access_competition_as_participant(user: Person, slug: str) -> tuple[Competition, Participation]:
    """A competition in which the user's participation is approved.

    Raises:
        CompetitionNotFound, NotSignedIn, NotParticipating
    """
    competition = access_competition_as_visitor(user, slug)
    if not isinstance(user, User):
        raise NotSignedIn("Log in first.")
    return competition, approved_participation(user, competition)


def approved_participation(user: User, competition: Competition) -> Participation:
    """The user's participation, which must be approved.

    Raises:
        NotParticipating
    """
    participation = Participation.objects.filter(competition=competition, user=user).first()
    if participation is None:
        raise NotParticipating("Join the competition first: open its page and accept the terms.")
    if participation.state != ParticipationState.APPROVED:
        raise NotParticipating(_WHY_NOT[participation.state])
    return participation


def access_competition_as_organizer(user: Person, slug: str) -> Competition:
    """A competition that the user organizes.

    Raises:
        CompetitionNotFound, NotSignedIn, NotOrganizer
    """
    competition = access_competition_as_visitor(user, slug)
    if not isinstance(user, User):
        raise NotSignedIn("Log in first.")
    if not is_organizer(user, competition):
        raise NotOrganizer("Only the organizer and collaborators may do this.")
    return competition


def access_phase(competition: Competition, index: int) -> Phase:
    """A phase of a competition that was already accessed.

    Raises:
        PhaseNotFound
    """
    phase = competition.phases.filter(index=index).first()
    if phase is None:
        raise PhaseNotFound("The competition has no such phase.")
    phase.competition = competition
    return phase


def access_team_as_organizer(user: Person, slug: str, team_id: int) -> Team:
    """A team of a competition that the user organizes.

    Raises:
        CompetitionNotFound, NotSignedIn, NotOrganizer, TeamNotFound
    """
    competition = access_competition_as_organizer(user, slug)
    team = competition.teams.filter(pk=team_id).select_related("captain", "competition").first()
    if team is None:
        raise TeamNotFound.any_more()
    return team


def access_participation_as_organizer(user: Person, slug: str, participation_id: int) -> Participation:
    """A participation in a competition that the user organizes.

    Raises:
        CompetitionNotFound, NotSignedIn, NotOrganizer, NotParticipating
    """
    competition = access_competition_as_organizer(user, slug)
    participation = competition.participations.filter(pk=participation_id).select_related("user").first()
    if participation is None:
        raise NotParticipating("There is no such participation.")
    return participation


def access_participation_by_name(user: Person, slug: str, username: str) -> Participation:
    """The participation of a named person in a competition that the user organizes.

    Raises:
        CompetitionNotFound, NotSignedIn, NotOrganizer, NotParticipating
    """
    competition = access_competition_as_organizer(user, slug)
    people = competition.participations.select_related("user", "team", "competition")
    participation = people.filter(user__username=username).first()
    if participation is None:
        raise NotParticipating(
            f"“{username}” does not take part in this competition. Write the name as it stands here."
        )
    return participation
