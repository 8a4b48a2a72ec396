from django.apps import AppConfig


class QueuesConfig(AppConfig):
    name = "gauntlet.queues"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have Django know the app's checks."""
        from gauntlet.queues import checks  # noqa: F401 -- registers itself
