"""Operators' pages of submissions; read only, since every transition is a service's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.http import HttpRequest

from gauntlet.submissions.models import Submission

if TYPE_CHECKING:  # the class takes a parameter for the type checker only
    SubmissionAdminBase = admin.ModelAdmin[Submission]
else:
    SubmissionAdminBase = admin.ModelAdmin


@admin.register(Submission)
class SubmissionAdmin(SubmissionAdminBase):
    """Submissions and how their check went."""

    list_display = ("id", "phase", "participant", "name", "state", "failure_code", "counts_as", "created_at")
    list_select_related = ("phase", "participant")
    list_filter = ("state", "failure_code", "counts_as")
    search_fields = ("id", "name", "participant__username")
    fields = (
        *(
            "phase",
            "participant",
            "team",
            "sent_by",
            "name",
            "file_name",
            "source",
            "bundle",
            "dropped_digest",
            "agent",
            "state",
            "counts_as",
            "given_back_for",
        ),
        *("failure_code", "failure_message", "findings", "check_log", "check_attempts", "checked_at", "baseline"),
    )
    readonly_fields = tuple(field for field in fields if field != "baseline")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False
