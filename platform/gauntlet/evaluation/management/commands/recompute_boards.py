"""`manage.py recompute_boards [--competition SLUG] [--dry-run]`: boards from the scores that are stored."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from gauntlet.competitions.models import Competition
from gauntlet.evaluation.recomputing import recompute_boards


class Command(BaseCommand):
    """Compute the values and rows of boards anew, and say how many changed. Again changes nothing."""

    help = "Compute boards anew from stored scores, after an update that changed what a column means."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("--competition", help="its name in addresses; without it, all of them")
        parser.add_argument("--dry-run", action="store_true", help="only say what would change")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it."""
        slug, keep = options["competition"], not options["dry_run"]
        competitions = Competition.objects.order_by("slug")
        if slug is not None:
            competitions = competitions.filter(slug=slug)
            if not competitions:
                raise CommandError(f"There is no competition {slug!r}. Its name is the one in its address.")
        for competition in competitions:
            found = recompute_boards(competition, keep=keep)
            told = f"{competition.slug}: {found.submissions} submissions computed, "
            told += f"{found.values} values and {found.rows} rows {'changed' if keep else 'would change'}"
            left = f"; {found.left} left as they are, because some task has no result yet" if found.left else ""
            self.stdout.write(f"{told}{left}.")
