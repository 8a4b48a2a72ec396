"""How a submission failed: over its episodes, the patterns that a scoring program told of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gauntlet.evaluation.story import EvaluationStory, SubmissionStory
from gauntlet_scoring.execution.pattern_names import TITLES, FailurePattern

_MEANING: Final[Mapping[FailurePattern, str]] = {
    FailurePattern.TOOL_SELECTION: "a tool was called that the reference does not use",
    FailurePattern.PARAMETER: "an argument was not the expected one, or the tool refused the call",
    FailurePattern.MISSING_STEPS: "a step of the reference was not done",
    FailurePattern.INCORRECT_SEQUENCING: "a step came before one that it builds on",
    FailurePattern.PREMATURE_TERMINATION: "it ended without the answer that was asked for",
}


@dataclass(frozen=True, kw_only=True)
class PatternLine:
    """A pattern, and in how many episodes it was seen."""

    title: str
    meaning: str
    episodes: int
    share: str


@dataclass(frozen=True, kw_only=True)
class PatternTable:
    """The patterns of one task's episodes."""

    task: str
    summary: str
    lines: list[PatternLine]


def pattern_tables(story: SubmissionStory) -> list[PatternTable]:
    """A table for each task with a program that tells patterns; none where the reader may not see what programs say."""
    return [table for one in story.evaluations if (table := _table(one)) is not None]


def _table(evaluation: EvaluationStory) -> PatternTable | None:
    told = [found for episode in evaluation.episodes if (found := _patterns(episode.details)) is not None]
    if not told:
        return None
    counts = {pattern: sum(pattern in found for found in told) for pattern in FailurePattern}
    clean = sum(not found for found in told)
    noun = "episode" if len(told) == 1 else "episodes"
    return PatternTable(
        task=evaluation.task,
        summary=f"Of {len(told)} {noun} {clean} show{'s' if clean == 1 else ''} none. An episode may show several.",
        lines=[
            PatternLine(
                title=TITLES[pattern],
                meaning=_MEANING[pattern],
                episodes=count,
                share=f"{100 * count / len(told):.0f} %",
            )
            for pattern, count in counts.items()
        ],
    )


def _patterns(details: Mapping[str, Mapping[str, Any]]) -> set[FailurePattern] | None:
    """The patterns of an episode, from the first program that speaks of all of them; None where none does."""
    for _, detail in sorted(details.items()):
        verdicts = {pattern: detail.get(pattern) for pattern in FailurePattern}
        if all(_are_verdicts(one) for one in verdicts.values()):
            return {pattern for pattern, found in verdicts.items() if not all(one["holds"] for one in found or ())}
    return None


def _are_verdicts(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and isinstance(one.get("holds"), bool) for one in value)
    )
