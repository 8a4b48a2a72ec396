"""Providers of language models that organizers bring, what is used of budgets, and kept answers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from gauntlet.competitions.models import Competition
from gauntlet.storage.models import Artifact


def _amount(**options: Any) -> models.DecimalField[Any, Any]:
    """Money: a single token of a cheap model costs some hundred-millionths."""
    return models.DecimalField(max_digits=24, decimal_places=12, **options)


class ModelProvider(models.Model):
    """Where a competition's language models are. It comes before the operator's provider of the same name."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="model_providers")
    name = models.SlugField(max_length=64)
    url = models.CharField(max_length=500, help_text="up to and with the version, such as https://api.example.org/v1")
    sealed_key = models.TextField(editable=False, help_text="encrypted; it can be replaced and never be read")
    limit_field = models.CharField(
        max_length=40, default="max_tokens", help_text="what it calls the limit of an answer's tokens"
    )
    trusted = models.BooleanField(
        default=False, help_text="set by an operator: any address will do; an organizer's must be public, and https"
    )
    set_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["competition", "name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["competition", "name"], name="model_provider_once")]

    def __str__(self) -> str:
        return self.name


class Account(models.Model):
    """What is used of one budget that several jobs draw on. What is reserved counts as used until it is settled."""

    id = models.UUIDField(primary_key=True, help_text="of whatever has the budget: see `services`")
    what = models.CharField(
        max_length=16,
        default="evaluation",
        choices=[
            ("evaluation", "An evaluation's agent"),
            ("submission", "A submission's agent, in all of its tasks"),
            ("judge", "An evaluation's judge"),
        ],
    )
    token_limit = models.BigIntegerField(null=True, help_text="null: no limit")
    cost_limit = _amount(null=True, help_text="null: no limit")
    tokens = models.BigIntegerField(default=0, help_text="used or reserved")
    cost = _amount(default=Decimal(0), help_text="used or reserved, at the prices of the time")
    paid = _amount(default=Decimal(0), help_text="of it, what a provider was really asked for: kept answers are free")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(token_limit__isnull=True) | Q(tokens__lte=F("token_limit")), name="account_within_tokens"
            ),
            models.CheckConstraint(
                condition=Q(cost_limit__isnull=True) | Q(cost__lte=F("cost_limit")), name="account_within_cost"
            ),
            models.CheckConstraint(condition=Q(tokens__gte=0, cost__gte=0, paid__gte=0), name="account_not_negative"),
        ]


class Reservation(models.Model):
    """The most that one call can use. Made under the id that the gateway gave it, so that it counts once."""

    id = models.UUIDField(primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="reservations")
    shared = models.ForeignKey(
        Account,
        null=True,
        on_delete=models.CASCADE,
        related_name="shared_reservations",
        help_text="the account of all tasks together, which counts it too, and which keeps the pace",
    )
    holder = models.UUIDField(help_text="the job that makes the call; when it ends, what it left counts as used")
    tokens = models.BigIntegerField(help_text="at most; once it is settled, what it used and counts")
    cost = _amount(help_text="the same, at the prices of the time")
    made_at = models.DateTimeField(db_default=Now())
    settled_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["account", "made_at"], name="reservation_pace"),
            models.Index(fields=["shared", "made_at"], name="reservation_shared_pace"),
            models.Index(fields=["holder"], name="reservation_holder"),
        ]


class KeptAnswer(models.Model):
    """A model's answer to a request of a submission: running it again asks nobody and goes the same way."""

    scope = models.UUIDField(help_text="the submission: nobody learns from a quick answer what others asked")
    key = models.CharField(max_length=64, help_text="digest of provider, model, request, and its place in the run")
    answer = models.ForeignKey(Artifact, on_delete=models.PROTECT, related_name="+")
    kept_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["scope", "key"], name="kept_answer_once")]
