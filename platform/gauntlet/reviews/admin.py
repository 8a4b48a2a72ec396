"""Operators' pages of studies: to look up who was invited. What was answered stands on the organizers' pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin

from gauntlet.reviews.models import Reviewer, Study

if TYPE_CHECKING:  # the class takes a parameter for the type checker only
    StudyAdminBase = admin.ModelAdmin[Study]
    ReviewerAdminBase = admin.ModelAdmin[Reviewer]
else:
    StudyAdminBase = ReviewerAdminBase = admin.ModelAdmin


@admin.register(Study)
class StudyAdmin(StudyAdminBase):
    """Studies; read only."""

    list_display = ("title", "kind", "phase", "state", "created_at")
    list_select_related = ("phase",)
    list_filter = ("kind", "state")
    fields = ("title", "kind", "phase", "program", "seed", "state", "created_by")
    readonly_fields = fields


@admin.register(Reviewer)
class ReviewerAdmin(ReviewerAdminBase):
    """Invitations; read only."""

    list_display = ("study", "user", "invited_at")
    list_select_related = ("study", "user")
    fields = ("study", "user", "invited_at")
    readonly_fields = fields
