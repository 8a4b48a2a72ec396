"""Failure modes: in which of fourteen known ways, and up to two new ones, each trace failed, as the judge sees it."""

from __future__ import annotations

import os
import sys
from typing import Any

from gauntlet_scoring.bertscore import DEFAULT_MODEL
from gauntlet_scoring.failure_modes import JUDGED, KEYS, FailureModes
from gauntlet_scoring.judge_door import JudgeSettings
from gauntlet_scoring.program import Measure, run
from gauntlet_scoring.program_metadata import ProgramMetadata


def build(metadata: ProgramMetadata) -> Measure[Any]:
    """The measure behind the judge's door, which the task has to have."""
    modes = FailureModes(
        settings=JudgeSettings.read(metadata.settings, os.environ),
        model_folder=metadata.settings.get("model", DEFAULT_MODEL),
    )
    return Measure(
        read=modes.read,
        finish=modes.finish,
        facts=modes.facts,
        of_answered=KEYS - {JUDGED},
        reads_failed=True,
        report=modes.report,
    )


if __name__ == "__main__":
    sys.exit(run(__file__, build))
