"""Make the competition of published questions: `python published.py --out FOLDER [--shared FOLDER]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from quickstart_generator.published import make_published

REPOSITORY = Path(__file__).resolve().parents[3]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, write the bundle, say where it is."""
    shared = Path(os.environ.get("GAUNTLET_SHARED", REPOSITORY.parent / "shared"))
    parser = argparse.ArgumentParser(description="Write the published questions about real records as a bundle folder.")
    parser.add_argument("--out", type=Path, required=True, help="new or empty folder")
    parser.add_argument("--shared", type=Path, default=shared, help="the folder that holds data/assetops")
    given = parser.parse_args(arguments)
    try:
        make_published(given.out, shared=given.shared)
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    sys.stdout.write(f"{given.out}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
