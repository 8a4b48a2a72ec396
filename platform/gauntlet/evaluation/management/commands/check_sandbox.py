"""`manage.py check_sandbox`: set the zoo of hostile programs upon this installation's sandbox, and print the table."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.sandbox import BACKENDS, open_sandbox
from gauntlet_runtime.sandbox.interface import Sandbox, SandboxError
from gauntlet_runtime.zoo.keeper import IMAGE, Keeper, Row
from gauntlet_runtime.zoo.programs import Program, Zoo, ZooFault, load_zoo
from gauntlet_runtime.zoo.table import table
from gauntlet_runtime.zoo.targets import open_targets

ZOO = settings.BASE_DIR / "tests" / "security" / "zoo"
_AS_ROOT = "Start the workers, and this check, as root"
_DELEGATED = "or as a user to whom a version 2 control group is delegated (systemd: User= with Delegate=yes)"
_MOUNTED = "Give the container in which the workers run a /sys/fs/cgroup that they can write to."
_NO_ELSEWHERE = (
    "Only root can make a network namespace: the listeners were this host's loopback and unix sockets, without a "
    "link-local address."
)


class Command(BaseCommand):
    """Exit status 1 where a program got another verdict than it declares, or the zoo could not be run."""

    help = "Run the zoo of hostile programs against this installation's sandbox and images."
    requires_system_checks = ()  # a sandbox needs no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The command line."""
        parser.add_argument("--backend", choices=list(BACKENDS), help="another backend than the installation's")
        parser.add_argument("--only", action="append", default=[], metavar="NAME", help="programs with NAME in theirs")
        parser.add_argument("--zoo", type=Path, default=ZOO, help="where the programs are, if not in the repository")
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")

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
            image, weak = sandbox.image_digest(IMAGE), sandbox.best_effort()
            self._tell(f"{sandbox.name}, {IMAGE} {image}")
            self._tell(f"best effort for: {', '.join(weak)}" if weak else "every limit is enforced")
            rows = self._run(zoo, programs, sandbox)
        except (ZooFault, SandboxError, PermissionError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            found = {"backend": sandbox.name, "image": image, "best_effort": weak}
            rows_as_json = [{**asdict(row), "ok": row.ok} for row in sorted(rows, key=lambda row: row.program)]
            self.stdout.write(json.dumps({**found, "programs": rows_as_json}, indent=2))
        else:
            self.stdout.write("\n".join([table(rows), *_notes(weak, sandbox)]))
        if len(rows) < len(programs):
            raise CommandError(f"stopped: {len(programs) - len(rows)} of {len(programs)} programs have no verdict")
        if wrong := [row.program for row in rows if row.problems]:
            raise CommandError(f"another verdict than declared, or harm done, by: {', '.join(sorted(wrong))}")

    def _run(self, zoo: Zoo, programs: list[Program], sandbox: Sandbox) -> list[Row]:
        """The rows; fewer than programs where somebody stopped it."""
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
                with contextlib.suppress(KeyboardInterrupt):
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


def _notes(weak: Sequence[str], sandbox: Sandbox) -> list[str]:
    """What this check could not show here, and what to do about it."""
    notes = []
    if weak:
        notes.append(f"{sandbox.name} holds {', '.join(weak)} only at best effort here. {_remedy(weak)}")
    if os.geteuid() != 0:
        notes.append(_NO_ELSEWHERE)
    return notes


def _remedy(weak: Sequence[str]) -> str:
    if os.geteuid() == 0:
        return _MOUNTED
    return f"{_AS_ROOT}." if list(weak) == ["uid"] else f"{_AS_ROOT}, {_DELEGATED}."
