"""The profile, with the reader's API tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from gauntlet.accounts.models import User
from gauntlet.accounts.selectors import tokens_of
from gauntlet.accounts.services import access_token_as_owner, create_token, revoke_token
from gauntlet.queues.access import may_make_queues
from gauntlet.queues.selectors import queues_usable_by
from gauntlet.web.forms import TokenForm


def signed_in(request: HttpRequest) -> User:
    """The reader of a view that is behind ``login_required``."""
    assert isinstance(request.user, User)  # noqa: S101 -- login_required stands before every caller
    return request.user


def _profile(request: HttpRequest, form: TokenForm, *, status: int = 200, **more: Any) -> HttpResponse:
    user = signed_in(request)
    context = {
        "nav": "profile",
        "tokens": tokens_of(user),
        "has_queues": may_make_queues(user) or queues_usable_by(user).exists(),
        "form": form,
        "chosen_scopes": form["scopes"].value() or [],
        **more,
    }
    return render(request, "accounts/profile.html", context, status=status)


@require_GET
@login_required
def profile(request: HttpRequest) -> HttpResponse:
    """The reader's account."""
    return _profile(request, TokenForm())


@require_POST
@login_required
@never_cache
def token_create(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once: the answer is not a redirect, and nothing of it is stored."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _profile(request, form, status=422)
    given = form.cleaned_data
    ttl = timedelta(days=given["days"]) if given["days"] else None
    token, plain = create_token(signed_in(request), name=given["name"], scopes=given["scopes"], ttl=ttl)
    return _profile(request, TokenForm(), new_token=plain, new_name=token.name)


@require_POST
@login_required
def token_revoke(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """End one of the reader's tokens."""
    token = access_token_as_owner(signed_in(request), token_id)
    revoke_token(token, actor=signed_in(request))
    messages.success(request, f"The token “{token.name}” no longer works.")
    return redirect("profile")
