"""API of submissions' results: list, detail, log, live events, cancel, episodes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.urls import include, path
from django.utils import timezone
from django.views.decorators.http import require_GET
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.accounts.authentication import TokenAuthentication
from gauntlet.accounts.models import TokenScope, User
from gauntlet.accounts.permissions import check_scope, signed_in
from gauntlet.api_errors import DomainError
from gauntlet.api_requests import Pages
from gauntlet.evaluation.comparing import compare_submissions
from gauntlet.evaluation.errors import LogNotVisible
from gauntlet.evaluation.scoring_input import access_evaluation_as_organizer, scoring_input
from gauntlet.evaluation.selectors import (
    Version,
    status_of,
    submission_list,
    submission_story,
    submission_version,
)
from gauntlet.evaluation.services import cancel_submission
from gauntlet.evaluation.story import SubmissionStory
from gauntlet.storage.streaming import send
from gauntlet.submissions.access import access_submission_as_owner, access_submission_as_reader
from gauntlet.submissions.models import Submission

_POLL_SECONDS: Final = 0.7
_WHOLE_SECONDS: Final = 10.0  # after which the whole story is read, changed or not
_STREAM_SECONDS: Final = 15 * 60  # then the browser connects anew: no connection is held for ever


def story_json(story: SubmissionStory) -> dict[str, Any]:
    """A story as the API gives it: without the log, which has a route of its own."""
    return {**asdict(story), "log": None, "organizer_log": None, "url": f"/submissions/{story.id}/"}


def story_for(user: Any, submission_id: UUID) -> SubmissionStory:
    """The story of a submission, as this user may see it.

    Raises:
        SubmissionNotFound: there is none, or it is not this user's to see.
    """
    submission, audience = access_submission_as_reader(user, submission_id)
    return submission_story(submission, audience=audience, now=timezone.now())


class Submissions(APIView):
    """The signed-in participant's own submissions, newest first."""

    def get(self, request: Request) -> Response:
        """A page of submissions; ``?competition=slug`` narrows it to one competition."""
        rows = submission_list(signed_in(request), competition=request.query_params.get("competition", ""))
        paginator = Pages()
        page: list[Submission] = paginator.paginate_queryset(rows, request, view=self) or []
        return paginator.get_paginated_response([_list_row(submission) for submission in page])


def _list_row(submission: Submission) -> dict[str, Any]:
    evaluations = list(submission.evaluations.all())
    return {
        "id": submission.pk,
        "name": submission.name,
        "competition": submission.phase.competition.slug,
        "phase": submission.phase.index,
        "created_at": submission.created_at,
        "status": status_of(submission, evaluations),
        "failure_code": submission.failure_code or next((e.failure_code for e in evaluations if e.failure_code), ""),
        "url": f"/submissions/{submission.pk}/",
    }


class SubmissionDetail(APIView):
    """One submission, from top to bottom."""

    def get(self, request: Request, submission_id: UUID) -> Response:
        """Its story, cut to what the reader may see."""
        return Response(story_json(story_for(request.user, submission_id)))


class SubmissionLog(APIView):
    """The agent's own output."""

    def get(self, request: Request, submission_id: UUID) -> HttpResponse:
        """Plain text; 403 where the phase hides it."""
        story = story_for(request.user, submission_id)
        if not story.log_visible:
            raise LogNotVisible("The organizer of this phase does not show logs to participants.")
        return HttpResponse(story.log or "", content_type="text/plain; charset=utf-8")


class SubmissionComparison(APIView):
    """Two submissions of a phase side by side."""

    def get(self, request: Request, submission_id: UUID, other_id: UUID) -> Response:
        """Column by column: means, difference with interval, p, effect, and which is better, if any surely is.

        More is better in all of it: where less is better in a column (`sorting`: asc), its values have the other sign.
        """
        found = compare_submissions(request.user, submission_id, other_id, now=timezone.now())
        columns = [
            {
                "key": one.column.key,
                "title": one.column.title,
                "sorting": one.column.sorting,
                "better": one.better,
                **asdict(one.found),
            }
            for one in found.columns
        ]
        return Response({"a": found.a.pk, "b": found.b.pk, "columns": columns})


class SubmissionCancel(APIView):
    """End a submission's evaluations."""

    def post(self, request: Request, submission_id: UUID) -> Response:
        """Cancel what has not ended; cancelling again changes nothing."""
        user = signed_in(request)
        submission = access_submission_as_owner(user, submission_id)
        cancelled = cancel_submission(submission, actor=user)
        return Response({"cancelled": cancelled, **story_json(story_for(user, submission_id))})


