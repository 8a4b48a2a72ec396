"""Operators' pages of language models: providers, whose key can be written and not read, and what was used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters
from pydantic import SecretStr

from gauntlet.metering.configuration import checked_key, checked_url
from gauntlet.metering.models import Account, ModelProvider
from gauntlet.metering.sealing import WrongSecret, seal, unseal

if TYPE_CHECKING:  # the classes take a parameter for the type checker only
    ProviderFormBase = forms.ModelForm[ModelProvider]
    ProviderAdminBase = admin.ModelAdmin[ModelProvider]
    AccountAdminBase = admin.ModelAdmin[Account]
else:
    ProviderFormBase, ProviderAdminBase, AccountAdminBase = forms.ModelForm, admin.ModelAdmin, admin.ModelAdmin


class ProviderForm(ProviderFormBase):
    """A provider; the field of its key is empty at every visit, and left empty it changes nothing."""

    key = forms.CharField(
        required=False,
        strip=True,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
        help_text="Never shown again. Left empty, the key stays as it is.",
    )

    class Meta:
        model = ModelProvider
        fields = ("competition", "name", "url", "limit_field")

    def clean_url(self) -> str:
        """An address without a user, a query or a fragment."""
        try:
            return checked_url(self.cleaned_data["url"])
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

    def clean(self) -> dict[str, Any]:
        """A key belongs to its address: whoever sets another one brings the key."""
        super().clean()
        if "url" in self.changed_data and not self.cleaned_data.get("key") and self._has_a_key():
            self.add_error("key", "With another address the key has to be given anew.")
        return self.cleaned_data

    def _has_a_key(self) -> bool:
        try:
            return bool(self.instance.pk and unseal(self.instance.sealed_key).get_secret_value())
        except WrongSecret:
            return True

    def save(self, commit: bool = True) -> ModelProvider:
        """Seal the key, where one was given."""
        key = self.cleaned_data["key"]
        if key or not self.instance.sealed_key:
            self.instance.sealed_key = seal(SecretStr(key))
            self.instance.trusted = True  # whoever reaches this page is an operator
        provider: ModelProvider = super().save(commit)
        return provider


@admin.register(ModelProvider)
class ModelProviderAdmin(ProviderAdminBase):
    """Where competitions' language models are."""

    form = ProviderForm
    list_display = ("competition", "name", "url", "set_at")
    list_select_related = ("competition",)

    @method_decorator(sensitive_post_parameters("key"))  # a report of an error has the form's fields
    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The form of one provider."""
        return super().changeform_view(request, object_id, form_url, extra_context)


@admin.register(Account)
class AccountAdmin(AccountAdminBase):
    """What evaluations have used of their budgets; read only."""

    list_display = ("id", "what", "tokens", "token_limit", "cost", "cost_limit", "paid")
    readonly_fields = list_display

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never by hand."""
        return False
