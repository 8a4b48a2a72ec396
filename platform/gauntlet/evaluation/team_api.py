"""Routes by which organizers change teams: list, rename, appoint a captain, move people, merge, dissolve."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.api_requests import Pages
from gauntlet.competitions.access import (
    access_competition_as_organizer,
    access_participation_by_name,
    access_team_as_organizer,
)
from gauntlet.competitions.models import Team
from gauntlet.evaluation import team_changes
from gauntlet.submissions.teams import team_as_listed, teams_of


class TeamOfOrganizerAnswer(serializers.Serializer[Any]):
    """A team, as the organizers see it."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    captain = serializers.CharField()
    members = serializers.ListField(child=serializers.CharField())
    submissions = serializers.IntegerField()


class ChangeRequest(serializers.Serializer[Any]):
    """What is to be another one."""

    name = serializers.CharField(max_length=64, required=False)
    captain = serializers.CharField(max_length=150, required=False, help_text="username of a member")

    def validate(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """One of them at least."""
        if not wanted:
            raise serializers.ValidationError("Say what is to be changed: `name`, `captain`, or both.")
        return wanted


class MergeRequest(serializers.Serializer[Any]):
    """Which team takes the people and the submissions."""

    into = serializers.IntegerField(min_value=1, help_text="its id")


class MoveRequest(serializers.Serializer[Any]):
    """Who is to be in which team."""

    user = serializers.CharField(max_length=150, help_text="username")
    team = serializers.IntegerField(min_value=1, allow_null=True, help_text="its id; null: alone")


def _told(team: Team) -> dict[str, Any]:
    return {
        "id": team.pk,
        "name": team.name,
        "captain": team.captain.username,
        "members": [one.user.username for one in team.members.all()],
        "submissions": team.sent,  # type: ignore[attr-defined]  # counted by teams_of
    }


def _answer(team: Team) -> Response:
    return Response(TeamOfOrganizerAnswer(_told(team_as_listed(team))).data)


class TeamsView(APIView):
    """A competition's teams."""

    @extend_schema(responses=TeamOfOrganizerAnswer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Every team with its members, by name; `limit` and `offset` page. Organizers only."""
        competition = access_competition_as_organizer(signed_in(request), slug)
        paginator = Pages()
        page = paginator.paginate_queryset(teams_of(competition), request, view=self) or []
        return paginator.get_paginated_response(TeamOfOrganizerAnswer([_told(one) for one in page], many=True).data)


class TeamOfOrganizerView(APIView):
    """One team."""

    @extend_schema(request=ChangeRequest, responses=TeamOfOrganizerAnswer)
    def patch(self, request: Request, slug: str, team_id: int) -> Response:
        """Rename a team, or appoint another captain; what it has submitted is in that captain's name then."""
        user = signed_in(request)
        team = access_team_as_organizer(user, slug, team_id)
        wanted = ChangeRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        if "captain" in wanted.validated_data:
            team = team_changes.appoint_captain(team, username=wanted.validated_data["captain"], actor=user)
        if "name" in wanted.validated_data:
            team = team_changes.rename_team(team, name=wanted.validated_data["name"], actor=user)
        return _answer(team)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, slug: str, team_id: int) -> Response:
        """Dissolve a team: its people take part alone, and what it submitted stays its captain's."""
        user = signed_in(request)
        team_changes.dissolve_team(access_team_as_organizer(user, slug, team_id), actor=user)
        return Response(status=204)


class TeamMergeView(APIView):
    """One team of two."""

    @extend_schema(request=MergeRequest, responses=TeamOfOrganizerAnswer)
    def post(self, request: Request, slug: str, team_id: int) -> Response:
        """Merge a team into another, which gets its people and submissions; the answer is that other."""
        user = signed_in(request)
        team = access_team_as_organizer(user, slug, team_id)
        wanted = MergeRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        into = access_team_as_organizer(user, slug, wanted.validated_data["into"])
        return _answer(team_changes.merge_teams(team, into=into, actor=user))


class TeamMoveView(APIView):
    """Who is in which team."""

    @extend_schema(request=MoveRequest, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Put a person into a team, or out of theirs. What they sent for the team that they leave stays its own."""
        user = signed_in(request)
        access_competition_as_organizer(user, slug)
        wanted = MoveRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        person = access_participation_by_name(user, slug, wanted.validated_data["user"])
        key = wanted.validated_data["team"]
        to = access_team_as_organizer(user, slug, key) if key is not None else None
        team_changes.move_person(person, to=to, actor=user)
        return Response(status=204)


urlpatterns = [
    path("competitions/<slug:slug>/teams", TeamsView.as_view(), name="api-teams"),
    path("competitions/<slug:slug>/teams/move", TeamMoveView.as_view(), name="api-team-move"),
    path("competitions/<slug:slug>/teams/<int:team_id>", TeamOfOrganizerView.as_view(), name="api-team-of-organizer"),
    path("competitions/<slug:slug>/teams/<int:team_id>/merge", TeamMergeView.as_view(), name="api-team-merge"),
]
