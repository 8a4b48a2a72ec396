"""The hybrid score of the ground-truth guide: outcome, process and plan in one number (G23 to G28, G31)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from gauntlet_scoring import bertscore
from gauntlet_scoring.composites import check_parts, weighted
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.execution.answer_format import misfits
from gauntlet_scoring.execution.pattern_names import FailurePattern
from gauntlet_scoring.execution.scoring import DEFAULT_PARTS, PATTERNS_FILE, Tally, score_execution
from gauntlet_scoring.html_report import REPORT_FILE, page, paragraph, table
from gauntlet_scoring.program import Case, Measure, Measured, Results
from gauntlet_scoring.program_metadata import ProgramMetadata
from gauntlet_scoring.rouge import rouge_f1
from gauntlet_scoring.rubric import Judge, Judgement, open_judge
from gauntlet_scoring.step_texts import StepTexts, step_texts

WEIGHTS: Final = {"rubric_score": 0.5, "execution_score": 0.3, "planning_score": 0.2}
"""G27: outcome, process and planning."""

FINAL: Final = "final_score"


class Planning(StrEnum):
    """What the planning score is."""

    S = "s"  # (BERTScore F1 + ROUGE-L F1) / 2 (A36)
    ROUGE_L = "rougeL"  # ROUGE-L F1 alone (G26): where no model is to be loaded


def final_score(*, rubric: float, execution: float, planning: float) -> float:
    """0.5 rubric + 0.3 execution + 0.2 planning (G27), each in [0, 1].

    0.87, 0.68 and 0.65 give 0.769; the guide prints 0.78, which its own formula does not give.
    """
    parts = {"rubric_score": rubric, "execution_score": execution, "planning_score": planning}
    return weighted(parts, WEIGHTS)


def planning_of(settings: Mapping[str, str]) -> Planning:
    """The planning score that a program's settings declare; S where they are silent.

    Raises:
        ScoringInputError: it is neither.
    """
    declared = settings.get("planning", Planning.S)
    try:
        return Planning(declared)
    except ValueError:
        known = ", ".join(Planning)
        raise ScoringInputError(f"the setting `planning` must be one of {known}, not {declared[:40]!r}") from None


def usable(
    metadata: ProgramMetadata, environment: Mapping[str, str]
) -> tuple[Planning, tuple[str, ...], bertscore.Settings]:
    """The planning score, the execution score's parts and the model that a program's settings declare.

    Raises:
        ScoringInputError: a setting cannot be used, or a component is on another scale than the composite.
    """
    check_parts(FINAL, list(WEIGHTS), metadata)
    model = bertscore.Settings.read(metadata.settings, environment)
    return planning_of(metadata.settings), _execution_parts(metadata.settings), model


@dataclass(frozen=True)
class _Part:
    """What is kept of an answered episode."""

    judged: Any  # what the judge keeps
    execution: Measured
    texts: StepTexts
    missing_steps: list[str]
    issues: list[str]


@dataclass
class Hybrid:
    """The program's measure: reads the episodes, then scores all of them."""

    metadata: ProgramMetadata
    judge: Judge
    planning: Planning
    parts: tuple[str, ...]
    model: bertscore.Settings
    tally: Tally = field(default_factory=Tally)
    completion: list[float] = field(default_factory=list)  # y1 of the answered and verified episodes

    @classmethod
    def of(cls, metadata: ProgramMetadata, environment: Mapping[str, str] = os.environ) -> Hybrid:
        """The measure that a program's metadata declares.

        Raises:
            ScoringInputError: a setting cannot be used, or a component's scale is not the composite's.
        """
        planning, parts, model = usable(metadata, environment)
        judge = open_judge(metadata.settings, environment)
        return cls(metadata=metadata, judge=judge, planning=planning, parts=parts, model=model)

    def measure(self) -> Measure[_Part]:
        """For :func:`gauntlet_scoring.program.run`."""
        model = bertscore.packages(self.model) if self.planning is Planning.S else ()
        return Measure(
            read=self.read,
            finish=self.finish,
            facts=self.facts,
            packages=(*model, "rouge-score"),
            of_failed=self.tally.failed,
            report=self.report,
        )

    def facts(self) -> dict[str, str]:
        """What belongs into the provenance: which planning score, which judge, which parts and model."""
        facts = {"hybrid_planning": str(self.planning), "execution_parts": " ".join(self.parts), **self.judge.facts()}
        return facts | (bertscore.facts(self.model) if self.planning is Planning.S else {})

    def read(self, case: Case) -> _Part:
        """Everything of one answered episode that needs its record."""
        measured, execution = score_execution(case, parts=self.parts)
        patterns = self.tally.add(execution)
        return _Part(
            judged=self.judge.read(case),
            execution=measured,
            texts=step_texts(case),
            missing_steps=patterns[FailurePattern.MISSING_STEPS],
            issues=misfits(case.reference.truth, case.episode),
        )

    def finish(self, parts: Sequence[_Part]) -> list[Measured]:
        """Judge and score all episodes."""
        judgements = self.judge.finish([part.judged for part in parts])
        planning = self._planning([part.texts for part in parts])
        return [self._measured(*row) for row in zip(parts, judgements, planning, strict=True)]

    def _planning(self, texts: Sequence[StepTexts]) -> list[float]:
        rouge = [rouge_f1(each.plan.reference, each.plan.candidate, variants=("rougeL",))["rougeL"] for each in texts]
        if self.planning is Planning.ROUGE_L:
            return rouge
        scored = bertscore.score_pairs([each.plan for each in texts], self.model)
        return [(bert.triple.f1 + r) / 2 for bert, r in zip(scored, rouge, strict=True)]

    def _measured(self, part: _Part, judgement: Judgement, planning: float) -> Measured:
        scores = {"execution_score": part.execution.scores["score"], "planning_score": planning}
        issues = [*part.issues, *_failed_checks(judgement)]
        detail = part.execution.detail | {"failure_analysis": _analysis(part.missing_steps, issues)}
        if judgement.mean is None or judgement.criteria is None:
            return Measured(scores=scores, detail=detail, unverified=judgement.unverified)
        self.completion.append(judgement.criteria["task_completion"])
        scores["rubric_score"] = judgement.mean
        scores[FINAL] = weighted(scores, WEIGHTS)
        return Measured(scores=scores, detail=detail | judgement.criteria)

    def report(self, results: Results) -> dict[str, str]:
        """The batch report (G31): means, completion rate, every scenario, and how often each way to fail was seen."""
        counted = results.episodes - sum(results.failures.values()) + self._failed(results)
        verified = counted - int(sum("unverified" in row.detail for row in results.rows))
        completed = sum(self.completion) / verified if verified else 0.0
        weights = {FINAL: "", **{name: f"{weight:g}" for name, weight in WEIGHTS.items()}}
        rows: list[list[str | float]] = [
            [name.replace("_", " "), weights[name], results.scores[name]] for name in weights if name in results.scores
        ]
        scenarios: list[list[str | float]] = [
            [
                f"{row.scenario}, trial {row.trial}",
                *(row.scores.get(name, "not verified") for name in weights),
                _why(row),
            ]
            for row in results.rows
        ]
        titles = [name.replace("_", " ") for name in weights]
        sections = [
            paragraph(f"{results.episodes} episodes, {sum(results.failures.values())} of them without an answer."),
            paragraph(f"Completion rate: {completed:.3f} (mean task completion of the episodes that were judged)."),
            paragraph(f"The planning score is {'S' if self.planning is Planning.S else 'ROUGE-L'}."),
            table("Scores", ("Score", "Weight", "Mean"), rows),
            *self.tally.tables(),
            table("By scenario", ("Scenario", *titles, "Why"), scenarios),
        ]
        return {REPORT_FILE: page("Hybrid score", sections), PATTERNS_FILE: self.tally.as_json()}

    @staticmethod
    def _failed(results: Results) -> int:
        """Episodes that the participant's fault ended: they count, with 0."""
        return sum("failure" in row.detail for row in results.rows)


