"""Pages for people who were invited to a study: what they are asked, one thing after another."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from gauntlet.reviews.access import access_item, access_study_as_reviewer
from gauntlet.reviews.criteria import CRITERIA, KEYS, SCALE
from gauntlet.reviews.models import Item, Reviewer, StudyKind, StudyState
from gauntlet.reviews.selectors import invitations_of, marks, next_open
from gauntlet.reviews.services import save_background, save_judgement, save_rating
from gauntlet.web import reviews_page
from gauntlet.web.forms import BackgroundForm
from gauntlet.web.views.accounts import signed_in

_ANSWERS = {"yes": True, "no": False}


@require_GET
@login_required
def mine(request: HttpRequest) -> HttpResponse:
    """What the reader was invited to."""
    return render(request, "reviews/mine.html", {"nav": "reviews", "rows": invitations_of(signed_in(request))})


def _context(reviewer: Reviewer) -> dict[str, Any]:
    standing = marks(reviewer)
    study = reviewer.study
    return {
        "nav": "reviews",
        "study": study,
        "judged": study.kind == StudyKind.JUDGE,
        "thing": "trajectory" if study.kind == StudyKind.JUDGE else "scenario",
        "things": "trajectories" if study.kind == StudyKind.JUDGE else "scenarios",
        "open": study.state == StudyState.OPEN,
        "marks": standing,
        "total": len(standing),
        "done": reviews_page.done(standing),
        "next": next_open(standing),
    }


def _needs_background(reviewer: Reviewer) -> bool:
    return reviewer.study.kind == StudyKind.REALISM and reviewer.years is None


@require_http_methods(["GET", "POST"])
@login_required
@never_cache
def study(request: HttpRequest, study_id: UUID) -> HttpResponse:
    """What is asked, how far the reader is, and where to go on; of a survey, the reader's background first."""
    reviewer = access_study_as_reviewer(request.user, study_id)
    told = {"role": reviewer.role, "years": reviewer.years, "familiarity": reviewer.familiarity}
    form = BackgroundForm(request.POST or None, initial=told)
    if request.method == "POST" and form.is_valid():
        save_background(reviewer, **form.cleaned_data)
        following = next_open(marks(reviewer))
        return redirect("review-item", study_id, following) if following else redirect("review", study_id)
    context = _context(reviewer) | {
        "criteria": CRITERIA,
        "scale": SCALE,
        "form": form,
        "needs_background": _needs_background(reviewer),
    }
    return render(request, "reviews/study.html", context, status=422 if request.method == "POST" else 200)


@require_http_methods(["GET", "POST"])
@login_required
@never_cache
def item(request: HttpRequest, study_id: UUID, number: int) -> HttpResponse:
    """One trajectory or scenario, and the reader's answer; what a script saves in between is answered with JSON."""
    reviewer = access_study_as_reviewer(request.user, study_id)
    found = access_item(reviewer.study, number)
    if _needs_background(reviewer):
        return redirect("review", study_id)
    if request.method == "POST":
        return _save(request, reviewer, found)
    judged = reviewer.study.kind == StudyKind.JUDGE
    context = (
        _context(reviewer)
        | {"item": found}
        | (_judged(reviewer, found, whole="whole" in request.GET) if judged else _rated(reviewer, found))
    )
    return render(request, "reviews/judge.html" if judged else "reviews/rate.html", context)


def _judged(reviewer: Reviewer, found: Item, *, whole: bool) -> dict[str, Any]:
    judgement = reviewer.judgements.filter(item=found).first()
    return {
        "trajectory": reviews_page.trajectory(found, whole=whole),
        "whole": whole,
        "questions": reviews_page.questions(judgement),
        "comment": judgement.comment if judgement else "",
    }


def _rated(reviewer: Reviewer, found: Item) -> dict[str, Any]:
    rating = reviewer.ratings.filter(item=found).first()
    return {"choices": reviews_page.choices(rating), "comment": rating.comment if rating else ""}


def _save(request: HttpRequest, reviewer: Reviewer, found: Item) -> HttpResponse:
    comment = request.POST.get("comment", "")
    if reviewer.study.kind == StudyKind.JUDGE:
        answers = {key: _ANSWERS.get(request.POST.get(key, "")) for key in KEYS}
        save_judgement(reviewer, found, answers=answers, comment=comment)
    else:
        value = request.POST.get("value", "")
        save_rating(reviewer, found, value=int(value) if value in map(str, SCALE) else None, comment=comment)
    standing = marks(reviewer)
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"saved_at": timezone.now(), "done": reviews_page.done(standing), "total": len(standing)})
    following = next_open(standing, after=found.number)
    if following == found.number:
        messages.warning(request, "Saved. This one still lacks an answer.")
    return redirect("review-item", reviewer.study_id, following) if following else redirect("review", reviewer.study_id)
