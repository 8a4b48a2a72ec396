"""Studies, what was drawn for them, who was invited, and what they answered."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("competitions", "0001_initial"),
        ("evaluation", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Study",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("judge", "Judge validation"), ("realism", "Realism survey")], max_length=8
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                (
                    "program",
                    models.CharField(
                        blank=True, help_text="judge validation: whose verdicts are compared", max_length=36
                    ),
                ),
                ("seed", models.BigIntegerField(help_text="of the draw: the same rows and seed give the same sample")),
                ("drawn_from", models.PositiveIntegerField(help_text="how many there were to draw from")),
                (
                    "state",
                    models.CharField(choices=[("open", "Open"), ("closed", "Closed")], default="open", max_length=8),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="studies", to="competitions.phase"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "studies",
                "ordering": ["-created_at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Reviewer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(blank=True, help_text="in their own words; empty: not told yet", max_length=100),
                ),
                ("years", models.PositiveSmallIntegerField(help_text="of experience", null=True)),
                (
                    "familiarity",
                    models.CharField(
                        blank=True,
                        choices=[("new", "New to me"), ("some", "I have worked with it"), ("daily", "My daily work")],
                        max_length=8,
                    ),
                ),
                ("invited_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reviews", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reviewers", to="reviews.study"
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(help_text="from 1")),
                (
                    "characteristic_form",
                    models.TextField(blank=True, help_text="of the ground truth, as it was at the draw"),
                ),
                (
                    "verdicts",
                    models.JSONField(default=dict, help_text="the judge's, by criterion, as they were at the draw"),
                ),
                (
                    "episode",
                    models.ForeignKey(
                        help_text="null: the scenario itself is rated",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="evaluation.episode",
                    ),
                ),
                (
                    "scenario",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.scenario"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="items", to="reviews.study"
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
            },
        ),
        migrations.CreateModel(
            name="Rating",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "value",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Not realistic"), (2, "Realistic"), (3, "Highly realistic")], null=True
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="ratings", to="reviews.item"
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="ratings", to="reviews.reviewer"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("reviewer", "item"), name="rating_once"),
                    models.CheckConstraint(
                        condition=models.Q(("value__isnull", True), ("value__in", [1, 2, 3]), _connector="OR"),
                        name="rating_on_scale",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Judgement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("task_completion", models.BooleanField(null=True)),
                ("data_retrieval_accuracy", models.BooleanField(null=True)),
                ("generalized_result_verification", models.BooleanField(null=True)),
                ("agent_sequence_correct", models.BooleanField(null=True)),
                ("clarity_and_justification", models.BooleanField(null=True)),
                ("hallucinations", models.BooleanField(null=True)),
                ("comment", models.TextField(blank=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="judgements", to="reviews.item"
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="judgements", to="reviews.reviewer"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("reviewer", "item"), name="judgement_once")],
            },
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["judge", "realism"])), name="study_kind"
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["open", "closed"])), name="study_state"
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewer",
            constraint=models.UniqueConstraint(fields=("study", "user"), name="reviewer_once"),
        ),
        migrations.AddConstraint(
            model_name="reviewer",
            constraint=models.CheckConstraint(
                condition=models.Q(("years__isnull", True), ("years__lte", 80), _connector="OR"), name="reviewer_years"
            ),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(fields=("study", "number"), name="item_number"),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(fields=("study", "episode"), name="item_episode_once"),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(
                condition=models.Q(("episode__isnull", True)), fields=("study", "scenario"), name="item_scenario_once"
            ),
        ),
    ]
