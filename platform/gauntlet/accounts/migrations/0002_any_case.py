"""Of names and addresses that differ by nothing but case there is one."""

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import Count
from django.db.models.functions import Upper


def refuse_doubles(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Name who would have to give way: whose account it is nobody but an operator can tell."""
    users = apps.get_model("accounts", "User").objects
    for field in ("username", "email"):
        alike = users.values(any_case=Upper(field)).annotate(them=ArrayAgg(field, order_by="pk"), count=Count("pk"))
        doubles = [" and ".join(one["them"]) for one in alike.filter(count__gt=1).order_by("any_case")]
        if doubles:
            raise ValueError(
                f"The {field} of each account must be unlike all others, whatever its case. These are alike: "
                f"{'; '.join(doubles)}. Change all but one of each in the operators' pages of the version that was "
                "installed before, and migrate again; nothing was changed."
            )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RunPython(refuse_doubles, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                Upper("username"),
                name="user_username_any_case",
                violation_error_message="A user with that username already exists.",
            ),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                Upper("email"),
                name="user_email_any_case",
                violation_error_message="A user with that email address already exists.",
            ),
        ),
    ]
