"""Operators' pages of accounts. Events are read there and never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from gauntlet.accounts.models import ApiToken, Event, User

if TYPE_CHECKING:  # the class takes a parameter for the type checker only
    TokenAdminBase = admin.ModelAdmin[ApiToken]
    EventAdminBase = admin.ModelAdmin[Event]
    AccountAdminBase = UserAdmin[User]
else:
    TokenAdminBase = EventAdminBase = admin.ModelAdmin
    AccountAdminBase = UserAdmin


@admin.register(User)
class AccountAdmin(AccountAdminBase):
    """An account has an address of its own, also one that is made here."""

    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("username", "email", "usable_password", "password1", "password2")}),
    )


@admin.register(ApiToken)
class ApiTokenAdmin(TokenAdminBase):
    """Tokens without their digest; they are made and revoked by services only."""

    list_display = ("prefix", "name", "user", "scopes", "created_at", "last_used_at", "revoked_at")
    search_fields = ("prefix", "user__username")
    fields = list_display
    readonly_fields = list_display

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never: the plain text could not be handed over."""
        return False


@admin.register(Event)
class EventAdmin(EventAdminBase):
    """The audit log."""

    list_display = ("at", "name", "subject_type", "subject_id", "actor", "before", "after", "reason")
    list_filter = ("subject_type", "name")
    search_fields = ("subject_id", "actor__username")
    list_select_related = ("actor",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False
