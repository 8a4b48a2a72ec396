from django.apps import AppConfig


class MeteringConfig(AppConfig):
    name = "gauntlet.metering"
    default_auto_field = "django.db.models.BigAutoField"
