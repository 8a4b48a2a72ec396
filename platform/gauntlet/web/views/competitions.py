"""A competition's own pages: overview, terms, joining, leaderboard."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from gauntlet.competitions.access import access_competition_as_visitor
from gauntlet.competitions.errors import TermsNotAccepted
from gauntlet.competitions.models import Leaderboard, Phase
from gauntlet.competitions.rendering import render as render_markdown
from gauntlet.competitions.selectors import phase_state
from gauntlet.competitions.services import join
from gauntlet.leaderboards.access import board_for_reader
from gauntlet.leaderboards.errors import BoardNotFound, BoardNotVisible
from gauntlet.leaderboards.selectors import board as read_board
from gauntlet.submissions.teams import entrant_id
from gauntlet.web import board_page
from gauntlet.web.competition_page import CompetitionPage, open_page


@require_GET
def overview(request: HttpRequest, slug: str, index: int | None = None) -> HttpResponse:
    """The organizer's pages, phases, and the way in."""
    page = open_page(request, slug)
    return render(request, "competition/overview.html", _overview(page, index))


def _overview(page: CompetitionPage, index: int | None, **more: Any) -> dict[str, Any]:
    pages = list(page.competition.pages.all())
    shown = next((one for one in pages if index is None or one.index == index), None)
    if index is not None and shown is None:
        raise Http404
    titled = shown is not None and shown.html.lstrip().startswith("<h1")  # the text has a heading of its own
    return page.context("overview", pages=pages, page=shown, titled=titled, **more)


@require_GET
def terms(request: HttpRequest, slug: str) -> HttpResponse:
    """The competition's terms."""
    page = open_page(request, slug)
    return render(
        request,
        "competition/terms.html",
        page.context("overview", terms_html=render_markdown(page.competition.terms)),
    )


@require_POST
@login_required
def join_competition(request: HttpRequest, slug: str) -> HttpResponse:
    """Accept the terms and take part, or ask to."""
    competition = access_competition_as_visitor(request.user, slug)
    accepted = request.POST.get("terms") == "accepted"
    try:
        participation = join(competition, user=request.user, terms_accepted=accepted)  # type: ignore[arg-type]  # logged in
    except TermsNotAccepted as problem:
        context = _overview(open_page(request, slug), None, join_problem=problem.message)
        return render(request, "competition/overview.html", context, status=problem.status)
    if participation.state == "approved":
        messages.success(request, f"You take part in {competition.title}. You can submit now.")
    else:
        messages.info(request, "Your request was sent. You can submit as soon as the organizer has approved it.")
    return redirect("competition", slug)


@require_GET
def leaderboard(request: HttpRequest, slug: str, index: int | None = None) -> HttpResponse:
    """The board of a phase: by default of the phase that is on."""
    page = open_page(request, slug)
    phase = page.phase if index is None else page.phase_at(index)
    context = page.context("leaderboard", shown_phase=phase, board=None, no_board="It has no phase yet.")
    if phase is not None:
        try:
            found = board_for_reader(request.user, page.competition, phase=phase)
        except (BoardNotFound, BoardNotVisible) as refusal:
            context["no_board"] = refusal.message
        else:
            context |= _board(request, page, phase, found)
    return render(request, "competition/leaderboard.html", context)


def _board(request: HttpRequest, page: CompetitionPage, phase: Phase, leaderboard: Leaderboard) -> dict[str, Any]:
    search = request.GET.get("q", "").strip()[:150]
    number = request.GET.get("page", "1")
    board = read_board(
        leaderboard=leaderboard,
        phase=phase,
        reader_id=entrant_id(request.user, page.competition),
        sort=request.GET.get("sort", ""),
        search=search,
        page=int(number) if number.isdecimal() and len(number) < 7 else 1,
        page_size=board_page.PAGE_SIZE,
    )
    query = board_page.with_query(request.GET)
    return {
        "board": board,
        "search": search,
        "heads": board_page.heads(board, request.GET),
        "rows": board_page.rows(board),
        "published": board_page.published_rows(board),
        "labels": board_page.phone_labels(board),
        "own": board_page.own_row(board),
        "unverified": board_page.unverified_rules(board),
        "notes": board_page.notes(board),
        "public_scenarios": board.scenarios - board.hidden_scenarios,
        "has_intervals": board_page.has_intervals(board),
        "page_query": f"{query}&" if query else "",
        "phase_state": phase_state(phase, page.now),
        "csv_url": reverse("api-leaderboard-csv", args=[page.competition.slug, phase.index]),
        "json_url": reverse("api-leaderboard", args=[page.competition.slug, phase.index]),
    }
