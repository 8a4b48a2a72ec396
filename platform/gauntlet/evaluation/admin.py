"""Operators' page of submissions; read only but for baselines, since every transition is a service's.

It stands here and not with the submissions because the boards move with what is marked there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from gauntlet.accounts.models import User
from gauntlet.evaluation.exclusions import mark_baseline
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

    def has_delete_permission(self, request: HttpRequest, obj: Submission | None = None) -> bool:
        """Never: its worker may be at it, boards stand on it, and quotas count it. An organizer excludes it instead."""
        return False

    def save_model(self, request: HttpRequest, obj: Submission, form: Any, change: bool) -> None:
        """Mark it as a baseline or not, and write nothing else of what the page has read."""
        assert isinstance(request.user, User)  # noqa: S101  for the type checker: nobody else gets here
        mark_baseline(obj, baseline=obj.baseline, actor=request.user)
