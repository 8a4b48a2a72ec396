"""A total over all episodes is one over all tasks: not the mean of the tasks' totals."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def add_totals(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    columns = apps.get_model("competitions", "Column").objects.filter(source__startswith="episodes.total_", over="mean")
    columns.update(over="sum")


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0008_carried_submissions"),
    ]

    operations = [
        migrations.RunPython(add_totals, migrations.RunPython.noop),
    ]
