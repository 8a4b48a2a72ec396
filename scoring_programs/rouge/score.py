"""ROUGE-1, -2, -L and -Lsum (F1) of the recorded plan and of the recorded execution, and how long the plans are."""

from __future__ import annotations

import sys

from gauntlet_scoring.plan_lengths import LENGTH, plan_length, plan_lengths
from gauntlet_scoring.program import Case, Measure, Measured, run
from gauntlet_scoring.program_metadata import ProgramMetadata
from gauntlet_scoring.rouge import rouge_f1
from gauntlet_scoring.step_texts import step_texts


def measure(case: Case) -> Measured:
    """Eight F1 values of an answered episode and its plan's length; no plan, or no call, gives 0."""
    texts = step_texts(case)
    scores = {
        f"{name}_{variant}": value
        for name, pair in (("plan", texts.plan), ("execution", texts.execution))
        for variant, value in rouge_f1(pair.reference, pair.candidate).items()
    }
    return Measured(scores=scores | {LENGTH: plan_length(case)}, detail=texts.detail())


def build(_: ProgramMetadata) -> Measure[Measured]:
    """The measure, which has no settings."""
    return Measure(read=measure, finish=list, overall=plan_lengths, packages=("rouge-score",))


if __name__ == "__main__":
    sys.exit(run(__file__, build))
