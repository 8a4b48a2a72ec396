"""Rubric: task completion, data retrieval accuracy, result verification, by declared checks or by a language model."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from gauntlet_scoring.program import Measure, Measured, run
from gauntlet_scoring.program_metadata import ProgramMetadata
from gauntlet_scoring.rubric import Judgement, open_judge


def build(metadata: ProgramMetadata) -> Measure[Any]:
    """The measure under the judge that the environment or the program's settings choose."""
    judge = open_judge(metadata.settings, os.environ)

    def finish(parts: Sequence[Any]) -> list[Measured]:
        return [_measured(judgement) for judgement in judge.finish(parts)]

    return Measure(
        read=judge.read,
        finish=finish,
        facts=judge.facts,
        keys=judge.keys | {"answered"},
        of_answered=judge.of_answered,
    )


def _measured(judgement: Judgement) -> Measured:
    return Measured(
        scores={**judgement.scores, "answered": 1.0}, detail=dict(judgement.detail), unverified=judgement.unverified
    )


if __name__ == "__main__":
    sys.exit(run(__file__, build))
