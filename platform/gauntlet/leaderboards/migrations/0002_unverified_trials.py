"""Of how many trials a value says nothing, and a place for columns of which too few were verified for a value."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("leaderboards", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="columnvalue",
            name="unverified",
            field=models.PositiveIntegerField(default=0, help_text="trials that count in it and were not verified"),
        ),
        migrations.AlterField(
            model_name="columnvalue",
            name="value",
            field=models.FloatField(null=True),
        ),
        migrations.AddConstraint(
            model_name="columnvalue",
            constraint=models.CheckConstraint(
                condition=models.Q(("value__isnull", False), ("unverified__gt", 0), _connector="OR"),
                name="column_value_or_why_not",
            ),
        ),
    ]
