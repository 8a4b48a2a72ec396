"""Organizers' pages of teams: who is in which, and one team's name, captain and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from gauntlet.api_errors import DomainError
from gauntlet.competitions.access import (
    access_competition_as_organizer,
    access_participation_by_name,
    access_team_as_organizer,
)
from gauntlet.competitions.errors import TeamNotFound
from gauntlet.competitions.models import Competition, Team
from gauntlet.evaluation import team_changes
from gauntlet.submissions.errors import TeamNameTaken
from gauntlet.submissions.teams import team_as_listed, teams_of
from gauntlet.web.competition_page import open_page
from gauntlet.web.organizer_page import participation_counts
from gauntlet.web.views.accounts import signed_in
from gauntlet.web.views.submissions import page_of


@require_http_methods(["GET", "POST"])
@login_required
def teams(request: HttpRequest, slug: str) -> HttpResponse:
    """All teams, and a form that puts a person into one or out of theirs."""
    competition = access_competition_as_organizer(request.user, slug)
    refusal = None
    if request.method == "POST":
        try:
            _move(request, competition)
        except DomainError as error:
            refusal = error
        else:
            return redirect("organizer-teams", slug)
    found = page_of(request, teams_of(competition))
    return _page(
        request,
        "organizer/teams.html",
        competition,
        refusal=refusal,
        rows=found.object_list,
        page=found.number,
        pages=found.paginator.num_pages,
        total=found.paginator.count,
        query="",
    )


def _move(request: HttpRequest, competition: Competition) -> None:
    username, name = (request.POST.get(key, "").strip()[:150] for key in ("user", "to"))
    person = access_participation_by_name(request.user, competition.slug, username)
    to = _named(competition, name) if name else None
    team_changes.move_person(person, to=to, actor=signed_in(request))
    messages.success(
        request, f"{username} is in the team {to.name} now." if to else f"{username} takes part alone now."
    )


def _named(competition: Competition, name: str) -> Team:
    team = competition.teams.filter(name__iexact=name).first()
    if team is None:
        raise TeamNotFound(f"There is no team named “{name}”. Write its name as it stands in the list.")
    return team


@require_http_methods(["GET", "POST"])
@login_required
def team(request: HttpRequest, slug: str, team_id: int) -> HttpResponse:
    """One team: its people, and what can be changed about it."""
    chosen = access_team_as_organizer(request.user, slug, team_id)
    refusal = None
    if request.method == "POST":
        act = _ACTS.get(request.POST.get("act", ""))
        try:
            left = act(request, chosen) if act else chosen
        except DomainError as error:
            refusal = error
        else:
            return redirect("organizer-team", slug, left.pk) if left else redirect("organizer-teams", slug)
    shown = team_as_listed(chosen)
    return _page(request, "organizer/team.html", chosen.competition, refusal=refusal, team=shown)


def _rename(request: HttpRequest, team: Team) -> Team:
    renamed = team_changes.rename_team(team, name=request.POST.get("rename", ""), actor=signed_in(request))
    messages.success(request, f"The team is named {renamed.name} now, on every board.")
    return renamed


def _appoint(request: HttpRequest, team: Team) -> Team:
    username = request.POST.get("captain", "")[:150]
    changed = team_changes.appoint_captain(team, username=username, actor=signed_in(request))
    messages.success(request, f"{username} is the captain of {changed.name} now.")
    return changed


def _merge(request: HttpRequest, team: Team) -> Team:
    into = _named(team.competition, request.POST.get("merge", "").strip()[:150])
    merged = team_changes.merge_teams(team, into=into, actor=signed_in(request))
    messages.success(request, f"{team.name} is part of {merged.name} now.")
    return merged


def _dissolve(request: HttpRequest, team: Team) -> None:
    if request.POST.get("dissolve", "").strip() != team.name:
        raise TeamNameTaken(f"Type the name of the team, {team.name}, to dissolve it.")
    team_changes.dissolve_team(team, actor=signed_in(request))
    messages.success(request, f"{team.name} is dissolved; its people take part alone now.")


_ACTS: dict[str, Callable[[HttpRequest, Team], Team | None]] = {
    "rename": _rename,
    "captain": _appoint,
    "merge": _merge,
    "dissolve": _dissolve,
}


def _page(
    request: HttpRequest, template: str, competition: Competition, *, refusal: DomainError | None, **given: Any
) -> HttpResponse:
    """The page, with a refusal at the field that was sent."""
    at = request.POST.get("act", "")
    context = open_page(request, competition.slug).context(
        "organizer",
        section="teams",
        pending=participation_counts(competition)["pending"],
        problem=refusal.message if refusal else "",
        at=at,
        sent=request.POST,
        **given,
    )
    return render(request, template, context, status=refusal.status if refusal else 200)
