"""Operators' pages of queues: who owns which, and its tokens without their digest. Services alone change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from gauntlet.queues.models import Queue, QueueToken

if TYPE_CHECKING:  # the class takes a parameter for the type checker only
    QueueAdminBase = admin.ModelAdmin[Queue]
    QueueTokenAdminBase = admin.ModelAdmin[QueueToken]
else:
    QueueAdminBase = QueueTokenAdminBase = admin.ModelAdmin


class _ReadOnly:
    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never by hand: something may use it."""
        return False


@admin.register(Queue)
class QueueAdmin(_ReadOnly, QueueAdminBase):
    """Own queues."""

    list_display = ("name", "owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("name", "owner__username")
    fields = ("name", "owner", "organizers", "created_at")
    readonly_fields = fields


@admin.register(QueueToken)
class QueueTokenAdmin(_ReadOnly, QueueTokenAdminBase):
    """Tokens of workers."""

    list_display = ("prefix", "label", "queue", "created_by", "created_at", "last_used_at", "revoked_at")
    list_select_related = ("queue", "created_by")
    search_fields = ("prefix", "queue__name")
    fields = list_display
    readonly_fields = list_display
