"""Make a track of the AssetOps competition: `python make.py --track execution --secret-file FILE --out FOLDER`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assetops_data import Size
from assetops_scenarios.bundle import PUBLIC_QUESTIONS, Scale, make_competition
from assetops_scenarios.manifest import TRACKS, Calendar, Rules

__all__ = ["Calendar", "Rules", "Scale", "main", "make_competition"]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, write the bundle, say where it is."""
    parser = _parser()
    given = parser.parse_args(arguments)
    rules = Rules(
        models=tuple(given.models),
        judge=given.judge,
        provider=given.provider,
        trials=given.trials,
        calendar=Calendar(given.development_start, given.test_start, given.test_end),
    )
    try:
        make_competition(
            given.out,
            track=given.track,
            secret=given.secret_file.read_bytes(),
            seed=given.seed,
            distractors=given.distractors,
            rules=rules,
            scale=Scale(
                public=given.public_questions,
                hidden=given.hidden_questions,
                site=Size(telemetry_days=given.telemetry_days),
            ),
        )
    except ValueError as error:
        parser.error(str(error))
    sys.stdout.write(f"{given.out}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    usual = Calendar()
    parser = argparse.ArgumentParser(description="Write a track of the AssetOps competition as a bundle folder.")
    parser.add_argument("--track", choices=TRACKS, required=True)
    parser.add_argument("--secret-file", type=Path, required=True, help="this installation's secret, 16 bytes or more")
    parser.add_argument("--out", type=Path, required=True, help="new or empty folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--distractors", action="store_true", help="a second test phase, with the ten distractors")
    parser.add_argument("--models", nargs="*", default=[], help="language models that agents may call")
    parser.add_argument("--judge", help="language model that judges in place of the declared checks")
    parser.add_argument("--provider", help="where models and judge come from, as the installation calls it")
    parser.add_argument("--trials", type=int, default=1, help="how often each hidden question is asked")
    parser.add_argument("--public-questions", type=int, default=PUBLIC_QUESTIONS)
    parser.add_argument("--hidden-questions", type=int, help="the whole set of 141 where left out")
    parser.add_argument("--telemetry-days", type=int, default=365, help="how long the sensors were recorded")
    parser.add_argument("--development-start", default=usual.development_start, help="UTC, YYYY-MM-DD HH:MM:SS")
    parser.add_argument("--test-start", default=usual.test_start, help="UTC; the development phase ends before it")
    parser.add_argument("--test-end", default=usual.test_end, help="UTC; open where left out")
    return parser


if __name__ == "__main__":
    sys.exit(main())
