"""People, their API tokens, and the log of events."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Upper


class User(AbstractUser):
    """A person. Participants, organizers and operators are the same kind of row; what they may do is per object."""

    email = models.EmailField(unique=True)

    class Meta(AbstractUser.Meta):
        # Forms look only at what was there before, and commands at the very letters. In capitals, as Django looks up
        # whoever is named without regard to case, so that these are its indexes too.
        constraints: ClassVar = [
            models.UniqueConstraint(
                Upper(field), name=f"user_{field}_any_case", violation_error_message=f"{said} already exists."
            )
            for field, said in (("username", "A user with that username"), ("email", "A user with that email address"))
        ]


class TokenScope(models.TextChoices):
    """What a token may be used for."""

    READ = "read", "Read what its owner may read"
    SUBMIT = "submit", "Upload and cancel submissions"


class ApiToken(models.Model):
    """A bearer token; only its SHA-256 is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, help_text="the first characters, to tell tokens apart")
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=16, choices=TokenScope.choices))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at"]


class Event(models.Model):
    """Something that happened to an object: every transition of a state, every act of an organizer. Never changed."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.SET_NULL, help_text="null: the platform itself"
    )
    name = models.CharField(max_length=64, help_text="dotted: evaluation.running, participation.approved")
    subject_type = models.CharField(max_length=32)
    subject_id = models.CharField(max_length=64)
    before = models.CharField(max_length=16, blank=True)
    after = models.CharField(max_length=16, blank=True)
    reason = models.TextField(blank=True)
    data = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [models.Index(fields=["subject_type", "subject_id", "id"], name="event_subject")]
