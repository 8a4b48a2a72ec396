"""`manage.py import_competition FOLDER_OR_ZIP --organizer USER`: check a bundle as a whole, then create it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gauntlet.accounts.models import User
from gauntlet.api_errors import DomainError
from gauntlet.competitions.services import check_bundle, errors_of, import_bundle


class Command(BaseCommand):
    """Print each finding as file:line, then create the competition or nothing."""

    help = "Create a competition from a bundle folder or zip."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("bundle", type=Path, help="a folder with competition.yaml, or a zip of one")
        parser.add_argument("--organizer", help="user name of the owner")
        parser.add_argument("--slug", default="", help="name in addresses; made from the title where left out")
        parser.add_argument("--publish", action="store_true", help="show it to everybody at once")
        parser.add_argument("--check-only", action="store_true", help="say what is wrong and create nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it; exit status 1 where the bundle has errors."""
        organizer = User.objects.filter(username=options["organizer"] or "").first()
        findings = check_bundle(options["bundle"], organizer=organizer)
        for finding in findings:
            self.stderr.write(str(finding))
        if errors := errors_of(findings):
            raise CommandError(f"{len(errors)} error{'' if len(errors) == 1 else 's'}; nothing was created.")
        if options["check_only"]:
            self.stdout.write("The bundle has no errors.")
            return
        if organizer is None:
            raise CommandError("Name the owner, who must have an account: --organizer USER")
        try:
            competition = import_bundle(
                options["bundle"], organizer=organizer, publish=options["publish"], slug=options["slug"]
            )
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{competition.slug}: {competition.title}")
