"""Submissions: lists, the story of one, its live fragment, cancel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from gauntlet.competitions.models import Column, Takes
from gauntlet.competitions.selectors import phase_state
from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.selectors import submission_list, submission_story, visible_reports
from gauntlet.evaluation.services import cancel_submission
from gauntlet.evaluation.story import SubmissionStory
from gauntlet.leaderboards.columns import over_trials, pass_marks
from gauntlet.storage.services import open_artifact
from gauntlet.submissions.access import access_submission_as_owner, access_submission_as_reader
from gauntlet.submissions.models import Submission
from gauntlet.submissions.parking import why_parked
from gauntlet.submissions.teams import owns
from gauntlet.web import story_page, story_words
from gauntlet.web.competition_page import open_page
from gauntlet.web.patterns_page import pattern_tables
from gauntlet.web.story_words import Log
from gauntlet.web.submission_rows import SubmissionRow, submission_rows
from gauntlet.web.views.accounts import signed_in
from gauntlet.web.workers_page import somebody_checks
from gauntlet_scoring.failures import Owner

_PAGE = 50


def page_of(request: HttpRequest, rows: Any, size: int = _PAGE) -> Any:
    """The page that the query asks for, or the nearest there is."""
    return Paginator(rows, size).get_page(request.GET.get("page"))


def _list(request: HttpRequest, *, competition: str = "") -> dict[str, Any]:
    page = page_of(request, submission_list(signed_in(request), competition=competition))
    rows: Sequence[SubmissionRow] = submission_rows(page.object_list, audience=Audience.OWNER)
    going = sum(not row.settled for row in rows)
    return {
        "rows": rows,
        "settled": not going,
        "said": f"{going} going on" if going else "Nothing is going on",
        "page": page.number,
        "pages": page.paginator.num_pages,
    }


@require_GET
@login_required
def mine(request: HttpRequest) -> HttpResponse:
    """The reader's submissions to every competition."""
    context = {"nav": "submissions", "show_competition": True, **_list(request)}
    return render(request, "submissions/list.html" if _fragment(request) else "submissions/mine.html", context)


@require_GET
@login_required
def of_competition(request: HttpRequest, slug: str) -> HttpResponse:
    """The reader's submissions to one competition."""
    context = open_page(request, slug).context("submissions", **_list(request, competition=slug))
    template = "submissions/list.html" if _fragment(request) else "competition/submissions.html"
    return render(request, template, context)


def _fragment(request: HttpRequest) -> bool:
    return request.headers.get("X-Fragment") == "1"


@require_GET
def page(request: HttpRequest, submission_id: UUID) -> HttpResponse:
    """A submission from top to bottom, as far as this reader may see it."""
    return render(request, "submissions/page.html", _story(request, submission_id))


@require_GET
def report(request: HttpRequest, submission_id: UUID, evaluation_id: UUID, program: str) -> HttpResponse:
    """A scoring program's own page, locked in: no script, no form, no request of its own, an origin of its own."""
    submission, audience = access_submission_as_reader(request.user, submission_id)
    evaluation = get_object_or_404(submission.evaluations.all(), pk=evaluation_id)
    seen = visible_reports(evaluation, phase=submission.phase, audience=audience, now=timezone.now())
    found = get_object_or_404(seen, program=program)
    if found.html is None:
        raise Http404
    with open_artifact(found.html) as page:
        response = HttpResponse(page.read(), content_type="text/html; charset=utf-8")
    response["Content-Security-Policy"] = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return response


@require_GET
@never_cache
def story(request: HttpRequest, submission_id: UUID) -> HttpResponse:
    """The same as a fragment, for the live page."""
    return render(request, "submissions/story.html", _story(request, submission_id))


