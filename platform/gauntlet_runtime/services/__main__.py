"""``python -m gauntlet_runtime.services start|stop|status --var DIR``: the embedded services from a shell."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from . import ServiceError, ServiceUrls, ensure, status, stop


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status is 0 when the services are as asked, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m gauntlet_runtime.services", description=__doc__)
    parser.add_argument("command", choices=["start", "stop", "status"])
    parser.add_argument("--var", type=Path, required=True, help="folder of the installation's state")
    parser.add_argument("--show", action="store_true", help="print the passwords in the addresses")
    options = parser.parse_args(arguments)
    try:
        return {"start": _start, "stop": _stop, "status": _status}[options.command](options)
    except ServiceError as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _start(options: argparse.Namespace) -> int:
    _print_urls(ensure(options.var), show=options.show)
    return 0


def _stop(options: argparse.Namespace) -> int:
    stop(options.var)
    sys.stdout.write("PostgreSQL and Valkey are stopped\n")
    return 0


def _status(options: argparse.Namespace) -> int:
    now = status(options.var)
    for name, process in (("PostgreSQL", now.postgres), ("Valkey", now.valkey)):
        sys.stdout.write(f"{name}: {'not running' if process is None else f'process {process}'}\n")
    if now.base is not None:
        sys.stdout.write(f"Files: {now.base}\n")
    if now.postgres is None or now.valkey is None:
        return 1
    _print_urls(ensure(options.var), show=options.show)
    return 0


def _print_urls(urls: ServiceUrls, *, show: bool) -> None:
    for name, address in (("DATABASE_URL", urls.database_url), ("BROKER_URL", urls.broker_url)):
        sys.stdout.write(f"{name}={address if show else re.sub(r':[^:@/]+@', ':***@', address)}\n")


if __name__ == "__main__":
    sys.exit(main())
