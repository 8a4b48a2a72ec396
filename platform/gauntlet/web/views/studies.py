"""Organizers' pages of studies: draw, invite, close, and what came out."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from gauntlet.competitions.access import access_competition_as_organizer, access_phase
from gauntlet.competitions.models import Competition
from gauntlet.reviews.access import access_study_as_organizer
from gauntlet.reviews.api import csv_response
from gauntlet.reviews.criteria import SCALE
from gauntlet.reviews.drawing import Judged, judged
from gauntlet.reviews.errors import CannotDraw, CannotInvite, HasAnswered
from gauntlet.reviews.models import Study, StudyKind, StudyState
from gauntlet.reviews.results import judge_results, realism_results
from gauntlet.reviews.selectors import reviewer_lines, study_line, study_lines
from gauntlet.reviews.services import (
    MOST_ITEMS,
    close,
    draw_judge_study,
    draw_realism_study,
    invite,
    reopen,
    withdraw,
)
from gauntlet.web import reviews_page
from gauntlet.web.competition_page import open_page
from gauntlet.web.forms import DrawForm, InviteForm
from gauntlet.web.organizer_page import participation_counts
from gauntlet.web.views.accounts import signed_in
from gauntlet.web.views.submissions import page_of

#: As many as the paper asked about: 40 tasks for the judge (A34), 25 scenarios in the survey (A48).
_USUAL: Final = {StudyKind.JUDGE: 40, StudyKind.REALISM: 25}
_DISPUTED: Final = 20  # trajectories on a page


def _forms(request: HttpRequest, competition: Competition) -> tuple[dict[StudyKind, DrawForm], list[Judged]]:
    """A form a kind; the one that was sent is bound."""
    found = judged(competition)
    sources = {
        StudyKind.JUDGE: [
            (f"{one.phase.index}:{one.program}", f"{one.phase.name}: {one.episodes:,} episodes judged by {one.program}")
            for one in found
        ],
        StudyKind.REALISM: [(str(phase.index), phase.name) for phase in competition.phases.all()],
    }
    sent = request.POST.get("kind", "")
    forms = {
        kind: DrawForm(
            request.POST if sent == kind else None,
            sources=sources[kind],
            size=_USUAL[kind],
            auto_id=f"{kind.value}_%s",
        )
        for kind in StudyKind
    }
    return forms, found


@require_http_methods(["GET", "POST"])
@login_required
def studies(request: HttpRequest, slug: str) -> HttpResponse:
    """The competition's studies, and the forms that draw one."""
    competition = access_competition_as_organizer(request.user, slug)
    forms, found = _forms(request, competition)
    status = 200
    if request.method == "POST":
        drawn = _draw(request, competition, forms)
        if drawn is not None:
            return redirect("organizer-study", slug, drawn.pk)
        status = 422
    context = open_page(request, slug).context(
        "organizer",
        section="reviews",
        pending=participation_counts(competition)["pending"],
        rows=study_lines(competition),
        judge_form=forms[StudyKind.JUDGE],
        realism_form=forms[StudyKind.REALISM],
        can_judge=bool(found),
        most=MOST_ITEMS,
    )
    return render(request, "organizer/studies.html", context, status=status)


def _draw(request: HttpRequest, competition: Competition, forms: dict[StudyKind, DrawForm]) -> Study | None:
    kind = request.POST.get("kind", "")
    if kind not in StudyKind.values or not forms[StudyKind(kind)].is_valid():
        return None
    form = forms[StudyKind(kind)]
    given = form.cleaned_data
    index, _, program = given["source"].partition(":")
    phase = access_phase(competition, int(index))
    size, seed, actor = given["size"], given["seed"], signed_in(request)
    try:
        if kind == StudyKind.JUDGE:
            return draw_judge_study(phase, program=program, size=size, seed=seed, actor=actor)
        return draw_realism_study(phase, size=size, seed=seed, actor=actor)
    except CannotDraw as refusal:
        form.add_error("source", refusal.message)
        return None


@require_GET
@login_required
def study(request: HttpRequest, slug: str, study_id: UUID) -> HttpResponse:
    """A study: who was asked, how far they are, and what came out."""
    found = access_study_as_organizer(request.user, study_id, slug=slug)
    return _study_page(request, found, InviteForm())


def _study_page(request: HttpRequest, study: Study, form: InviteForm, *, status: int = 200) -> HttpResponse:
    competition = study.phase.competition
    line = study_line(study)
    context = open_page(request, competition.slug).context(
        "organizer",
        section="reviews",
        pending=participation_counts(competition)["pending"],
        study=study,
        line=line,
        is_open=study.state == StudyState.OPEN,
        reviewers=reviewer_lines(study),
        address=request.build_absolute_uri(f"/reviews/{study.pk}/"),
        form=form,
        **(_judge(request, study) if study.kind == StudyKind.JUDGE else _realism(study)),
    )
    template = "organizer/study_judge.html" if study.kind == StudyKind.JUDGE else "organizer/study_realism.html"
    return render(request, template, context, status=status)


def _judge(request: HttpRequest, study: Study) -> dict[str, Any]:
    found = judge_results(study)
    page = page_of(request, found.disputed, _DISPUTED)
    return {
        "results": found,
        "compared": reviews_page.kappa_rows(found),
        "against": sum(one.judge_alone for one in found.disputed),
        "disputed": page.object_list,
        "page": page.number,
        "pages": page.paginator.num_pages,
    }


def _realism(study: Study) -> dict[str, Any]:
    return {"results": realism_results(study), "scale": SCALE}


@require_POST
@login_required
def invite_reviewers(request: HttpRequest, slug: str, study_id: UUID) -> HttpResponse:
    """Ask people, by user name."""
    study = access_study_as_organizer(request.user, study_id, slug=slug)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _study_page(request, study, form, status=422)
    try:
        made = invite(study, names=form.people, actor=signed_in(request))
    except CannotInvite as refusal:
        form.add_error("names", refusal.message)
        return _study_page(request, study, form, status=refusal.status)
    names = ", ".join(one.user.username for one in made)
    messages.success(request, f"Invited: {names}." if made else "They were all invited already.")
    return redirect("organizer-study", slug, study_id)


@require_POST
@login_required
def withdraw_invitation(request: HttpRequest, slug: str, study_id: UUID, reviewer_id: int) -> HttpResponse:
    """Take an invitation back that nobody has answered."""
    study = access_study_as_organizer(request.user, study_id, slug=slug)
    try:
        if name := withdraw(study, reviewer_id=reviewer_id, actor=signed_in(request)):
            messages.success(request, f"The invitation of {name} was taken back.")
    except HasAnswered as refusal:
        messages.error(request, refusal.message)
    return redirect("organizer-study", slug, study_id)


@require_POST
@login_required
def set_state(request: HttpRequest, slug: str, study_id: UUID) -> HttpResponse:
    """Close a study, or open it again."""
    study = access_study_as_organizer(request.user, study_id, slug=slug)
    move = close if request.POST.get("state") == StudyState.CLOSED else reopen
    move(study, actor=signed_in(request))
    closed = study.state == StudyState.CLOSED
    messages.success(request, "The study is closed: no answer changes any more." if closed else "The study is open.")
    return redirect("organizer-study", slug, study_id)


@require_GET
@login_required
def answers(request: HttpRequest, slug: str, study_id: UUID) -> HttpResponse:
    """Every answer as CSV."""
    return csv_response(access_study_as_organizer(request.user, study_id, slug=slug))
