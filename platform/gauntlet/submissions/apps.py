from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "gauntlet.submissions"
    default_auto_field = "django.db.models.BigAutoField"
