"""Taking a submission off the boards from its page, and letting it back."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from gauntlet.evaluation.errors import ReasonMissing
from gauntlet.evaluation.exclusions import exclude_submission, readmit_submission
from gauntlet.submissions.access import access_submission_as_organizer
from gauntlet.web.views.accounts import signed_in


@require_POST
@login_required
def exclude(request: HttpRequest, submission_id: UUID) -> HttpResponse:
    """Take it off the boards, or let it back where it is off them and the form says so."""
    user = signed_in(request)
    submission = access_submission_as_organizer(user, submission_id)
    if request.POST.get("act") == "readmit":
        readmit_submission(submission, actor=user)
        messages.success(request, "The submission stands on the boards again, by their rules.")
        return redirect("submission", submission_id)
    try:
        exclude_submission(submission, reason=request.POST.get("reason", ""), actor=user)
    except ReasonMissing as refusal:
        messages.warning(request, refusal.message)
    else:
        messages.success(request, "The submission is off the boards; its owner reads why.")
    return redirect("submission", submission_id)
