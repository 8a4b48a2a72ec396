"""Pages for operators."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gauntlet.evaluation.workers import worker_lines
from gauntlet.web.views.accounts import signed_in
from gauntlet.web.views.submissions import page_of
from gauntlet.web.workers_page import workers_told


@require_GET
@login_required
def workers(request: HttpRequest) -> HttpResponse:
    """The worker processes of all hosts, when each was last heard of, and why it takes no job; for staff."""
    if not signed_in(request).is_staff:
        raise PermissionDenied
    lines = worker_lines()
    context = {"nav": "workers", "rows": page_of(request, lines, 100), "summary": workers_told(lines)}
    return render(request, "operators/workers.html", context)
