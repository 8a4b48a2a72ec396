"""Routes of the competitions app: list, join, downloads.

One competition in detail shows quotas too, so that route is the submissions app's.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.http import StreamingHttpResponse
from django.urls import path
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.api_requests import AnyAccept, Pages
from gauntlet.competitions import services
from gauntlet.competitions.access import Person, access_competition_as_visitor, access_phase
from gauntlet.competitions.errors import KitNotFound
from gauntlet.competitions.models import Competition, Phase, Takes
from gauntlet.competitions.selectors import PhaseState, phase_state, visible_competitions
from gauntlet.queues.selectors import queue_owners
from gauntlet.storage.models import Artifact
from gauntlet.storage.streaming import download

#: What everybody is told of a phase's language models; where they come from is the organizer's affair.
_LLM_TOLD: Final = (
    *("models", "embeddings", "per_episode", "per_evaluation", "per_submission"),
    *("rate", "concurrency", "max_tokens"),
)


class PhaseAnswer(serializers.Serializer[Any]):
    """A phase in a list of competitions."""

    index = serializers.IntegerField()
    name = serializers.CharField()
    description = serializers.CharField()
    state = serializers.ChoiceField(choices=[state.value for state in PhaseState])
    start = serializers.DateTimeField()
    end = serializers.DateTimeField(allow_null=True)
    takes = serializers.ChoiceField(choices=Takes.choices)
    queue_owner = serializers.CharField(help_text="whose own workers run what is submitted; empty: the platform's do")
    llm = serializers.DictField(allow_null=True, help_text="the language models, and what an agent may use of them")


class CompetitionAnswer(serializers.Serializer[Any]):
    """A competition in a list."""

    slug = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    organizer = serializers.CharField()
    published = serializers.BooleanField()
    phases = PhaseAnswer(many=True)


class JoinRequest(serializers.Serializer[Any]):
    """Joining."""

    terms_accepted = serializers.BooleanField(default=False)


class ParticipationAnswer(serializers.Serializer[Any]):
    """Where a person stands."""

    state = serializers.CharField()


def person(request: Request) -> Person:
    """Who reads: a user, or nobody in particular."""
    return request.user


def phase_fields(phase: Phase, now: datetime, *, owners: Mapping[str, str]) -> dict[str, Any]:
    """What a reader is told about a phase; ``owners`` are those of own queues, by queue."""
    return {
        "index": phase.index,
        "name": phase.name,
        "description": phase.description,
        "state": phase_state(phase, now).value,
        "start": phase.start,
        "end": phase.end,
        "takes": phase.takes,
        "queue_owner": owners.get(phase.queue, ""),
        "llm": {key: phase.llm[key] for key in _LLM_TOLD if phase.llm.get(key)} if phase.llm else None,
    }


def competition_fields(competition: Competition) -> dict[str, Any]:
    """What a reader is told about a competition, beside its phases."""
    return {
        "slug": competition.slug,
        "title": competition.title,
        "description": competition.description,
        "organizer": competition.organizer.username,
        "published": competition.published,
    }


class CompetitionsView(APIView):
    """Every competition that the reader may see."""

    @extend_schema(responses=CompetitionAnswer(many=True))
    def get(self, request: Request) -> Response:
        """List competitions with their phases, newest first; `limit` and `offset` page."""
        paginator = Pages()
        page = paginator.paginate_queryset(visible_competitions(person(request)), request, view=self) or []
        now = timezone.now()
        owners = queue_owners({phase.queue for one in page for phase in one.phases.all()})
        phases = {one: [phase_fields(phase, now, owners=owners) for phase in one.phases.all()] for one in page}
        rows = [competition_fields(one) | {"phases": told} for one, told in phases.items()]
        return paginator.get_paginated_response(CompetitionAnswer(rows, many=True).data)


class JoinView(APIView):
    """Taking part."""

    @extend_schema(request=JoinRequest, responses=ParticipationAnswer)
    def post(self, request: Request, slug: str) -> Response:
        """Join a competition by accepting its terms; again changes nothing."""
        user = signed_in(request)
        competition = access_competition_as_visitor(user, slug)
        wanted = JoinRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        participation = services.join(competition, user=user, terms_accepted=wanted.validated_data["terms_accepted"])
        return Response(ParticipationAnswer({"state": participation.state}).data)


def _download(artifact: Artifact | None, *, name: str) -> StreamingHttpResponse:
    if artifact is None:
        raise KitNotFound("The phase offers no such download.")
    return download(artifact, name=name)


class KitView(APIView):
    """The starting kit of a phase."""

    content_negotiation_class = AnyAccept

    @extend_schema(responses={(200, "application/zip"): OpenApiResponse(OpenApiTypes.BINARY)})
    def get(self, request: Request, slug: str, index: int) -> StreamingHttpResponse:
        """Download the starting kit as a zip; whoever sees the competition may."""
        phase = access_phase(access_competition_as_visitor(person(request), slug), index)
        return _download(phase.kit, name=f"{slug}-{index}-kit.zip")


class PublicDataView(APIView):
    """The public data of a phase."""

    content_negotiation_class = AnyAccept

    @extend_schema(responses={(200, "application/zip"): OpenApiResponse(OpenApiTypes.BINARY)})
    def get(self, request: Request, slug: str, index: int) -> StreamingHttpResponse:
        """Download the public data as a zip; whoever sees the competition may."""
        phase = access_phase(access_competition_as_visitor(person(request), slug), index)
        return _download(phase.public_data, name=f"{slug}-{index}-data.zip")


urlpatterns = [
    path("competitions", CompetitionsView.as_view(), name="api-competitions"),
    path("competitions/<slug:slug>/join", JoinView.as_view(), name="api-join"),
    path("competitions/<slug:slug>/phases/<int:index>/kit", KitView.as_view(), name="api-kit"),
    path("competitions/<slug:slug>/phases/<int:index>/public_data", PublicDataView.as_view(), name="api-public-data"),
]
