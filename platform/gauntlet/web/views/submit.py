"""The way in for an agent bundle."""

from __future__ import annotations

from collections.abc import Set
from datetime import UTC
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from gauntlet.accounts.models import User
from gauntlet.api_errors import DomainError
from gauntlet.competitions.models import Phase, Takes
from gauntlet.competitions.visibility import Audience
from gauntlet.evaluation.selectors import submission_list
from gauntlet.submissions.models import Source, Submission
from gauntlet.submissions.once import Once
from gauntlet.submissions.quotas import Allowance, allowances
from gauntlet.submissions.services import receive, receive_sent
from gauntlet.web.competition_page import CompetitionPage, open_page
from gauntlet.web.forms import SubmitForm
from gauntlet.web.queue_page import phases_run_on
from gauntlet.web.submission_rows import submission_rows
from gauntlet.web.templatetags.gauntlet_ui import size
from gauntlet.web.views.accounts import signed_in
from gauntlet.web.views.submissions import limits


@require_http_methods(["GET", "POST"])
def submit(request: HttpRequest, slug: str) -> HttpResponse:
    """The form with its limits; a bundle becomes a submission. Answers JSON to a script that asks for it."""
    page = open_page(request, slug)
    phases = [line.phase for line in page.phases if line.state == "open"]
    if request.method == "GET" or not request.user.is_authenticated:
        return render(request, "competition/submit.html", _context(request, page, SubmitForm(phases=phases), phases))
    form = SubmitForm(request.POST, request.FILES, phases=phases)
    status = 422
    if form.is_valid():
        phase = next(phase for phase in phases if phase.index == form.cleaned_data["phase"])
        try:
            submission = _received(form.cleaned_data, phase, signed_in(request))
        except DomainError as refusal:
            form.add_error(None, refusal.message)
            status = refusal.status
        else:
            place = reverse("submission", args=[submission.pk])
            return JsonResponse({"location": place}) if _by_script(request) else redirect(place)
    if _by_script(request):
        return JsonResponse({"errors": form.errors}, status=status)
    return render(request, "competition/submit.html", _context(request, page, form, phases), status=status)


def _received(sent: dict[str, Any], phase: Phase, participant: User) -> Submission:
    """Take the file of the form, or the one that a script has sent in parts.

    A form that is sent twice, or again after a time-out, makes one submission of one file. One may go back to it and
    choose another file.
    """
    upload, name = sent["bundle"], sent["name"]
    once = Once(f"form {sent['once']}", any_file=True) if sent["once"] else None
    if not upload:
        return receive_sent(sent["upload"], phase=phase, participant=participant, name=name, once=once)
    return receive(
        phase=phase,
        participant=participant,
        upload=upload,
        file_name=upload.name,
        name=name,
        source=Source.WEB,
        once=once,
    )


def _by_script(request: HttpRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def _wanted(takes: Set[str]) -> str:
    """What the open phases take, and how large, for the hint at the field."""
    largest = size(settings.MAX_BUNDLE_BYTES)
    if takes == {Takes.RESULTS}:
        return f"A .zip of your result files, at most {largest}."
    results = ", or of your result files" if Takes.RESULTS in takes else ""
    image = f"Or a container image, at most {size(settings.MAX_IMAGE_BYTES)}."
    return f"A .zip with agent.yaml at its top{results}, at most {largest}. {image}"


def _left(quota: Allowance) -> str:
    """What is left of a phase's attempts, for the hint at the choice of a phase."""
    if not quota.allowed:
        until = f" until {quota.next_allowed_at.astimezone(UTC):%H:%M} UTC" if quota.next_allowed_at else ""
        return f"{quota.phase.name}: none left{until}."
    numbers = [number for number in (quota.left_today, quota.left_total) if number is not None]
    today = "" if quota.left_today is None else " today"
    return f"{quota.phase.name}: {min(numbers)} left{today}." if numbers else f"{quota.phase.name}: no limit."


def _context(request: HttpRequest, page: CompetitionPage, form: SubmitForm, phases: list[Phase]) -> dict[str, Any]:
    takes = {phase.takes for phase in phases}
    coming = [line.phase for line in page.phases if line.state == "future"]
    context = page.context(
        "submit",
        form=form,
        open_phases=phases,
        next_phase=coming[0] if coming else None,
        closed=not phases and not coming,
        last_phase=page.phases[-1].phase if page.phases else None,
        bundle_hint=_wanted(takes),
        takes=takes,
        runs_on=phases_run_on(phases),
        **limits(),
    )
    if page.participation == "approved":
        participant = signed_in(request)
        quotas = allowances(phases, participant=participant, now=page.now)
        context["quotas"] = quotas
        context["allowance"] = quotas[0] if len(quotas) == 1 else None
        context["phase_hint"] = " ".join(_left(one) for one in quotas)
        latest = submission_list(participant, competition=page.competition.slug)[:1]
        context["latest"] = next(iter(submission_rows(latest, audience=Audience.OWNER)), None)
    return context
