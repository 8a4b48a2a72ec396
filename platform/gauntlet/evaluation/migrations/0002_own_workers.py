"""Workers that come over HTTPS: whose they are, what they sent, and by which token a job is held."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0001_initial"),
        ("queues", "0001_initial"),
        ("storage", "0001_initial"),
    ]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="worker",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="job",
            name="queue_token",
            field=models.ForeignKey(
                blank=True,
                help_text="by which a worker of an own queue took it last; null: the platform's own worker did",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="queues.queuetoken",
            ),
        ),
        migrations.AlterField(
            model_name="worker",
            name="name",
            field=models.CharField(
                help_text="host:process, and of an own queue's queue/host:process",
                max_length=200,
                primary_key=True,
                serialize=False,
            ),
        ),
        migrations.AlterField(
            model_name="worker",
            name="host",
            field=models.CharField(max_length=180),
        ),
        migrations.AddField(
            model_name="worker",
            name="queue_token",
            field=models.ForeignKey(
                blank=True,
                help_text="by which it comes to an own queue; null: it is the platform's own",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="workers",
                to="queues.queuetoken",
            ),
        ),
        migrations.AddField(
            model_name="worker",
            name="sandbox",
            field=models.CharField(
                blank=True, help_text="its backend, and what that cannot enforce there", max_length=200
            ),
        ),
        migrations.AddField(
            model_name="worker",
            name="version",
            field=models.CharField(blank=True, max_length=40),
        ),
        migrations.CreateModel(
            name="SentRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("lease", models.UUIDField(help_text="the fence under which it was sent")),
                ("times", models.PositiveSmallIntegerField(default=1, help_text="that one was sent for this episode")),
                (
                    "artifact",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="storage.artifact"
                    ),
                ),
                (
                    "episode",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="evaluation.episode"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sent_records", to="evaluation.job"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("job", "episode"), name="sent_record_once"),
                ],
            },
        ),
    ]
