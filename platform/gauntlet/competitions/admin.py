"""Operators' pages of competitions: to look things up. What has consequences is done by services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from gauntlet.competitions.models import Competition, Participation, Phase

if TYPE_CHECKING:  # the class takes a parameter for the type checker only
    CompetitionAdminBase = admin.ModelAdmin[Competition]
    PhaseAdminBase = admin.ModelAdmin[Phase]
    ParticipationAdminBase = admin.ModelAdmin[Participation]
else:
    CompetitionAdminBase = PhaseAdminBase = ParticipationAdminBase = admin.ModelAdmin


class _SavesChanges:
    """Saves what was changed in the form alone: any other column may have got another value since the row was read."""

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        """Save a new row as a whole; of one that was there the columns that differ, not its many-to-many relations."""
        columns = {field.name for field in obj._meta.concrete_fields}
        obj.save(update_fields=columns.intersection(form.changed_data) if change else None)


@admin.register(Competition)
class CompetitionAdmin(_SavesChanges, CompetitionAdminBase):
    """Competitions; who organizes them can be changed here."""

    list_display = ("slug", "title", "organizer", "published", "created_at")
    list_select_related = ("organizer",)
    search_fields = ("slug", "title")
    fields = ("slug", "title", "description", "organizer", "collaborators", "contact_email", "reward", "time_zone")
    readonly_fields = ("slug",)
    raw_id_fields = ("organizer", "collaborators")


@admin.register(Phase)
class PhaseAdmin(_SavesChanges, PhaseAdminBase):
    """Phases; windows and quotas can be changed here."""

    list_display = ("competition", "index", "name", "start", "end", "visibility")
    list_select_related = ("competition",)
    list_filter = ("visibility",)
    fields = (
        *("name", "description", "start", "end", "visibility", "reveal_at"),
        *("max_submissions_per_day", "max_submissions", "max_failed_starts_per_day"),
    )


@admin.register(Participation)
class ParticipationAdmin(ParticipationAdminBase):
    """Who takes part; read only."""

    list_display = ("competition", "user", "state", "created_at")
    list_select_related = ("competition", "user")
    list_filter = ("state",)
    fields = ("competition", "user", "state", "terms_accepted_at")
    readonly_fields = fields
