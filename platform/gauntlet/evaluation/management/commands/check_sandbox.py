"""`manage.py check_sandbox`: set the zoo of hostile programs upon this installation's sandbox, and print the table."""

from __future__ import annotations

import tempfile
from argparse import ArgumentParser
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.sandbox import BACKENDS, open_sandbox
from gauntlet_runtime.sandbox.interface import Enforcement, Sandbox, SandboxError
from gauntlet_runtime.zoo.keeper import IMAGE, Keeper, Row
from gauntlet_runtime.zoo.programs import Program, Zoo, ZooFault, load_zoo
from gauntlet_runtime.zoo.table import table
from gauntlet_runtime.zoo.targets import open_targets

ZOO = settings.BASE_DIR / "tests" / "security" / "zoo"


class Command(BaseCommand):
    """Exit status 1 where a program got another verdict than it declares, or the zoo could not be run."""

    help = "Run the zoo of hostile programs against this installation's sandbox and images."
    requires_system_checks = ()  # a sandbox needs no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("--backend", choices=list(BACKENDS), help="another backend than the installation's")
        parser.add_argument("--only", action="append", default=[], metavar="NAME", help="programs with NAME in theirs")
        parser.add_argument("--zoo", type=Path, default=ZOO, help="where the programs are, if not in the repository")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it."""
        try:
            zoo = load_zoo(options["zoo"])
            programs = _chosen(zoo, options["only"])
            sandbox = open_sandbox(
                options["backend"] or settings.SANDBOX or None,
                state=settings.VAR / "sandbox",
                images=settings.SANDBOX_IMAGES,
                docker_runtime=settings.DOCKER_RUNTIME or None,
            )
            self._tell(f"{sandbox.name}, {IMAGE} {sandbox.image_digest(IMAGE)}")
            self._tell(f"enforcement: {_enforced(sandbox)}")
            rows = self._run(zoo, programs, sandbox)
        except (ZooFault, SandboxError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(table(rows))
        if wrong := [row.program for row in rows if not row.ok]:
            raise CommandError(f"another verdict than declared, or harm done, by: {', '.join(wrong)}")

    def _run(self, zoo: Zoo, programs: list[Program], sandbox: Sandbox) -> list[Row]:
        settings.VAR.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix="check-sandbox-", dir=settings.VAR) as temporary,
            open_targets() as targets,
            GatewayPool() as gateways,
        ):
            folder = Path(temporary)
            folder.chmod(0o711)  # the sandboxes' accounts pass through
            state = settings.VAR / "sandbox"
            keeper = Keeper(zoo, sandbox=sandbox, state=state, folder=folder, targets=targets, gateways=gateways)
            rows = []
            try:
                for future in as_completed(keeper.begin(programs).values()):
                    rows.append(future.result())
                    self._tell(f"{len(rows)} of {len(programs)}: {rows[-1].program}")
            finally:
                keeper.close()
        return rows

    def _tell(self, line: str) -> None:
        """Progress, beside the table."""
        self.stderr.write(line)


def _chosen(zoo: Zoo, names: list[str]) -> list[Program]:
    chosen = [one for one in zoo.programs if not names or any(name in one.name for name in names)]
    if not chosen:
        raise CommandError(f"no program of {zoo.folder} has {' or '.join(names)} in its name")
    return chosen


def _enforced(sandbox: Sandbox) -> str:
    weak = [name for name, how in sandbox.enforcement().items() if how is not Enforcement.ENFORCED]
    return f"best effort for {', '.join(weak)}" if weak else "everything"
