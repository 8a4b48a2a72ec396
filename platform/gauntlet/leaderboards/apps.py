from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    name = "gauntlet.leaderboards"
    default_auto_field = "django.db.models.BigAutoField"
