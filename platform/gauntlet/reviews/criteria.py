"""What people are asked: six true/false questions about a trajectory, one rating about a scenario.

The six are those of the public judge (requirements, section 2.5); the first three are the paper's (A30, A31) and the
only ones that a rubric or a judge program scores, so that people and judge can be compared on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One true/false question."""

    key: str  # the field of a Judgement
    title: str
    question: str
    hint: str
    scores: tuple[str, ...] = ()  # names under which a program scores it; none: people alone are asked


CRITERIA: Final = (
    Criterion(
        key="task_completion",
        title="Task completion",
        question="Did the agent do everything that the task asks for?",
        hint="Every required action: the right tools, the data, the analysis.",
        scores=("task_completion",),
    ),
    Criterion(
        key="data_retrieval_accuracy",
        title="Data retrieval accuracy",
        question="Did it use the right data?",
        hint="Asset, place, period and sensor are right, and so is what was read.",
        scores=("data_retrieval_accuracy",),
    ),
    Criterion(
        key="generalized_result_verification",
        title="Result verification",
        question="Is the result what was expected?",
        hint="It has the form and the values of the task's kind, and nothing contradicts it.",
        scores=("generalized_result_verification", "result_verification"),
    ),
    Criterion(
        key="agent_sequence_correct",
        title="Sequence of steps",
        question="Were the right agents or tools called in the right order?",
        hint="A different way that leads to the same result is right too.",
    ),
    Criterion(
        key="clarity_and_justification",
        title="Clarity and justification",
        question="Is the answer clear, and does it say what it rests on?",
        hint="A reader can follow how it came about.",
    ),
    Criterion(
        key="hallucinations",
        title="Hallucinations",
        question="Does the answer state anything that the record does not support?",
        hint="Yes is the fault here: something was made up.",
    ),
)
KEYS: Final = tuple(criterion.key for criterion in CRITERIA)
JUDGED: Final = tuple(criterion for criterion in CRITERIA if criterion.scores)

#: The paper's scale of a scenario's realism, in its words.
SCALE: Final[Mapping[int, str]] = {1: "Not realistic", 2: "Realistic", 3: "Highly realistic"}


def majority(score: float) -> bool:
    """A judge's verdict from its score of a criterion: the share of its runs, or of its checks, that said yes.

    More than half of them: as many yes as no is no majority.
    """
    return score > 0.5
