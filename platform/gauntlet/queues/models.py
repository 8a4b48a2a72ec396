"""Queues that organizers own, and the tokens by which their own workers reach them."""

from __future__ import annotations

import uuid
from typing import ClassVar, Final

from django.conf import settings
from django.db import models
from django.db.models import Q

#: What the name of an own queue looks like.
NAME: Final = r"^[a-z0-9][a-z0-9-]{0,59}$"


class Queue(models.Model):
    """Where jobs wait for the workers of one person and for no other's; phases name it as they do the platform's."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=60, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="own_queues")
    organizers = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="shared_queues",
        help_text="who else may use it for their competitions",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [models.CheckConstraint(condition=Q(name__regex=NAME), name="queue_name")]

    def __str__(self) -> str:
        return self.name


class QueueToken(models.Model):
    """What a worker shows to take jobs of one queue; only its SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="tokens")
    label = models.CharField(max_length=100, help_text="which machines use it, in the owner's words")
    prefix = models.CharField(max_length=12, help_text="the first characters, to tell tokens apart")
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.label})"
