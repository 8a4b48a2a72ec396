"""An organizer's page of language models: providers are set and removed, and their keys are never shown."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from pydantic import SecretStr

from gauntlet.competitions.access import access_competition_as_organizer
from gauntlet.metering.own_machines import missing_keys
from gauntlet.metering.selectors import providers_of, unreadable_providers, wanted_providers
from gauntlet.metering.services import remove_provider, set_provider
from gauntlet.web.competition_page import open_page
from gauntlet.web.forms import ModelProviderForm
from gauntlet.web.organizer_page import participation_counts
from gauntlet.web.views.accounts import signed_in


@sensitive_post_parameters("key")
@require_http_methods(["GET", "POST"])
@login_required
def model_providers(request: HttpRequest, slug: str) -> HttpResponse:
    """The competition's providers, and a form that sets one."""
    competition = access_competition_as_organizer(request.user, slug)
    form = ModelProviderForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        set_provider(
            competition=competition,
            name=given["name"],
            url=given["url"],
            key=SecretStr(given["key"]),
            limit_field=given["limit_field"],
            trusted=False,
            actor=signed_in(request),
        )
        messages.success(request, f"The provider “{given['name']}” is set.")
        return redirect("organizer-models", slug)
    context = open_page(request, slug).context(
        "organizer",
        section="models",
        pending=participation_counts(competition)["pending"],
        providers=providers_of(competition),
        wanted=wanted_providers(competition),
        unreadable=unreadable_providers(competition),
        missing=missing_keys(competition, competition.phases.all()),
        form=form,
    )
    return render(request, "organizer/models.html", context, status=422 if request.method == "POST" else 200)


@require_POST
@login_required
def remove_model_provider(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Forget a provider with its key."""
    competition = access_competition_as_organizer(request.user, slug)
    if remove_provider(competition=competition, name=name, actor=signed_in(request)):
        messages.success(request, f"The provider “{name}” was removed with its key.")
    return redirect("organizer-models", slug)
