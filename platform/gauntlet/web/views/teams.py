"""The page of one's team in a competition: make one, join one, see who is in it, leave it."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from gauntlet.api_errors import DomainError
from gauntlet.competitions.access import access_competition_as_participant
from gauntlet.submissions import teams
from gauntlet.web.competition_page import open_page
from gauntlet.web.views.accounts import signed_in


@require_GET
@login_required
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """The reader's team, or the two ways into one."""
    return _page(request, slug)


def _page(request: HttpRequest, slug: str, *, problem: str = "", at: str = "", status: int = 200) -> HttpResponse:
    page = open_page(request, slug)
    found = teams.team_of(signed_in(request), page.competition) if page.participation == "approved" else None
    context = page.context("team", own_team=found, problem=problem, at=at, sent=request.POST.get(at, ""))
    return render(request, "competition/team.html", context, status=status)


@require_POST
@login_required
def create_team(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a team."""
    user = signed_in(request)
    competition, _ = access_competition_as_participant(user, slug)
    name = request.POST.get("name", "")
    return _done(
        request,
        slug,
        at="name",
        act=lambda: teams.create_team(competition, captain=user, name=name).name,
        said="The team {} is made. Give its code to those who are to join.",
    )


@require_POST
@login_required
def join_team(request: HttpRequest, slug: str) -> HttpResponse:
    """Join a team by its code."""
    user = signed_in(request)
    competition, _ = access_competition_as_participant(user, slug)
    code = request.POST.get("code", "")[:64]
    return _done(
        request,
        slug,
        at="code",
        act=lambda: teams.join_team(competition, user=user, code=code).name,
        said="You are in the team {} now.",
    )


@require_POST
@login_required
def leave_team(request: HttpRequest, slug: str) -> HttpResponse:
    """Leave one's team."""
    user = signed_in(request)
    competition, _ = access_competition_as_participant(user, slug)

    def leave() -> str:
        teams.leave_team(competition, user=user)
        return ""

    return _done(request, slug, at="leave", act=leave, said="You take part alone now.")


def _done(request: HttpRequest, slug: str, *, at: str, act: Callable[[], str], said: str) -> HttpResponse:
    """Do it and say so, or show the refusal at the field that it is about."""
    try:
        name = act()
    except DomainError as refusal:
        return _page(request, slug, problem=refusal.message, at=at, status=refusal.status)
    messages.success(request, said.format(name))
    return redirect("team", slug)
