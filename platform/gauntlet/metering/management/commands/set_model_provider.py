"""`manage.py set_model_provider NAME --competition SLUG --url URL`: the key is read from a prompt or from stdin."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_slug
from pydantic import SecretStr

from gauntlet.competitions.models import Competition
from gauntlet.metering.configuration import checked_key
from gauntlet.metering.services import remove_provider, set_provider


class Command(BaseCommand):
    """Set, replace or remove the provider of a competition's language models. The key is never shown."""

    help = "Set where a competition's language models are. The key comes from a prompt, or from stdin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line. A key has no place on it: other users of the host can read it there."""
        parser.add_argument("name", help="as in `llm: {provider: NAME}` of the competition's phases")
        parser.add_argument("--competition", required=True, help="its name in addresses")
        parser.add_argument("--url", help="up to and with the version, such as https://api.example.org/v1")
        parser.add_argument("--limit-field", default="max_tokens", help="max_tokens or max_completion_tokens")
        parser.add_argument("--remove", action="store_true", help="forget it, with its key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it."""
        competition = Competition.objects.filter(slug=options["competition"]).first()
        if competition is None:
            raise CommandError(f"There is no competition {options['competition']!r}.")
        name = options["name"]
        if options["remove"]:
            if not remove_provider(competition=competition, name=name):
                raise CommandError(f"{competition.slug} has no provider {name!r}.")
            self.stdout.write(f"{competition.slug}: the provider {name!r} was removed.")
            return
        if not options["url"]:
            raise CommandError("Say where it is: --url https://…")
        try:
            validate_slug(name)
            set_provider(
                competition=competition,
                name=name,
                url=options["url"],
                key=_read_key(),
                limit_field=options["limit_field"],
                trusted=True,
            )
        except ValidationError as error:
            raise CommandError(f"{name!r}: a name has letters, digits, - and _ only.") from error
        except ValueError as error:
            raise CommandError(f"--url {error}") from error
        self.stdout.write(f"{competition.slug}: the provider {name!r} is set.")


def _read_key() -> SecretStr:
    given = getpass.getpass("Key (not shown): ") if sys.stdin.isatty() else sys.stdin.readline()
    try:
        return checked_key(SecretStr(given.strip()))
    except ValueError as error:
        raise CommandError(f"The key {error}.") from error