def _execution_parts(settings: Mapping[str, str]) -> tuple[str, ...]:
    parts = tuple(settings.get("parts", " ".join(DEFAULT_PARTS)).split())
    unknown = [part for part in parts if part not in EXECUTION_PARTS]
    if unknown or not parts:
        said = f"`{unknown[0][:60]}` is no score in [0, 1] of which more is better" if unknown else "there is none"
        raise ScoringInputError(f"the setting `parts` names the parts of the execution score: {said}")
    return parts


EXECUTION_PARTS: Final = (
    *DEFAULT_PARTS,
    *("step_count_ratio", "agent_selection", "tool_accuracy", "format_compliance"),
    *("plan_coverage", "plan_agents", "plan_node_f1", "plan_edge_f1"),
)
"""What the execution score of a hybrid may be the mean of: one scale and one direction."""


def _failed_checks(judgement: Judgement) -> list[str]:
    """The reasons of the checks of the result that do not hold; a language model gives none."""
    verdicts = judgement.detail.get("result_verification")
    checks = verdicts if isinstance(verdicts, list) else []
    return [str(each["reason"]) for each in checks if isinstance(each, dict) and each.get("holds") is False]


def _analysis(missing_steps: Sequence[str], issues: Sequence[str]) -> dict[str, list[str]]:
    """G28's failure_analysis."""
    return {"missing_steps": list(missing_steps), "output_issues": list(dict.fromkeys(issues))}


def _why(row: Any) -> str:
    if "failure" in row.detail:
        return str(row.detail["reason"])
    analysis = row.detail.get("failure_analysis", {"missing_steps": [], "output_issues": []})
    return "; ".join([*analysis["missing_steps"], *analysis["output_issues"]][:5])
