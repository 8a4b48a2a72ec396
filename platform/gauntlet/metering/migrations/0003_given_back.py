"""What is run again counts once: what a settled call used is kept, and found by its job."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("metering", "0002_shared_accounts"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="reservation",
            name="reservation_open",
        ),
        migrations.AlterField(
            model_name="reservation",
            name="cost",
            field=models.DecimalField(
                decimal_places=12, help_text="the same, at the prices of the time", max_digits=24
            ),
        ),
        migrations.AlterField(
            model_name="reservation",
            name="tokens",
            field=models.BigIntegerField(help_text="at most; once it is settled, what it used and counts"),
        ),
        migrations.AddIndex(
            model_name="reservation",
            index=models.Index(fields=["holder"], name="reservation_holder"),
        ),
    ]
