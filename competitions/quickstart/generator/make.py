"""Make the quickstart competition: `python make.py --secret-file FILE --out FOLDER [--seed N]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from quickstart_generator.bundle import make_competition
from quickstart_generator.manifest import Calendar

__all__ = ["Calendar", "main", "make_competition"]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, write the bundle, say where it is."""
    usual = Calendar()
    parser = argparse.ArgumentParser(description="Write the quickstart competition as a bundle folder.")
    secret = parser.add_mutually_exclusive_group(required=True)
    secret.add_argument("--secret-file", type=Path, help="file with this installation's secret, 16 bytes or more")
    secret.add_argument("--secret", help="the secret itself, visible in the process list")
    parser.add_argument("--out", type=Path, required=True, help="new or empty folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--development-start", default=usual.development_start, help="UTC, YYYY-MM-DD HH:MM:SS")
    parser.add_argument("--test-start", default=usual.test_start, help="UTC; the development phase ends before it")
    parser.add_argument("--test-end", default=usual.test_end, help="UTC; open where left out")
    given = parser.parse_args(arguments)
    key = given.secret_file.read_bytes() if given.secret_file else given.secret.encode()
    calendar = Calendar(given.development_start, given.test_start, given.test_end)
    try:
        make_competition(given.out, secret=key, seed=given.seed, calendar=calendar)
    except ValueError as error:
        parser.error(str(error))
    sys.stdout.write(f"{given.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
