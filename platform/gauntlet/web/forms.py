"""Forms of the pages."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms

from gauntlet.accounts.models import TokenScope
from gauntlet.competitions.models import Phase
from gauntlet.metering.configuration import checked_url


class SubmitForm(forms.Form):
    """An agent bundle, or results, for one of the phases that are open."""

    phase = forms.TypedChoiceField(label="Phase", coerce=int)
    bundle = forms.FileField(
        label="File",
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,application/zip,.tar,.gz,.tgz,.zst"}),
        error_messages={"required": "Choose the .zip file that you want to submit.", "empty": "This file is empty."},
    )
    name = forms.CharField(label="Name", max_length=200, required=False)
    upload = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: object, phases: Sequence[Phase], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        choices = [(phase.index, phase.name) for phase in phases]
        field = self.fields["phase"]
        assert isinstance(field, forms.TypedChoiceField)  # noqa: S101 -- declared above
        field.choices = choices
        field.initial = choices[-1][0] if choices else None
        field.error_messages["invalid_choice"] = "This phase is not open. Reload the page to see which one is."
        if self.data.get("upload"):  # a script has sent it in parts
            self.fields["bundle"].required = False


class ImportForm(forms.Form):
    """A competition bundle."""

    bundle = forms.FileField(
        label="Competition bundle",
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,application/zip"}),
        error_messages={"required": "Choose the .zip file of the bundle.", "empty": "This file is empty."},
    )


class TokenForm(forms.Form):
    """What a token is made from."""

    name = forms.CharField(label="Name", max_length=100)
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=TokenScope.choices,
        initial=[TokenScope.READ, TokenScope.SUBMIT],
        error_messages={"required": "Choose at least one thing that the token may do."},
    )
    days = forms.TypedChoiceField(
        label="Expires",
        coerce=int,
        choices=[(30, "after 30 days"), (90, "after 90 days"), (365, "after a year"), (0, "never")],
        initial=90,
    )


class ModelProviderForm(forms.Form):
    """Where a competition's language models are. The key is never given back, also not to whoever sent it."""

    name = forms.SlugField(label="Name", max_length=64)
    url = forms.CharField(label="Address", max_length=500)
    key = forms.CharField(
        label="Key",
        max_length=1000,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off"}),
    )
    limit_field = forms.ChoiceField(
        label="Limit of an answer",
        choices=[("max_tokens", "max_tokens"), ("max_completion_tokens", "max_completion_tokens")],
    )

    def clean_url(self) -> str:
        """An https address without a user, a query or a fragment."""
        try:
            return checked_url(self.cleaned_data["url"], https=True)
        except ValueError as error:
            raise forms.ValidationError(f"The address {error}.") from error
