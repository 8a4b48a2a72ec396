"""The list of competitions, the site's terms, the switch of colours."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from gauntlet.accounts.models import User
from gauntlet.reviews.selectors import open_invitations
from gauntlet.web.home_page import home_rows
from gauntlet.web.templatetags.gauntlet_ui import THEMES

_YEAR = 365 * 24 * 3600


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The competitions that this reader may see."""
    context = {
        "nav": "home",
        "competitions": home_rows(request.user),
        "invitations": open_invitations(request.user) if isinstance(request.user, User) else 0,
        "can_import": request.user.has_perm("competitions.add_competition"),
    }
    return render(request, "home.html", context)


@require_GET
def site_terms(request: HttpRequest) -> HttpResponse:
    """The terms of the site."""
    return render(request, "site_terms.html")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the colours in a cookie and go back to the page."""
    chosen = request.POST.get("theme", "")
    back = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = "/"
    response = HttpResponseRedirect(back)
    if chosen in THEMES:
        response.set_cookie("theme", chosen, max_age=_YEAR, samesite="Lax", secure=request.is_secure())
    return response
