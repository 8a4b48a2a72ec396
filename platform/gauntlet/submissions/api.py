"""Routes of the submissions app: a competition with what its reader has left, and uploads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.urls import include, path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.models import User
from gauntlet.accounts.permissions import signed_in
from gauntlet.body_limit import FORM_BYTES
from gauntlet.competitions.access import (
    access_competition_as_participant,
    access_competition_as_visitor,
    access_phase,
)
from gauntlet.competitions.api import CompetitionAnswer, PhaseAnswer, competition_fields, person, phase_fields
from gauntlet.competitions.models import ParticipationState, Phase
from gauntlet.competitions.selectors import competition_detail
from gauntlet.queues.selectors import queue_owners
from gauntlet.submissions import services
from gauntlet.submissions.errors import UploadNotFound, UploadUnusable
from gauntlet.submissions.models import Source, Submission
from gauntlet.submissions.once import HEADER, Once, is_known, read_key
from gauntlet.submissions.quotas import Allowance, allowances
from gauntlet.submissions.uploads import check_declared_length


class LimitsAnswer(serializers.Serializer[Any]):
    """What is left of a phase's quotas; null is "no limit", and for a reader who does not participate "unknown"."""

    per_day = serializers.IntegerField(allow_null=True)
    left_today = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)
    left_total = serializers.IntegerField(allow_null=True)
    next_allowed_at = serializers.DateTimeField(allow_null=True)
    max_bundle_bytes = serializers.IntegerField()
    max_image_bytes = serializers.IntegerField()


class PhaseWithLimitsAnswer(PhaseAnswer):
    """A phase with its quotas."""

    visibility = serializers.CharField()
    has_kit = serializers.BooleanField()
    limits = LimitsAnswer()


class CompetitionDetailAnswer(CompetitionAnswer):
    """A competition with where its reader stands."""

    time_zone = serializers.CharField()
    terms = serializers.CharField()
    participation = serializers.CharField(allow_null=True)
    participants = serializers.IntegerField()
    phases = PhaseWithLimitsAnswer(many=True)


class SubmissionRequest(serializers.Serializer[Any]):
    """An upload: the file itself, or the id of one that was sent in parts."""

    bundle = serializers.FileField(required=False)
    upload = serializers.UUIDField(required=False)
    name = serializers.CharField(max_length=200, required=False, allow_blank=True)


class SubmissionAnswer(serializers.Serializer[Any]):
    """A submission that was taken."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    state = serializers.CharField()
    created_at = serializers.DateTimeField()
    url = serializers.CharField()


class CompetitionView(APIView):
    """One competition."""

    @extend_schema(responses=CompetitionDetailAnswer)
    def get(self, request: Request, slug: str) -> Response:
        """A competition with its phases and, for a participant, what is left of their quotas."""
        reader = person(request)
        detail = competition_detail(access_competition_as_visitor(reader, slug), user=reader)
        participates = isinstance(reader, User) and detail.participation == ParticipationState.APPROVED
        now = timezone.now()
        left: list[Allowance | None] = [None] * len(detail.phases)
        if participates:
            left = [*allowances(detail.phases, participant=signed_in(request), now=now)]
        owners = queue_owners({phase.queue for phase in detail.phases})
        phases = [
            phase_fields(phase, now, owners=owners)
            | {"visibility": phase.visibility, "has_kit": phase.kit_id is not None, "limits": _limits(phase, one)}
            for phase, one in zip(detail.phases, left, strict=True)
        ]
        body = competition_fields(detail.competition) | {
            "time_zone": detail.competition.time_zone,
            "terms": detail.competition.terms,
            "participation": detail.participation,
            "participants": detail.participants,
            "phases": phases,
        }
        return Response(CompetitionDetailAnswer(body).data)


def _limits(phase: Any, left: Allowance | None) -> dict[str, Any]:
    return {
        "per_day": phase.max_submissions_per_day,
        "left_today": left.left_today if left else None,
        "total": phase.max_submissions,
        "left_total": left.left_total if left else None,
        "next_allowed_at": left.next_allowed_at if left else None,
        "max_bundle_bytes": settings.MAX_BUNDLE_BYTES,
        "max_image_bytes": settings.MAX_IMAGE_BYTES,
    }


class SubmissionsOfPhaseView(APIView):
    """Uploads."""

    parser_classes = (MultiPartParser,)

    @extend_schema(
        request={"multipart/form-data": SubmissionRequest},
        responses={200: SubmissionAnswer, 201: SubmissionAnswer},
        parameters=[
            OpenApiParameter(HEADER, str, OpenApiParameter.HEADER, description="Sent again, it makes no second one.")
        ],
    )
    def post(self, request: Request, slug: str, index: int) -> Response:
        """Submit an agent (a zip, or a container image's archive), or results (a zip) where the phase takes them.

        In the part `bundle`, or sent before in parts (`/api/v1/uploads`) and named by `upload`; maybe with a `name`.
        What can be refused without the file is refused before it is read. Asked again for the same `upload`, or with
        the same file and `Idempotency-Key`, it answers 200 and the submission that was made of it.
        """
        user = signed_in(request)
        competition, _ = access_competition_as_participant(user, slug)
        phase = access_phase(competition, index)
        once = read_key(request.headers.get(HEADER))
        length = check_declared_length(request.META.get("CONTENT_LENGTH"))
        sent = _sent(request) if length <= FORM_BYTES else None
        earlier = services.submission_of(sent, phase=phase, participant=user) if sent else None
        known = earlier is not None or is_known(once, phase=phase, sender=user)
        if not known:
            services.check_allowance(phase, user, once=once)
        submission = earlier or self._received(request, phase, user, sent, once)
        body = {
            "id": submission.pk,
            "name": submission.name,
            "state": submission.shown_state,
            "created_at": submission.created_at,
            "url": f"{settings.SITE_URL}/submissions/{submission.pk}/",
        }
        return Response(SubmissionAnswer(body).data, status=200 if known else 201)

    def _received(self, request: Request, phase: Phase, user: User, sent: UUID | None, once: Once | None) -> Submission:
        """Take the file of the request, or the one that was sent before."""
        name = request.POST.get("name", "")
        source = Source.COMMAND if "gauntlet-agent" in request.headers.get("User-Agent", "") else Source.API
        if sent := sent or _sent(request):
            return services.receive_sent(sent, phase=phase, participant=user, name=name, source=source, once=once)
        upload = request.FILES.get("bundle")
        if not isinstance(upload, UploadedFile):
            raise UploadUnusable("The request has no file in the part 'bundle' (multipart/form-data).")
        file_name = upload.name or ""
        return services.receive(
            phase=phase, participant=user, upload=upload, file_name=file_name, name=name, source=source, once=once
        )


def _sent(request: Request) -> UUID | None:
    """The upload that a request names."""
    text = request.POST.get("upload", "")
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise UploadNotFound("'upload' is not the id of an upload.") from error


urlpatterns = [
    path("", include("gauntlet.submissions.upload_api")),
    path("", include("gauntlet.submissions.team_api")),
    path("competitions/<slug:slug>", CompetitionView.as_view(), name="api-competition"),
    path(
        "competitions/<slug:slug>/phases/<int:index>/submissions",
        SubmissionsOfPhaseView.as_view(),
        name="api-phase-submissions",
    ),
]