class EvaluationScoringInput(APIView):
    """What an evaluation was scored from, for its organizers."""

    def get(self, request: Request, evaluation_id: UUID) -> HttpResponseBase:
        """A zip with the recorded episodes, reference data, scoring programs and stored scores; 409 before the end.

        `gauntlet-score rescore` reads it.
        """
        evaluation = access_evaluation_as_organizer(request.user, evaluation_id)
        archive, size = scoring_input(evaluation)
        return send(archive, size=size, name=f"evaluation-{evaluation.pk}.zip")


@require_GET
async def submission_events(request: HttpRequest, submission_id: UUID) -> HttpResponseBase:
    """Server-sent events of a submission: one ``state`` event at once, then one at each change, until it is final.

    A session's cookie opens it, since a browser's EventSource sends no token, and so does a token. Who may not read any
    more by the time that something is to be told is told nothing, and the stream ends.
    """
    try:
        user = await _reader(request)
        first = await _tell(user, submission_id)
    except DomainError as error:
        return JsonResponse({"code": error.code, "message": error.message}, status=error.status)
    except AuthenticationFailed as error:
        return JsonResponse({"code": "not_signed_in", "message": str(error.detail)}, status=401)
    response = StreamingHttpResponse(_stream(request, submission_id, first), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # a reverse proxy hands events on at once
    return response


@sync_to_async
def _reader(request: HttpRequest) -> User | AnonymousUser:
    """Who reads, as it is now and not as it was when the request came: the same one is asked about for minutes."""
    found = TokenAuthentication().authenticate(Request(request))
    if found is None:
        request.session = type(request.session)(request.session.session_key)  # read anew: it may have been ended
        return get_user(request)
    user, token = found
    check_scope(token, TokenScope.READ)
    return user


@dataclass(frozen=True)
class _Told:
    """A story as it was told."""

    payload: str
    final: bool
    version: Version  # read before the story, which may be newer, so that no change is missed
    at: float  # on the event loop's clock


async def _tell(user: Any, submission_id: UUID) -> _Told:
    now = asyncio.get_running_loop().time()
    return await sync_to_async(_read)(user, submission_id, now)


def _read(user: Any, submission_id: UUID, now: float) -> _Told:
    version = submission_version(submission_id)
    story = story_for(user, submission_id)
    payload = json.dumps(story_json(story), cls=DjangoJSONEncoder)
    return _Told(payload=payload, final=story.final, version=version, at=now)


async def _told_anew(request: HttpRequest, submission_id: UUID, before: _Told) -> _Told:
    """The story as it is now. Most of the time nothing has changed, and one cheap statement says so.

    What others do to it (its place in the queue, the leader's score) and what time does (a reveal) has no version: that
    is looked for now and then.
    """
    if asyncio.get_running_loop().time() - before.at < _WHOLE_SECONDS:
        version = await sync_to_async(submission_version)(submission_id)
        if version == before.version:
            return before
    return await _tell(await _reader(request), submission_id)


async def _stream(request: HttpRequest, submission_id: UUID, first: _Told) -> AsyncIterator[str]:
    said = ""
    told = first
    deadline = asyncio.get_running_loop().time() + _STREAM_SECONDS
    while True:
        if told.payload != said:
            said = told.payload
            yield f"event: state\ndata: {said}\n\n"
        else:
            yield ": still here\n\n"
        if told.final or asyncio.get_running_loop().time() > deadline:
            return
        await asyncio.sleep(_POLL_SECONDS)
        try:
            told = await _told_anew(request, submission_id, told)
        except (DomainError, AuthenticationFailed):
            return


urlpatterns = [
    path("", include("gauntlet.evaluation.exclusion_api")),
    path("", include("gauntlet.evaluation.queue_api")),
    path("", include("gauntlet.evaluation.team_api")),
    path("", include("gauntlet.evaluation.remote_api")),
    path("submissions", Submissions.as_view(), name="api-submissions"),
    path("submissions/<uuid:submission_id>", SubmissionDetail.as_view(), name="api-submission"),
    path("submissions/<uuid:submission_id>/log", SubmissionLog.as_view(), name="api-submission-log"),
    path(
        "submissions/<uuid:submission_id>/comparison/<uuid:other_id>",
        SubmissionComparison.as_view(),
        name="api-submission-comparison",
    ),
    path(
        "evaluations/<uuid:evaluation_id>/scoring-input",
        EvaluationScoringInput.as_view(),
        name="api-evaluation-scoring-input",
    ),
    path("submissions/<uuid:submission_id>/cancel", SubmissionCancel.as_view(), name="api-submission-cancel"),
    path("submissions/<uuid:submission_id>/events", submission_events, name="api-submission-events"),
]
