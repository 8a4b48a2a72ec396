"""What goes on counting in the quota of a person who has left the team that sent it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0007_measures_may_lack"),
        ("submissions", "0002_teams"),
    ]

    operations = [
        migrations.AddField(
            model_name="participation",
            name="carried",
            field=models.ManyToManyField(
                help_text="of teams that the person has left: they go on counting in the person's own quota",
                related_name="+",
                to="submissions.submission",
            ),
        ),
    ]
