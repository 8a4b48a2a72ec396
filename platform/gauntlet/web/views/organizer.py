"""Pages for organizers: submissions, participants, import."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from gauntlet.competitions.access import access_competition_as_organizer, access_participation_as_organizer
from gauntlet.competitions.bundle.findings import Finding
from gauntlet.competitions.errors import BundleRefused, SlugTaken
from gauntlet.competitions.models import Competition, ParticipationState
from gauntlet.competitions.services import decide_participations, import_with_warnings, publish
from gauntlet.competitions.visibility import Audience
from gauntlet.web.competition_page import open_page
from gauntlet.web.forms import ImportForm
from gauntlet.web.organizer_page import STATES, participation_counts, participations_of, submissions_of
from gauntlet.web.submission_rows import submission_rows
from gauntlet.web.templatetags.gauntlet_ui import size
from gauntlet.web.views.accounts import signed_in
from gauntlet.web.views.submissions import page_of

_MOST_DECISIONS = 200  # at once; a page has fewer rows


def _query(**given: str) -> str:
    kept = urlencode({name: value for name, value in given.items() if value})
    return f"{kept}&" if kept else ""


@require_GET
@login_required
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """All submissions, filtered by state, phase and participant."""
    competition = access_competition_as_organizer(request.user, slug)
    state = request.GET.get("state", "")
    participant = request.GET.get("participant", "").strip()[:150]
    phase = request.GET.get("phase", "")[:4]
    found = page_of(request, submissions_of(competition, state=state, participant=participant, phase=phase))
    context = open_page(request, slug).context(
        "organizer",
        section="submissions",
        pending=participation_counts(competition)["pending"],
        rows=submission_rows(found.object_list, audience=Audience.ORGANIZER),
        total=found.paginator.count,
        page=found.number,
        pages=found.paginator.num_pages,
        query=_query(state=state, participant=participant, phase=phase),
        states=STATES,
        state=state,
        participant=participant,
        phase_filter=phase,
        filtered=bool(state or participant or phase),
    )
    return render(request, "organizer/submissions.html", context)


@require_http_methods(["GET", "POST"])
@login_required
def participants(request: HttpRequest, slug: str) -> HttpResponse:
    """Who takes part and who asks to; approve or deny the selected."""
    competition = access_competition_as_organizer(request.user, slug)
    if request.method == "POST":
        return _decide(request, competition)
    state = request.GET.get("state", "")
    state = state if state in ParticipationState.values else ""
    counts = participation_counts(competition)
    found = page_of(request, participations_of(competition, state=state))
    context = open_page(request, slug).context(
        "organizer",
        section="participants",
        pending=counts["pending"],
        counts=counts,
        rows=found.object_list,
        page=found.number,
        pages=found.paginator.num_pages,
        query=_query(state=state),
        state=state,
    )
    return render(request, "organizer/participants.html", context)


@require_POST
@login_required
def publish_competition(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a draft to everybody."""
    competition = access_competition_as_organizer(request.user, slug)
    publish(competition, actor=signed_in(request))
    messages.success(request, f"{competition.title} is published: everybody sees it now.")
    return redirect("competition", slug)


def _decide(request: HttpRequest, competition: Competition) -> HttpResponse:
    decision = request.POST.get("decision", "")
    who = [int(pk) for pk in request.POST.getlist("who") if pk.isdecimal() and len(pk) < 19][:_MOST_DECISIONS]
    if decision not in ("approved", "denied") or not who:
        messages.warning(request, "Nobody was selected; nothing was changed.")
    else:
        chosen = [access_participation_as_organizer(request.user, competition.slug, pk) for pk in who]
        decide_participations(chosen, approve=decision == "approved", actor=signed_in(request))
        names = [participation.user.username for participation in chosen]
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        messages.success(request, f"{'Approved' if decision == 'approved' else 'Denied'}: {listed}.")
    back = reverse("organizer-participants", args=[competition.slug])
    state = request.POST.get("state", "")
    return redirect(f"{back}?state={state}" if state in ParticipationState.values else back)


@require_http_methods(["GET", "POST"])
@login_required
@permission_required("competitions.add_competition", raise_exception=True)
def import_page(request: HttpRequest) -> HttpResponse:
    """Check a bundle and make a competition of it, or say by file and line what is wrong.

    A script that asks for JSON gets an address to go to only when there is nothing to read here.
    """
    form = ImportForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {
        "nav": "home",
        "form": form,
        "max_bytes": settings.MAX_BUNDLE_BYTES,
        "bundle_hint": f"A .zip with competition.yaml at its top, at most {size(settings.MAX_BUNDLE_BYTES)}.",
    }
    if request.method == "GET" or not form.is_valid():
        return render(request, "organizer/import.html", context, status=200 if request.method == "GET" else 422)
    upload: UploadedFile[Any] = form.cleaned_data["bundle"]
    try:
        made, warnings = _import(upload, request)
    except SlugTaken as refusal:
        form.add_error("bundle", f"{refusal.message.partition(';')[0]}. Change the title in competition.yaml.")
        return render(request, "organizer/import.html", context, status=refusal.status)
    except BundleRefused as refusal:
        errors = sum(finding.level == "error" for finding in refusal.findings)
        context |= {"findings": refusal.findings, "refused": True, "errors": errors, "file_name": upload.name}
        return render(request, "organizer/import.html", context, status=refusal.status)
    if warnings:
        context |= {"findings": warnings, "made": made}
        return render(request, "organizer/import.html", context, status=201)
    messages.success(request, f"{made.title} was imported. It is a draft until you publish it.")
    place = reverse("competition", args=[made.slug])
    if request.headers.get("Accept") == "application/json":
        return JsonResponse({"location": place})
    return redirect(place)


def _import(upload: UploadedFile[Any], request: HttpRequest) -> tuple[Competition, Sequence[Finding]]:
    with tempfile.NamedTemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR, suffix=".zip") as copy:
        for chunk in upload.chunks():
            copy.write(chunk)
        copy.flush()
        return import_with_warnings(Path(copy.name), organizer=signed_in(request), publish=False)
