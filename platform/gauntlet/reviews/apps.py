from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    name = "gauntlet.reviews"
    default_auto_field = "django.db.models.BigAutoField"