def _story(request: HttpRequest, submission_id: UUID) -> dict[str, Any]:
    submission, audience = access_submission_as_reader(request.user, submission_id)
    told = submission_story(submission, audience=audience, now=timezone.now())
    columns = _shown_columns(submission)
    is_owner = owns(signed_in(request), submission)
    closed = phase_state(submission.phase, timezone.now()) == "closed"
    checked = told.status != "received" or somebody_checks()
    pages = Paginator(range(story_page.table_pages(told)), 1)
    shown = pages.get_page(request.GET.get("page")).number
    return {
        "nav": "submissions" if is_owner else "",
        "story": told,
        "standing": story_words.standing(told),
        "said": story_words.said(told, checked=checked),
        "announced": story_words.announced(told, checked=checked),
        "run_by": story_words.run_by(told),
        "steps": story_page.steps(told),
        "scores": story_page.scores(told),
        "evaluations": story_page.tables(told, _titles(columns), passing=pass_marks(columns), page=shown),
        "page": shown,
        "pages": pages.num_pages,
        "patterns": pattern_tables(told),
        "failed_task": story_words.failed_task(told),
        "counts": story_words.counts(told),
        "next_step": story_words.next_step(
            told, parked=_parked(submission), of_results=submission.phase.takes == Takes.RESULTS, closed=closed
        ),
        "closed": closed,
        "last_lines": story_words.last_lines(told),
        "logs": _logs(told),
        "competition_title": submission.phase.competition.title,
        "is_owner": is_owner,
        "is_organizer": audience is Audience.ORGANIZER,
        "reveal_at": submission.phase.reveal_at,
    }


def _parked(submission: Submission) -> bool:
    """Whether what was sent is not taken at the moment, because the platform failed at it time and again."""
    return submission.given_back_for == Owner.PLATFORM and bool(why_parked(submission.sent_digest))


def _logs(told: SubmissionStory) -> dict[str, Log]:
    """The end of each log, and where all of it is."""
    places = {
        "agent": (told.log, reverse("api-submission-log", args=[told.id])),
        "organizer": (told.organizer_log, reverse("submission-log", args=[told.id, "organizer"])),
        "check": (told.check_log, reverse("submission-log", args=[told.id, "check"])),
    }
    return {name: story_words.log_of(text, place=place) for name, (text, place) in places.items() if text}


@require_GET
def log(request: HttpRequest, submission_id: UUID, kind: str) -> HttpResponse:
    """A whole log as text: of the check, or of the organizer's programs."""
    submission, audience = access_submission_as_reader(request.user, submission_id)
    told = submission_story(submission, audience=audience, now=timezone.now())
    text = {"check": told.check_log, "organizer": told.organizer_log}.get(kind)
    if not text:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _shown_columns(submission: Submission) -> list[Column]:
    """The visible columns of the competition's boards."""
    columns = Column.objects.filter(
        leaderboard__competition=submission.phase.competition_id, leaderboard__hidden=False, hidden=False
    )
    return list(columns.order_by("leaderboard", "index"))


def _titles(columns: list[Column]) -> dict[str, str]:
    """Their titles by the score that each takes; a column over trials is no title for the score of one."""
    return {column.source: column.title for column in columns if not over_trials(column)}


@require_POST
@login_required
def cancel(request: HttpRequest, submission_id: UUID) -> HttpResponse:
    """End a submission's evaluations, at once and for good."""
    submission = access_submission_as_owner(signed_in(request), submission_id)
    if cancel_submission(submission, actor=signed_in(request)):
        messages.success(request, "The submission was cancelled.")
    else:
        messages.info(request, "It had already ended; nothing was changed.")
    return redirect("submission", submission_id)


def limits() -> dict[str, int]:
    """What an upload may have, for the page that says it beforehand."""
    return {
        "max_bytes": settings.MAX_BUNDLE_BYTES,
        "max_image_bytes": settings.MAX_IMAGE_BYTES,
        "max_unpacked": settings.MAX_UNPACKED_BYTES,
        "max_files": settings.MAX_ARCHIVE_FILES,
    }
