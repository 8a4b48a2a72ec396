"""What a trial counts that nobody could verify. Columns that exist keep what they did: such a trial is left out."""

from django.db import migrations, models

_CHOICES = [("fail", "Counts as failed, with the worst value"), ("exclude", "Left out")]


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0005_teams"),
    ]

    operations = [
        migrations.AddField(
            model_name="column",
            name="unverified",
            field=models.CharField(blank=True, choices=_CHOICES, default="exclude", max_length=8),
        ),
        migrations.AlterField(
            model_name="column",
            name="unverified",
            field=models.CharField(blank=True, choices=_CHOICES, default="fail", max_length=8),
        ),
        migrations.AddField(
            model_name="column",
            name="worst",
            field=models.FloatField(help_text="the worse end of the score's scale; null: it has none", null=True),
        ),
        migrations.AddField(
            model_name="column",
            name="min_verified",
            field=models.FloatField(
                default=0.0,
                help_text="where what is not verified is left out: the share below which there is no value",
            ),
        ),
    ]
