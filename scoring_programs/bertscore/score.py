"""BERTScore of the recorded plan and execution against the reference, and S = (plan F1 + plan ROUGE-L F1) / 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from gauntlet_scoring.bertscore import Scored, Settings, facts, packages, score_pairs
from gauntlet_scoring.program import Measure, Measured, run
from gauntlet_scoring.program_metadata import ProgramMetadata
from gauntlet_scoring.rouge import rouge_f1
from gauntlet_scoring.step_texts import StepTexts, step_texts


def build(metadata: ProgramMetadata) -> Measure[StepTexts]:
    """The measure under the settings of metadata and environment."""
    settings = Settings.read(metadata.settings, os.environ)

    def finish(texts: Sequence[StepTexts]) -> list[Measured]:
        scored = score_pairs([pair for each in texts for pair in (each.plan, each.execution)], settings)
        return [_measured(*row) for row in zip(texts, scored[::2], scored[1::2], strict=True)]

    return Measure(
        read=step_texts,
        finish=finish,
        facts=lambda: facts(settings),
        packages=(*packages(settings), "rouge-score"),
    )


def _measured(texts: StepTexts, plan: Scored, execution: Scored) -> Measured:
    rouge = rouge_f1(texts.plan.reference, texts.plan.candidate, variants=("rougeL",))["rougeL"]
    scores = {
        "plan_precision": plan.triple.precision,
        "plan_recall": plan.triple.recall,
        "plan_f1": plan.triple.f1,
        "s_combined": (plan.triple.f1 + rouge) / 2,
        "execution_f1": execution.triple.f1,
    }
    detail = texts.detail() | {"plan_rougeL": rouge}
    detail |= {"plan_truncated": plan.truncated, "execution_truncated": execution.truncated}
    return Measured(scores=scores, detail=detail)


if __name__ == "__main__":
    sys.exit(run(__file__, build))
