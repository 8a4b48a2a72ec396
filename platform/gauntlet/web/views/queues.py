"""Pages of own queues: list and make, one queue with its workers and tokens, and which queue a phase uses."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from gauntlet.competitions.access import access_competition_as_organizer, access_phase
from gauntlet.evaluation.errors import QueueIsServed, RunsNowhereElse
from gauntlet.evaluation.own_queues import change_phase_queue, delete_queue, send_phase_back
from gauntlet.evaluation.queue_api import access_phase_of_queue
from gauntlet.evaluation.queue_lines import queue_lines
from gauntlet.evaluation.stranded import end_stranded, stranded_of
from gauntlet.queues import services
from gauntlet.queues.access import (
    access_queue_as_owner,
    access_queue_as_user,
    access_token_as_owner,
    may_make_queues,
)
from gauntlet.queues.errors import (
    CannotShare,
    InvalidQueueName,
    QueueInUse,
    QueueNameTaken,
    QueueNotUsable,
    TooMany,
)
from gauntlet.queues.models import Queue
from gauntlet.queues.selectors import queues_usable_by
from gauntlet.web.competition_page import open_page
from gauntlet.web.forms import DeleteQueueForm, QueueForm, QueueTokenForm, ShareQueueForm
from gauntlet.web.organizer_page import participation_counts
from gauntlet.web.queue_page import phase_queues, queue_context
from gauntlet.web.views.accounts import signed_in
from gauntlet.web.views.submissions import page_of


@require_http_methods(["GET", "POST"])
@login_required
def queues(request: HttpRequest) -> HttpResponse:
    """The reader's queues, and a form that makes one."""
    user = signed_in(request)
    form = QueueForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            queue = services.create_queue(form.cleaned_data["name"], owner=user)
        except (InvalidQueueName, QueueNameTaken, TooMany) as refusal:
            form.add_error("name", refusal.message)
        else:
            return redirect("queue", queue.name)
    context = {
        "nav": "queues",
        "lines": queue_lines(queues_usable_by(user)),
        "may_make": may_make_queues(user),
        "form": form,
    }
    return render(request, "queues/list.html", context, status=422 if request.method == "POST" else 200)


def _page(request: HttpRequest, queue: Queue, *, status: int = 200, **more: Any) -> HttpResponse:
    forms = {"token_form": QueueTokenForm(), "share_form": ShareQueueForm(), "delete_form": DeleteQueueForm(queue)}
    context = queue_context(request, queue, user=signed_in(request), forms=forms)
    context["workers"] = page_of(request, context["detail"].workers, 100)
    return render(request, "queues/page.html", context | more, status=status)


@require_GET
@login_required
def queue(request: HttpRequest, name: str) -> HttpResponse:
    """One queue."""
    return _page(request, access_queue_as_user(request.user, name))


@require_POST
@login_required
@never_cache
def issue_token(request: HttpRequest, name: str) -> HttpResponse:
    """Make a token and show it, this once: the answer is not a redirect, and nothing of it is stored."""
    queue = access_queue_as_owner(request.user, name)
    form = QueueTokenForm(request.POST)
    if form.is_valid():
        try:
            token, plain = services.issue_token(queue, label=form.cleaned_data["label"], actor=signed_in(request))
        except TooMany as refusal:
            form.add_error("label", refusal.message)
        else:
            return _page(request, queue, new_token=plain, new_label=token.label)
    return _page(request, queue, status=422, token_form=form)


@require_POST
@login_required
def revoke_token(request: HttpRequest, name: str, token_id: UUID) -> HttpResponse:
    """End one of the queue's tokens."""
    token = access_token_as_owner(request.user, name, token_id)
    services.revoke_token(token, actor=signed_in(request))
    messages.success(request, f"The token “{token.label}” no longer works.")
    return redirect("queue", name)


