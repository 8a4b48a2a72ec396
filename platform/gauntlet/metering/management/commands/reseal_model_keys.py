"""`manage.py reseal_model_keys`: after a change of GAUNTLET_SECRET; the former one is read from a prompt or stdin."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import SecretStr

from gauntlet.metering.services import reseal_keys


class Command(BaseCommand):
    """Seal the keys of competitions' providers under the secret of today. Neither a key nor a secret is shown."""

    help = "Seal the keys of competitions' providers under this GAUNTLET_SECRET; the former one comes from stdin."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it."""
        given = getpass.getpass("Former GAUNTLET_SECRET (not shown): ") if sys.stdin.isatty() else sys.stdin.readline()
        resealed, others = reseal_keys(former=SecretStr(given.strip()))
        self.stdout.write(f"{resealed} key(s) sealed anew.")
        if others:
            named = ", ".join(f"{other.competition.slug}/{other.name}" for other in others)
            raise CommandError(f"That secret does not open the keys of: {named}. They have to be set again.")
