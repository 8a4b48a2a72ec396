"""Reads of the accounts app."""

from __future__ import annotations

from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone

from gauntlet.accounts.models import ApiToken, Event, User


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The user's tokens that still open something, newest first."""
    usable = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return ApiToken.objects.filter(usable, user=user, revoked_at__isnull=True)


def events_of(subject: models.Model) -> QuerySet[Event]:
    """What happened to a row, oldest first, with who did it."""
    return Event.objects.filter(subject_type=subject._meta.model_name, subject_id=str(subject.pk)).select_related(
        "actor"
    )
