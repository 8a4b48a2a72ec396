"""What stands on a board: values computed once, when an evaluation finished; ranks are computed when read."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from gauntlet.competitions.models import Column, Leaderboard, Phase
from gauntlet.submissions.models import Submission


class ColumnValue(models.Model):
    """The value of a column for a submission, from its evaluations in force.

    Without a value it says of how many trials nobody could verify what they are worth: too many for one.
    """

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="column_values")
    column = models.ForeignKey(Column, on_delete=models.CASCADE, related_name="values")
    value = models.FloatField(null=True)
    low = models.FloatField(null=True, help_text="95 % interval")
    high = models.FloatField(null=True)
    unverified = models.PositiveIntegerField(default=0, help_text="trials that count in it and were not verified")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["submission", "column"], name="column_value_once"),
            models.CheckConstraint(
                condition=Q(value__isnull=False) | Q(unverified__gt=0), name="column_value_or_why_not"
            ),
        ]


class Exclusion(models.Model):
    """A submission that an organizer took off the boards; its scores stay, and its reason is told."""

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="exclusion")
    reason = models.TextField(help_text="for its owner to read")
    created_at = models.DateTimeField(auto_now_add=True)


class Entry(models.Model):
    """The submission with which a participant stands on a board in a phase, by the board's rule.

    ``primary_value`` repeats the submission's value in the board's primary column, so that a page of a large board is
    the first rows of an index and not a sort of all values. Whoever writes the one writes the other with it.
    """

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, related_name="entries")
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="entries")
    participant = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="entries")
    baseline = models.BooleanField(default=False)
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="entries")
    primary_value = models.FloatField(null=True, help_text="the submission's in the primary column; null: no score")
    scenarios = models.PositiveIntegerField(help_text="how many scenarios its scores rest on")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["leaderboard", "phase", "participant", "baseline"], name="entry_once")
        ]
        # One for each direction: a missing value stands last in both, which neither read backwards would give.
        indexes: ClassVar = [
            models.Index("leaderboard", "phase", F("primary_value").desc(nulls_last=True), name="entry_highest_first"),
            models.Index("leaderboard", "phase", F("primary_value").asc(nulls_last=True), name="entry_lowest_first"),
        ]
