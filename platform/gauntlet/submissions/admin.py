"""Operators' pages of submissions; read only, since every transition is a service's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from gauntlet.accounts.models import User
from gauntlet.submissions.models import FileFaults, Submission
from gauntlet.submissions.parking import release

if TYPE_CHECKING:  # the classes take a parameter for the type checker only
    SubmissionAdminBase = admin.ModelAdmin[Submission]
    FileFaultsAdminBase = admin.ModelAdmin[FileFaults]
else:
    SubmissionAdminBase = FileFaultsAdminBase = admin.ModelAdmin


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


@admin.register(FileFaults)
class FileFaultsAdmin(FileFaultsAdminBase):
    """Files at which the platform failed, and those that are parked for it: an operator lets them go on."""

    list_display = ("digest", "in_a_row", "last_at", "parked_until", "submission")
    list_select_related = ("submission",)
    search_fields = ("digest",)
    fields = list_display
    readonly_fields = list_display
    actions = ("let_go_on",)

    @admin.action(description="Let these files be tried again now")
    def let_go_on(self, request: HttpRequest, chosen: QuerySet[FileFaults]) -> None:
        """Undo the parking of what was chosen."""
        assert isinstance(request.user, User)  # noqa: S101  for the type checker: nobody else gets here
        done = sum(release(digest, actor=request.user) for digest in chosen.values_list("digest", flat=True))
        self.message_user(request, f"{done} file{'' if done == 1 else 's'} may go on.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: FileFaults | None = None) -> bool:
        """What happened stays known."""
        return False
