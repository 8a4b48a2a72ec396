"""Studies: what was drawn for people to look at, who was invited, and what they answered."""

from __future__ import annotations

import uuid
from typing import ClassVar, Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from gauntlet.competitions.models import Phase, Scenario
from gauntlet.evaluation.models import Episode
from gauntlet.reviews.criteria import KEYS, SCALE
from gauntlet.states import StateMachine


class StudyKind(models.TextChoices):
    """What people are asked."""

    JUDGE = "judge", "Judge validation"
    REALISM = "realism", "Realism survey"


class StudyState(models.TextChoices):
    """Whether answers are taken."""

    OPEN = "open", "Open"
    CLOSED = "closed", "Closed"


#: Closing is no end: nobody but organizers sees results, so that nothing is lost when a study opens again.
STUDY: Final = StateMachine(
    "study",
    {StudyState.OPEN: frozenset({StudyState.CLOSED}), StudyState.CLOSED: frozenset({StudyState.OPEN})},
)


class Study(models.Model):
    """A sample of one phase that was drawn for people; it never changes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="studies")
    kind = models.CharField(max_length=8, choices=StudyKind.choices)
    title = models.CharField(max_length=200)
    program = models.CharField(max_length=36, blank=True, help_text="judge validation: whose verdicts are compared")
    seed = models.BigIntegerField(help_text="of the draw: the same rows and seed give the same sample")
    drawn_from = models.PositiveIntegerField(help_text="how many there were to draw from")
    state = models.CharField(max_length=8, choices=StudyState.choices, default=StudyState.OPEN)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "pk"]
        verbose_name_plural = "studies"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=StudyKind.values), name="study_kind"),
            models.CheckConstraint(condition=Q(state__in=StudyState.values), name="study_state"),
        ]

    def __str__(self) -> str:
        return self.title


class Item(models.Model):
    """A trajectory or a scenario that was drawn. People know it by its number, in an order that says nothing."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items")
    number = models.PositiveIntegerField(help_text="from 1")
    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="+")
    episode = models.ForeignKey(
        Episode, null=True, on_delete=models.CASCADE, related_name="+", help_text="null: the scenario itself is rated"
    )
    characteristic_form = models.TextField(blank=True, help_text="of the ground truth, as it was at the draw")
    verdicts = models.JSONField(default=dict, help_text="the judge's, by criterion, as they were at the draw")

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "number"], name="item_number"),
            models.UniqueConstraint(fields=["study", "episode"], name="item_episode_once"),
            models.UniqueConstraint(
                fields=["study", "scenario"], condition=Q(episode__isnull=True), name="item_scenario_once"
            ),
        ]


class Familiarity(models.TextChoices):
    """How well somebody knows the field."""

    NEW = "new", "New to me"
    SOME = "some", "I have worked with it"
    DAILY = "daily", "My daily work"


class Reviewer(models.Model):
    """Somebody who was invited to a study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="reviewers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reviews")
    role = models.CharField(max_length=100, blank=True, help_text="in their own words; empty: not told yet")
    years = models.PositiveSmallIntegerField(null=True, help_text="of experience")
    familiarity = models.CharField(max_length=8, blank=True, choices=Familiarity.choices)
    invited_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "user"], name="reviewer_once"),
            models.CheckConstraint(condition=Q(years__isnull=True) | Q(years__lte=80), name="reviewer_years"),
        ]


class Judgement(models.Model):
    """An expert's six answers about a trajectory; null where there is none yet."""

    reviewer = models.ForeignKey(Reviewer, on_delete=models.CASCADE, related_name="judgements")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="judgements")
    task_completion = models.BooleanField(null=True)
    data_retrieval_accuracy = models.BooleanField(null=True)
    generalized_result_verification = models.BooleanField(null=True)
    agent_sequence_correct = models.BooleanField(null=True)
    clarity_and_justification = models.BooleanField(null=True)
    hallucinations = models.BooleanField(null=True)
    comment = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["reviewer", "item"], name="judgement_once")]

    @property
    def answers(self) -> dict[str, bool | None]:
        """The six answers by criterion."""
        return {key: getattr(self, key) for key in KEYS}


class Rating(models.Model):
    """How real somebody finds a scenario; null where there is only a comment yet."""

    reviewer = models.ForeignKey(Reviewer, on_delete=models.CASCADE, related_name="ratings")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="ratings")
    value = models.PositiveSmallIntegerField(null=True, choices=list(SCALE.items()))
    comment = models.TextField(blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["reviewer", "item"], name="rating_once"),
            models.CheckConstraint(condition=Q(value__isnull=True) | Q(value__in=list(SCALE)), name="rating_on_scale"),
        ]


#: A judgement that has all six answers.
ANSWERED: Final = Q(**{f"{key}__isnull": False for key in KEYS})
