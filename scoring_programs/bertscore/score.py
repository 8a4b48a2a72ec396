"""BERTScore of the recorded plan and execution against the reference, and S = (plan F1 + plan ROUGE-L F1) / 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from gauntlet_scoring.bertscore import Scored, Settings, facts, packages, score_pairs
from gauntlet_scoring.plan_lengths import LENGTH, plan_length, plan_lengths
from gauntlet_scoring.program import Case, Measure, Measured, run
from gauntlet_scoring.program_metadata import ProgramMetadata
from gauntlet_scoring.rouge import rouge_f1
from gauntlet_scoring.step_texts import StepTexts, step_texts


def build(metadata: ProgramMetadata) -> Measure[tuple[StepTexts, float]]:
    """The measure under the settings of metadata and environment."""
    settings = Settings.read(metadata.settings, os.environ)

    def read(case: Case) -> tuple[StepTexts, float]:
        return step_texts(case), plan_length(case)

    def finish(parts: Sequence[tuple[StepTexts, float]]) -> list[Measured]:
        scored = score_pairs([pair for each, _ in parts for pair in (each.plan, each.execution)], settings)
        rows = zip(parts, scored[::2], scored[1::2], strict=True)
        return [_measured(texts, plan, execution, length=length) for (texts, length), plan, execution in rows]

    return Measure(
        read=read,
        finish=finish,
        overall=plan_lengths,
        facts=lambda: facts(settings),
        packages=(*packages(settings), "rouge-score"),
    )


def _measured(texts: StepTexts, plan: Scored, execution: Scored, *, length: float) -> Measured:
    rouge = rouge_f1(texts.plan.reference, texts.plan.candidate, variants=("rougeL",))["rougeL"]
    scores = {
        "plan_precision": plan.triple.precision,
        "plan_recall": plan.triple.recall,
        "plan_f1": plan.triple.f1,
        "s_combined": (plan.triple.f1 + rouge) / 2,
        "execution_f1": execution.triple.f1,
        LENGTH: length,
    }
    detail = texts.detail() | {"plan_rougeL": rouge}
    detail |= {"plan_truncated": plan.truncated, "execution_truncated": execution.truncated}
    return Measured(scores=scores, detail=detail)


if __name__ == "__main__":
    sys.exit(run(__file__, build))
