"""Submissions that organizers took off the boards."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("leaderboards", "0002_unverified_trials"),
        ("submissions", "0002_teams"),
    ]

    operations = [
        migrations.CreateModel(
            name="Exclusion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.TextField(help_text="for its owner to read")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="exclusion",
                        to="submissions.submission",
                    ),
                ),
            ],
        ),
    ]
