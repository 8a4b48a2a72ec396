"""Measures of the platform, and what a judge says of its own verdicts: a trial may be without them."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import Q

_MAY_LACK = (
    Q(source="")
    | Q(source__startswith="episodes.")
    | Q(source__endswith=".agreement")
    | Q(source__endswith=".uncertainty")
    | Q(source__endswith=".verified")
)


def leave_measures_alone(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("competitions", "Column").objects.filter(_MAY_LACK).update(unverified="")


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0006_unverified_trials"),
    ]

    operations = [
        migrations.RunPython(leave_measures_alone, migrations.RunPython.noop),
    ]
