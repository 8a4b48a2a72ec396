"""Forms of the pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django import forms
from pydantic import SecretStr

from gauntlet.accounts.models import TokenScope
from gauntlet.competitions.models import Phase
from gauntlet.metering.configuration import checked_key, checked_url
from gauntlet.queues.models import Queue
from gauntlet.reviews.models import Familiarity
from gauntlet.reviews.services import MOST_ITEMS
from gauntlet.web.validation_page import MOST_BYTES


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
    once = forms.UUIDField(required=False, widget=forms.HiddenInput, initial=uuid4)

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

    name = forms.SlugField(
        label="Name", max_length=64, error_messages={"invalid": "Use letters, digits, hyphens and underscores only."}
    )
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

    def clean_key(self) -> str:
        """A key that a request can carry."""
        key: str = self.cleaned_data["key"]
        try:
            checked_key(SecretStr(key))
        except ValueError as error:
            raise forms.ValidationError(f"The key {error}.") from error
        return key


class QueueForm(forms.Form):
    """How a new queue is called."""

    name = forms.CharField(label="Name", max_length=60, error_messages={"required": "Name the queue."})


class QueueTokenForm(forms.Form):
    """Which machines a token is for."""

    label = forms.CharField(
        label="For", max_length=100, error_messages={"required": "Say which machine will use it, to tell tokens apart."}
    )


class ShareQueueForm(forms.Form):
    """With whom a queue is shared."""

    person = forms.CharField(label="User name", max_length=150, error_messages={"required": "Name somebody."})


class DeleteQueueForm(forms.Form):
    """The queue's name, typed: what ends with it cannot be had back."""

    typed = forms.CharField(label="Type its name", max_length=60, required=True)

    def __init__(self, queue: Queue, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._name = queue.name
        self.fields["typed"].error_messages["required"] = self._problem

    @property
    def _problem(self) -> str:
        return f"Type the name of the queue, {self._name}, to delete it."

    def clean_typed(self) -> str:
        """The name."""
        typed: str = self.cleaned_data["typed"]
        if typed != self._name:
            raise forms.ValidationError(self._problem)
        return typed


class DrawForm(forms.Form):
    """A sample for people: how many, from which phase (and, of a judge validation, whose verdicts)."""

    source = forms.ChoiceField(label="From", error_messages={"invalid_choice": "Reload the page and choose again."})
    size = forms.IntegerField(label="How many", min_value=1, max_value=MOST_ITEMS)
    seed = forms.IntegerField(label="Seed", min_value=0, max_value=(1 << 31) - 1, required=False)

    def __init__(self, *args: object, sources: Sequence[tuple[str, str]], size: int, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["source"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 -- declared above
        field.choices = list(sources)
        self.fields["size"].initial = size


class InviteForm(forms.Form):
    """Who is asked, by user name."""

    names = forms.CharField(
        label="User names", max_length=4000, error_messages={"required": "Name at least one person."}
    )

    @property
    def people(self) -> list[str]:
        """The names, however they were separated."""
        return re.split(r"[\s,;]+", self.cleaned_data["names"])


class BackgroundForm(forms.Form):
    """What somebody who rates scenarios says of themselves."""

    role = forms.CharField(label="Your role", max_length=100)
    years = forms.IntegerField(label="Years of experience", min_value=0, max_value=80)
    familiarity = forms.ChoiceField(label="Predictive maintenance is", choices=[("", "Choose"), *Familiarity.choices])


class ValidateForm(forms.Form):
    """A ground truth, as text or as a file; ``content`` is its text."""

    file = forms.FileField(
        label="File",
        required=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".json,.jsonl,.txt,application/json"}),
        error_messages={"empty": "This file is empty."},
    )
    text = forms.CharField(
        label="Or paste it",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "mono"}),
    )
    strength = forms.ChoiceField(
        label="How strictly",
        choices=[
            ("strict", "Strict: as the guide says"),
            ("lenient", "Lenient: spellings of real files are read as what they mean"),
        ],
    )
    vocabulary = forms.ChoiceField(
        label="Agents and tools", choices=[("assetops", "Those of AssetOps"), ("open", "Any")]
    )

    def clean(self) -> dict[str, Any]:
        """One text of a size that is taken."""
        given: dict[str, Any] = self.cleaned_data
        file = given.get("file")
        if "file" in self.errors:
            return given
        if file is None and not given.get("text", "").strip():
            self.add_error("file", "Choose a file, or paste its text below.")
            return given
        raw = file.read(MOST_BYTES + 1) if file else given.get("text", "").encode(errors="replace")
        if len(raw) > MOST_BYTES:
            where = "file" if file else "text"
            self.add_error(where, f"It is larger than {MOST_BYTES:,} bytes. Split it into several files.")
        try:
            given["content"] = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.add_error("file", "It is not text in UTF-8. Save it in this encoding and send it again.")
        return given
