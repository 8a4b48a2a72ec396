"""An episode's two pairs of texts that the text measures compare: plan and execution, reference and record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gauntlet_scoring.program import Case
from gauntlet_scoring.text import (
    MAX_TEXT_CHARACTERS,
    cut,
    plan_text,
    recorded_execution_lines,
    reference_execution_lines,
)


@dataclass(frozen=True)
class TextPair:
    """What is expected and what was recorded, one step a line."""

    reference: str
    candidate: str


@dataclass(frozen=True)
class StepTexts:
    """The texts of one episode."""

    plan: TextPair
    execution: TextPair

    def detail(self) -> dict[str, Any]:
        """Why a score is what it is: how many lines there were to compare, and whether one text was cut."""
        detail: dict[str, Any] = {}
        for name, pair in (("plan", self.plan), ("execution", self.execution)):
            detail[f"{name}_steps"] = len(pair.candidate.split("\n")) if pair.candidate else 0
            detail[f"{name}_reference_steps"] = len(pair.reference.split("\n")) if pair.reference else 0
            if not pair.candidate:
                detail[f"{name}_reason"] = f"no {name} was recorded: 0"
            elif len(pair.candidate) == MAX_TEXT_CHARACTERS:
                detail[f"{name}_reason"] = f"only the first {MAX_TEXT_CHARACTERS} characters were compared"
        return detail


def step_texts(case: Case) -> StepTexts:
    """The texts of a case."""
    truth, episode = case.reference.truth, case.episode
    recorded = recorded_execution_lines(
        episode.successful_calls, answered=episode.answered, reference=truth.execution_steps
    )
    return StepTexts(
        plan=TextPair(reference=plan_text(truth.planning_steps), candidate=plan_text(episode.plan)),
        execution=TextPair(
            reference=cut("\n".join(reference_execution_lines(truth.execution_steps))),
            candidate=cut("\n".join(recorded)),
        ),
    )
