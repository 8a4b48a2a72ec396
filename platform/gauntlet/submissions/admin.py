"""Operators' page of files at which the platform failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from gauntlet.accounts.models import User
from gauntlet.submissions.models import FileFaults
from gauntlet.submissions.parking import release

if TYPE_CHECKING:  # the class takes a parameter for the type checker only
    FileFaultsAdminBase = admin.ModelAdmin[FileFaults]
else:
    FileFaultsAdminBase = admin.ModelAdmin


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
