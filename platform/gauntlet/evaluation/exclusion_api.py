"""The route by which organizers take a submission off the boards, and let it back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.permissions import signed_in
from gauntlet.evaluation.exclusions import LONGEST_REASON, exclude_submission, readmit_submission
from gauntlet.submissions.access import access_submission_as_organizer


class ExclusionRequest(serializers.Serializer[Any]):
    """Why."""

    reason = serializers.CharField(max_length=LONGEST_REASON, help_text="its owner reads it")


class ExclusionView(APIView):
    """Off the boards, and back."""

    @extend_schema(request=ExclusionRequest, responses={204: None})
    def post(self, request: Request, submission_id: UUID) -> Response:
        """Take a submission off every board; another one of its participant's stands in its place."""
        user = signed_in(request)
        submission = access_submission_as_organizer(user, submission_id)
        wanted = ExclusionRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        exclude_submission(submission, reason=wanted.validated_data["reason"], actor=user)
        return Response(status=204)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, submission_id: UUID) -> Response:
        """Let it back on the boards; again changes nothing."""
        user = signed_in(request)
        readmit_submission(access_submission_as_organizer(user, submission_id), actor=user)
        return Response(status=204)


urlpatterns = [
    path("submissions/<uuid:submission_id>/exclusion", ExclusionView.as_view(), name="api-submission-exclusion"),
]