@require_POST
@login_required
def share(request: HttpRequest, name: str) -> HttpResponse:
    """Let somebody else use the queue for their competitions."""
    queue = access_queue_as_owner(request.user, name)
    form = ShareQueueForm(request.POST)
    if form.is_valid():
        try:
            person = services.share_queue(queue, username=form.cleaned_data["person"], actor=signed_in(request))
        except (CannotShare, TooMany) as refusal:
            form.add_error("person", refusal.message)
        else:
            messages.success(request, f"{person.username} may name this queue in competitions now.")
            return redirect("queue", name)
    return _page(request, queue, status=422, share_form=form)


@require_POST
@login_required
def unshare(request: HttpRequest, name: str) -> HttpResponse:
    """Let somebody name the queue in no further competition."""
    queue = access_queue_as_owner(request.user, name)
    form = ShareQueueForm(request.POST)
    if form.is_valid():
        person = form.cleaned_data["person"]
        if services.unshare_queue(queue, username=person, actor=signed_in(request)):
            messages.success(request, f"{person} may name this queue in no further competition.")
    return redirect("queue", name)


@require_POST
@login_required
def send_back(request: HttpRequest, name: str, phase_id: int) -> HttpResponse:
    """Serve a phase no longer."""
    queue = access_queue_as_owner(request.user, name)
    phase = access_phase_of_queue(queue, phase_id)
    moved = send_phase_back(phase, queue=queue, actor=signed_in(request))
    messages.success(request, f"The phase {phase.name} waits for the platform's workers now.{_moved(moved)}")
    return redirect("queue", name)


@require_POST
@login_required
def delete(request: HttpRequest, name: str) -> HttpResponse:
    """End the queue, once its name was typed and nothing uses it."""
    queue = access_queue_as_owner(request.user, name)
    form = DeleteQueueForm(queue, request.POST)
    if form.is_valid():
        try:
            delete_queue(queue, actor=signed_in(request))
        except QueueInUse as refusal:
            form.add_error("typed", refusal.message)
        else:
            messages.success(request, f"The queue {name} was deleted with its tokens.")
            return redirect("queues")
    return _page(request, queue, status=422, delete_form=form)


@require_http_methods(["GET", "POST"])
@login_required
def of_phases(request: HttpRequest, slug: str) -> HttpResponse:
    """Which queue each phase of a competition uses, and what of it waits where nobody works; for its organizers."""
    user = signed_in(request)
    competition = access_competition_as_organizer(user, slug)
    problem = ""
    if request.method == "POST":
        index = request.POST.get("phase", "")
        phase = access_phase(competition, int(index) if re.fullmatch("[0-9]{1,5}", index) else -1)
        queue, stranded = request.POST.get("queue", ""), request.POST.get("stranded")
        try:
            if stranded is None:
                moved = change_phase_queue(phase, queue=queue, actor=user)
                done = f"The phase {phase.name} uses the queue {phase.queue}.{_moved(moved)}"
            else:
                again = stranded == "again"
                done = _ended(end_stranded(phase, queue=queue, again=again, actor=user), again=again)
        except (QueueNotUsable, QueueIsServed, RunsNowhereElse) as refusal:
            problem = refusal.message
        else:
            messages.success(request, done)
            return redirect("organizer-queues", slug)
    lines, missing = phase_queues(competition, user=user)
    context = open_page(request, slug).context(
        "organizer",
        section="queues",
        pending=participation_counts(competition)["pending"],
        lines=lines,
        missing=missing,
        stranded=stranded_of(competition),
        problem=problem,
    )
    return render(request, "organizer/queues.html", context, status=409 if problem else 200)


def _ended(evaluations: int, *, again: bool) -> str:
    runs = f"{evaluations} run{'' if evaluations == 1 else 's'}"
    what = "began again" if again else "ended, and the attempts were given back"
    return f"{runs} {what}."


def _moved(jobs: int) -> str:
    return f" {jobs} waiting job{'' if jobs == 1 else 's'} moved along." if jobs else ""
