"""What organizers change about teams: names, captains, who is in which, one team made of two, and none of one.

What was submitted is never lost and never counts twice. A team's submissions are in its captain's name, so whoever
becomes the captain gets them; of two teams that become one, both quotas are used up as far as both were. Who leaves a
team keeps using up what it had used: splitting a team makes no attempts.

All of it holds the participations of those concerned, in the order of their keys, then the teams, then the submissions:
nobody of them submits, joins or leaves meanwhile, and no result is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from gauntlet.accounts.models import User
from gauntlet.accounts.services import record_event
from gauntlet.competitions.access import must_organize
from gauntlet.competitions.errors import NotParticipating, TeamNotFound
from gauntlet.competitions.models import Competition, Participation, ParticipationState, Team
from gauntlet.evaluation.exclusions import place_participant
from gauntlet.evaluation.models import Job
from gauntlet.leaderboards.services import remove_entries
from gauntlet.submissions.errors import NotInTeam, TeamFull, TeamIsBound, TeamNameTaken
from gauntlet.submissions.models import Submission
from gauntlet.submissions.teams import usable_name


def rename_team(team: Team, *, name: str, actor: User) -> Team:
    """Give a team another name, under which it stands on every board at once. Emits ``team.renamed``.

    Raises:
        NotOrganizer, TeamNotFound, TeamNameTaken
    """
    must_organize(actor, team.competition)
    name = usable_name(name, own=team.captain)
    try:
        with transaction.atomic():
            held = _held_teams(team)[0]
            before, held.name = held.name, name
            held.save(update_fields=["name"])
            record_event(held, "team.renamed", actor=actor, data={"before": before, "after": name})
    except IntegrityError as error:
        raise TeamNameTaken(f"There is a team named “{name}” already. Choose another name.") from error
    return held


@transaction.atomic
def appoint_captain(team: Team, *, username: str, actor: User) -> Team:
    """Make another member the captain; what the team has submitted is in their name from now on.

    Emits ``team.captain_appointed``.

    Raises:
        NotOrganizer, TeamNotFound
        NotInTeam: the person is no member.
        NotParticipating: the person may not take part.
    """
    must_organize(actor, team.competition)
    members = _held(team.competition, teams=[team])
    team = _held_teams(team)[0]
    chosen = next((one for one in members if one.user.username == username), None)
    if chosen is None or chosen.team_id != team.pk:
        raise NotInTeam(f"“{username}” is no member of the team {team.name}. Choose one of its members.")
    if chosen.state != ParticipationState.APPROVED:
        raise NotParticipating(f"{username} may not take part, so the team could not submit. Choose another member.")
    before = team.captain
    if before == chosen.user:
        return team
    team.captain = chosen.user
    team.save(update_fields=["captain"])
    _hand_over(team.competition, people=[before], to=chosen.user, team=team)
    record_event(
        team, "team.captain_appointed", actor=actor, data={"before": before.username, "after": chosen.user.username}
    )
    return team


@transaction.atomic
def move_person(participation: Participation, *, to: Team | None, actor: User) -> None:
    """Put a person into a team, or out of theirs to take part alone.

    What they sent for the team that they leave stays its own. Alone they go on using up what it had used; what they
    have sent alone becomes the new team's. Emits ``team.member_moved``.

    Raises:
        NotOrganizer, TeamNotFound, TeamFull
        NotParticipating: the person may not take part, or does not any more.
        NotInTeam: the person is to take part alone, and does so already.
        TeamIsBound: the person is the captain of the team that they would leave.
    """
    competition = participation.competition
    must_organize(actor, competition)
    _held(competition, teams=[one for one in (participation.team, to) if one], people=[participation.user_id])
    person = Participation.objects.filter(pk=participation.pk).select_related("user", "team").first()
    if person is None:
        raise NotParticipating(f"{participation.user.username} does not take part in this competition any more.")
    left = person.team
    if to is not None:
        to = _held_teams(to)[0]
    if left == to:
        raise NotInTeam(f"{person.user.username} is in that team already." if to else "The person takes part alone.")
    if left is not None and left.captain_id == person.user_id:
        raise TeamIsBound(
            f"{person.user.username} is the captain of {left.name}, in whose name it has submitted. Appoint another "
            "captain first, or merge or dissolve the team."
        )
    if to is not None:
        _needs_place(to, more=1)
        if person.state != ParticipationState.APPROVED:
            raise NotParticipating(f"{person.user.username} may not take part. Approve them first.")
    if left is None and to is not None:
        _hand_over(competition, people=[person.user], to=to.captain, team=to)
    elif left is not None:
        _carry(left, [person])
    person.team = to
    person.save(update_fields=["team"])
    record_event(
        person,
        "team.member_moved",
        actor=actor,
        data={"person": person.user.username, "before": left.name if left else "", "after": to.name if to else ""},
    )


@transaction.atomic
def merge_teams(team: Team, *, into: Team, actor: User) -> Team:
    """Make one team of two: its people and everything that it submitted become those of the other, under its name.

    The quotas add up: what either has used is used. Emits ``team.merged``.

    Raises:
        NotOrganizer, TeamNotFound, TeamFull
        NotInTeam: it is one team.
    """
    must_organize(actor, team.competition)
    if team.pk == into.pk or team.competition_id != into.competition_id:
        raise NotInTeam("Choose another team of the same competition.")
    _held(team.competition, teams=[team, into])
    team, into = _held_teams(team, into)
    _needs_place(into, more=team.members.count())
    _hand_over(team.competition, people=[team.captain], to=into.captain, team=into)
    team.members.update(team=into)
    record_event(into, "team.merged", actor=actor, data={"team": team.name, "key": team.pk})
    team.delete()
    return into


@transaction.atomic
def dissolve_team(team: Team, *, actor: User) -> None:
    """End a team: its people take part alone, and what it submitted stays its captain's.

    Each of them goes on using up what the team had used. Emits ``team.dissolved``.

    Raises:
        NotOrganizer, TeamNotFound
    """
    must_organize(actor, team.competition)
    _held(team.competition, teams=[team])
    team = _held_teams(team)[0]
    _carry(team, team.members.exclude(user=team.captain))
    team.submissions.update(team=None)
    record_event(team, "team.dissolved", actor=actor, data={"name": team.name})
    team.delete()


def _needs_place(team: Team, *, more: int) -> None:
    most, there = team.competition.max_team_size, team.members.count()
    if there + more > most:
        raise TeamFull(f"The team {team.name} would have {there + more} members, and {most} may be in one.")


def _held(competition: Competition, *, teams: Iterable[Team], people: Iterable[int] = ()) -> list[Participation]:
    """Everybody concerned, locked in the order of their keys."""
    members = Participation.objects.filter(team__in=list(teams)).values("pk")
    concerned = Q(pk__in=members) | Q(user__in=list(people))
    wanted = competition.participations.filter(concerned)
    return list(wanted.select_for_update(of=["self"]).select_related("user").order_by("pk"))


def _held_teams(*teams: Team) -> list[Team]:
    """The same teams, locked in the order of their keys and read anew: nobody joins meanwhile.

    Raises:
        TeamNotFound: one of them was merged or dissolved before this held it.
    """
    wanted = Team.objects.filter(pk__in=[one.pk for one in teams])
    list(wanted.select_for_update().order_by("pk"))
    # Read by itself: a statement that has waited for a team which got another captain finds no such team.
    held = wanted.select_related("captain", "competition").in_bulk()
    if any(one.pk not in held for one in teams):
        raise TeamNotFound.any_more()
    return [held[one.pk] for one in teams]


def _hand_over(competition: Competition, *, people: Sequence[User], to: User, team: Team) -> None:
    """Put what people have submitted into a captain's name and a team's, and place it on the boards anew."""
    own = Submission.objects.filter(phase__competition=competition, participant__in=people)
    Job.objects.filter(evaluation__submission__in=own).update(participant=to)  # whose turns they take
    concerned = Submission.objects.filter(phase__competition=competition, participant__in=[*people, to])
    held = list(concerned.select_for_update(of=["self"]).order_by("pk"))
    given = [one for one in held if one.participant_id != to.pk]
    for submission in given:
        submission.sent_by_id = submission.sent_by_id or submission.participant_id
        if submission.sent_by_id == to.pk:
            submission.sent_by_id = None
        submission.participant, submission.team = to, team
    Submission.objects.bulk_update(given, ["participant", "team", "sent_by"])
    transaction.on_commit(lambda: _give_turns([one.pk for one in given], to=to), robust=True)
    remove_entries(competition, participants=[one.pk for one in people])
    place_participant(competition, to.pk)


def _give_turns(submissions: Sequence[UUID], *, to: User) -> None:
    """Let the jobs take the new captain's turns that were queued while the above waited for whoever queued them.

    Until none is left: whoever held one of these meanwhile may have queued another.
    """
    jobs = Job.objects.filter(evaluation__submission__in=submissions, evaluation__submission__participant=to)
    while jobs.exclude(participant=to).update(participant=to):
        pass


def _carry(team: Team, people: Iterable[Participation]) -> None:
    """What a team has used goes on being used by those who leave it."""
    sent = list(team.submissions.all())
    for person in people:
        person.carried.add(*sent)
