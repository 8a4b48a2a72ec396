"""Two submissions side by side."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from gauntlet.evaluation.comparing import candidates, compare_submissions, readable_submission
from gauntlet.web import comparison_page


@require_GET
def comparison(request: HttpRequest, submission_id: UUID) -> HttpResponse:
    """A submission beside the one that ``?with=`` names; without it, beside the newest other one."""
    now = timezone.now()
    submission, audience = readable_submission(request.user, submission_id, now=now)
    others = list(candidates(submission, audience=audience))
    wanted = request.GET.get("with", "")
    other = next((one for one in others if str(one.pk) == wanted), None if wanted or not others else others[0])
    context = {"submission": submission, "others": others, "other": other, "unknown": bool(wanted) and other is None}
    if other is not None:
        found = compare_submissions(request.user, submission.pk, other.pk, now=now)
        rows = comparison_page.rows(found)
        changes = comparison_page.changes(found, audience=audience, now=now)
        context |= {"rows": rows, "said": comparison_page.said(found, rows), "changes": changes}
    return render(request, "submissions/comparison.html", context)
