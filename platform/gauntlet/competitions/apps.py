from django.apps import AppConfig


class CompetitionsConfig(AppConfig):
    name = "gauntlet.competitions"
    default_auto_field = "django.db.models.BigAutoField"
