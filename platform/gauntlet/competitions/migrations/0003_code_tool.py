from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0002_where_tags_baselines"),
    ]

    operations = [
        migrations.AddField(
            model_name="task",
            name="code_tool",
            field=models.JSONField(
                blank=True, help_text="the environment's tool that takes code, from there", null=True
            ),
        ),
    ]
