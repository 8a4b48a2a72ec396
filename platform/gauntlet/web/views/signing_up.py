"""Signing up. The form and its checks are allauth's; of two who sign up by one name at once the second is told so."""

from __future__ import annotations

from allauth.account.views import SignupView
from django.db import IntegrityError
from django.forms import BaseForm
from django.http import HttpResponse


class SignUp(SignupView):  # type: ignore[misc]  # allauth ships no types
    """The page on which one signs up."""

    def form_valid(self, form: BaseForm) -> HttpResponse:
        """Make the account; where another took the name or the address after the checks, check again."""
        try:
            made: HttpResponse = super().form_valid(form)
        except IntegrityError:
            form.full_clean()
            made = super().form_valid(form) if form.is_valid() else self.form_invalid(form)
        return made
