"""Fill an empty development database with made-up competitions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gauntlet.competitions.models import Competition
from gauntlet.web.showcase import PASSWORD, build


class Command(BaseCommand):
    help = "Fill an empty development database with made-up competitions, so that every page can be looked at."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("Made-up people with a known password belong in a development database: set DEBUG=true.")
        if Competition.objects.exists():
            raise CommandError("The database already holds competitions; take an empty one.")
        made = build()
        self.stdout.write(f"Log in as {made.participant} (takes part) or {made.organizer} (organizes): {PASSWORD}")
