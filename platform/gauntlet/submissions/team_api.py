"""Routes of teams: one's own team in a competition, making, joining and leaving one."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.competitions.access import access_competition_as_participant
from gauntlet.submissions import teams


class TeamAnswer(serializers.Serializer[Any]):
    """A team, as its members see it."""

    name = serializers.CharField()
    captain = serializers.CharField()
    members = serializers.ListField(child=serializers.CharField())
    free = serializers.IntegerField(help_text="places")
    code = serializers.CharField(help_text="whoever has it may join")


class TeamOfReaderAnswer(serializers.Serializer[Any]):
    """The reader's team, or null."""

    max_team_size = serializers.IntegerField()
    team = TeamAnswer(allow_null=True)


class CreateRequest(serializers.Serializer[Any]):
    """Making a team."""

    name = serializers.CharField(max_length=64)


class JoinRequest(serializers.Serializer[Any]):
    """Joining one."""

    code = serializers.CharField(max_length=64)


def _answer(request: Request, slug: str, status: int = 200) -> Response:
    competition, _ = access_competition_as_participant(signed_in(request), slug)
    found = teams.team_of(signed_in(request), competition)
    told = found and {
        "name": found.team.name,
        "captain": found.captain.username,
        "members": [one.username for one in found.members],
        "free": found.free,
        "code": found.team.code,
    }
    body = {"max_team_size": competition.max_team_size, "team": told}
    return Response(TeamOfReaderAnswer(body).data, status=status)


class TeamView(APIView):
    """One's own team."""

    @extend_schema(responses=TeamOfReaderAnswer)
    def get(self, request: Request, slug: str) -> Response:
        """The reader's team in a competition, with the code by which others join; null where there is none."""
        return _answer(request, slug)

    @extend_schema(request=CreateRequest, responses={201: TeamOfReaderAnswer})
    def post(self, request: Request, slug: str) -> Response:
        """Make a team. Whoever makes it is its captain, and what they submitted before becomes the team's."""
        user = signed_in(request)
        competition, _ = access_competition_as_participant(user, slug)
        wanted = CreateRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        teams.create_team(competition, captain=user, name=wanted.validated_data["name"])
        return _answer(request, slug, status=201)


class TeamJoinView(APIView):
    """Joining a team."""

    @extend_schema(request=JoinRequest, responses=TeamOfReaderAnswer)
    def post(self, request: Request, slug: str) -> Response:
        """Join the team that the code belongs to. Who has submitted alone cannot."""
        user = signed_in(request)
        competition, _ = access_competition_as_participant(user, slug)
        wanted = JoinRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        teams.join_team(competition, user=user, code=wanted.validated_data["code"])
        return _answer(request, slug)


class TeamLeaveView(APIView):
    """Leaving a team."""

    @extend_schema(request=None, responses=TeamOfReaderAnswer)
    def post(self, request: Request, slug: str) -> Response:
        """Leave one's team; who has submitted for it cannot."""
        user = signed_in(request)
        competition, _ = access_competition_as_participant(user, slug)
        teams.leave_team(competition, user=user)
        return _answer(request, slug)


urlpatterns = [
    path("competitions/<slug:slug>/team", TeamView.as_view(), name="api-team"),
    path("competitions/<slug:slug>/team/join", TeamJoinView.as_view(), name="api-team-join"),
    path("competitions/<slug:slug>/team/leave", TeamLeaveView.as_view(), name="api-team-leave"),
]
