from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "gauntlet.web"
    default_auto_field = "django.db.models.BigAutoField"
