"""The `gauntlet-score` command: ground truth on an organizer's own machine."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the installed command; everything else is imported from here on."""
    try:
        import typer  # noqa: F401  # the extra `cli`, which a scorer's sandbox has no use for
    except ModuleNotFoundError:
        sys.stderr.write("gauntlet-score needs its extra: pip install 'gauntlet-scoring[cli]'\n")
        raise SystemExit(2) from None
    from gauntlet_scoring.command.app import main as run_command

    run_command()
