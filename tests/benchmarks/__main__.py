"""`./run bench [name ...]`: how fast each part is, beside the plain alternative measured in the same run.

Every `bench_<name>.py` beside this file has a function `rows()` that measures and returns one dict a line of the table:

    name   what was measured, in a few words
    ours   the measured value
    plain  the plain alternative's value, or None where there is none
    goal   the largest value that reaches the goal, or the goal in words ("one call")
    unit   unit of the values
    ok     whether the goal was reached
    plain_is   what the plain alternative is; may be left out

Each is measured in a process of its own, with Django set up on an empty installation that is there for this run only
(its database writes through to the disk, as a real one does).

No goal is a test: a number that misses its goal is shown as such and the exit status stays 0. It is 1 when something
could not be measured.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NotRequired, TypedDict

from gauntlet_runtime import services

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEADINGS = ("measured", "Gauntlet", "plain", "unit", "goal", "")


class Row(TypedDict):
    """One line of the table, as the modules return it."""

    name: str
    ours: float
    plain: float | None
    goal: float | str
    unit: str
    ok: bool
    plain_is: NotRequired[str]


def main(names: Sequence[str]) -> int:
    """Measure what was asked for (everything if nothing was) and print one table."""
    modules = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in names if name not in modules]
    if unknown:
        sys.stderr.write(f"No benchmark {', '.join(unknown)}. There are: {', '.join(modules)}\n")
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave no services behind when told to end
    rows: list[Row] = []
    failed = []
    with installation() as environment:
        for name in names or modules:
            sys.stderr.write(f"measuring {name} ...\n")
            measured = measure(modules[name], environment)
            rows += measured or []
            if measured is None:
                failed.append(name)
                sys.stderr.write(ends_of_logs(Path(environment["GAUNTLET_VAR"]) / "log"))
    sys.stdout.write(table([cells(row) for row in rows]) + what_plain_is(rows))
    if failed:
        sys.stderr.write(f"Could not be measured: {', '.join(failed)}\n")
    return int(bool(failed))


@contextmanager
def installation() -> Iterator[dict[str, str]]:
    """The environment of a fresh, migrated installation with services of its own."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)  # the servers' account passes through
        var = Path(folder) / "var"
        try:
            urls = services.ensure(var)
            environment = {
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "gauntlet.settings",
                "GAUNTLET_VAR": str(var),
                "DATABASE_URL": urls.database_url,
                "BROKER_URL": urls.broker_url,
                "GAUNTLET_IMAGES": os.environ.get("GAUNTLET_IMAGES", str(ROOT / "var" / "images")),
                "ALLOWED_HOSTS": "localhost,127.0.0.1,testserver",  # the last is Django's test client
                "LOG_LEVEL": "WARNING",
            }
            migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
            yield environment
        finally:
            services.stop(var)


def measure(module: Path, environment: dict[str, str]) -> list[Row] | None:
    """The rows of one module, measured in a process of its own; None if it failed, which it has explained itself."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, str(HERE), "--into", file.name, str(module)]
        if subprocess.run(command, cwd=ROOT, env=environment).returncode:
            return None
        rows: list[Row] = json.load(file)
        return rows


def ends_of_logs(folder: Path) -> str:
    """What the platform's processes said last: the installation is removed, and their logs with it."""
    said = ""
    for log in sorted(folder.glob("*.log")):
        with log.open(errors="replace") as file:
            lines = deque((line for line in file if ": INFO/" not in line), maxlen=100)
        said += f"The last lines of {log.name}:\n{''.join(lines)}"
    return said


def measure_here(target: str, module_file: str) -> int:
    """What the process of one measurement does: load the module from its file (tests are no package) and run it."""
    import django

    django.setup()
    path = Path(module_file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    Path(target).write_text(json.dumps(module.rows()))
    return 0


def cells(row: Row) -> tuple[str, ...]:
    """A row as the table shows it."""
    plain = "" if row["plain"] is None else number(row["plain"])
    goal = row["goal"] if isinstance(row["goal"], str) else f"at most {number(row['goal'])}"
    return (row["name"], number(row["ours"]), plain, row["unit"], goal, "reached" if row["ok"] else "MISSED")


def what_plain_is(rows: Sequence[Row]) -> str:
    """What each plain alternative is, said once."""
    said: dict[str, str] = {}
    for row in rows:
        if row.get("plain_is", "the same") != "the same":
            said.setdefault(row["plain_is"], row["name"])
    lines = [f"  {name}: {what}" for what, name in said.items()]
    return "\n".join(["\nThe plain alternative of", *lines, ""]) if lines else ""


def number(value: float) -> str:
    """A whole number as it is, any other with three significant digits, without an exponent."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".")


def table(lines: Sequence[tuple[str, ...]]) -> str:
    """Aligned columns; the two of numbers to the right."""
    everything = [HEADINGS, *lines]
    widths = [max(len(line[column]) for line in everything) for column in range(len(HEADINGS))]
    rule = "  ".join("-" * width for width in widths)
    shown = [
        "  ".join(
            cell.rjust(width) if column in (1, 2) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in everything
    ]
    return "\n".join([shown[0], rule, *shown[1:], ""])


if __name__ == "__main__":
    sys.exit(measure_here(*sys.argv[2:]) if sys.argv[1:2] == ["--into"] else main(sys.argv[1:]))
