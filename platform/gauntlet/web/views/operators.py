"""Pages for operators."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from gauntlet.evaluation.workers import worker_lines
from gauntlet.web.views.accounts import signed_in


@require_GET
@login_required
def workers(request: HttpRequest) -> HttpResponse:
    """The worker processes of all hosts, when each was last heard of, and why it takes no job; for staff."""
    if not signed_in(request).is_staff:
        raise PermissionDenied
    return render(request, "operators/workers.html", {"nav": "workers", "rows": worker_lines()})
