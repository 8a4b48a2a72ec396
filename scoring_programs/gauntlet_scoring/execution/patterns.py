"""How an episode failed, told from its record and its ground truth, without a model: the five patterns of G30.

Each pattern is a list of sentences, empty where the episode does not show it. An episode may show several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gauntlet_scoring.execution.answer_format import expected_fields, misfits
from gauntlet_scoring.execution.measures import Execution
from gauntlet_scoring.execution.pattern_names import NOT_SHOWN, FailurePattern
from gauntlet_scoring.reading import RecordedCall
from gauntlet_scoring.text import FINISH
from gauntlet_scoring.values import shown

_TOLD: Final = 20
"""Sentences of one pattern that are written down: an agent chooses how many calls it makes."""


def failure_patterns(execution: Execution) -> dict[FailurePattern, list[str]]:
    """What an episode did wrong, by pattern.

    - tool selection: a call of a tool that the reference does not use, where no step leaves the tool open.
    - parameter: a step that was done with another argument than the reference says, or a call of one of the
      reference's tools that the tool answered with an error.
    - missing steps: a step that no call did.
    - incorrect sequencing: a step done before one that it builds on by a link.
    - premature termination: no answer, or one without any of the fields that were asked for (no Finish, no final_out).
    """
    return {
        FailurePattern.TOOL_SELECTION: _wrong_tools(execution),
        FailurePattern.PARAMETER: _wrong_arguments(execution),
        FailurePattern.MISSING_STEPS: [_step(execution, at) + " is missing" for at in execution.missing],
        FailurePattern.INCORRECT_SEQUENCING: [
            f"{_step(execution, target)} came before {_step(execution, source)}, which it builds on"
            for source, target in execution.violations
        ],
        FailurePattern.PREMATURE_TERMINATION: _ended_early(execution),
    }


def as_checks(patterns: Mapping[FailurePattern, Sequence[str]]) -> dict[str, list[dict[str, Any]]]:
    """The patterns as a scenario's ``detail`` holds them: verdicts as the rubric's, which pages show as a list."""
    return {
        str(pattern): [{"kind": "pattern", "holds": False, "reason": each} for each in _few(found)]
        or [{"kind": "pattern", "holds": True, "reason": NOT_SHOWN[pattern]}]
        for pattern, found in patterns.items()
    }


def _few(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - _TOLD
    return [*sentences[:_TOLD], f"and {more} more"] if more > 0 else list(sentences)


def _wrong_tools(execution: Execution) -> list[str]:
    if any(not step.deterministic.action for step in execution.reference.tool_steps):
        return []
    called = Counter(each.call.tool for each in execution.episode.calls)
    unknown = {tool: count for tool, count in called.items() if tool not in execution.known_tools}
    return [
        f"{tool} was called{f' {count} times' if count > 1 else ''}, which the reference does not use"
        for tool, count in unknown.items()
    ]


def _wrong_arguments(execution: Execution) -> list[str]:
    done = {id(action.call) for action in execution.actions}
    refused = [
        each for each in execution.episode.calls if each.call.tool in execution.known_tools and id(each) not in done
    ]
    wrong = [each.reason for each in execution.arguments if not each.right and each.step in execution.matched]
    return wrong + [_refusal(each) for each in refused]


def _refusal(each: RecordedCall) -> str:
    what = "was answered with an error" if each.result is not None else "was never answered"
    return f"{each.call.tool}({shown(each.call.arguments)}) {what}"


def _ended_early(execution: Execution) -> list[str]:
    episode = execution.episode
    if episode.failure is not None:
        return [f"the episode ended with {episode.failure} and without an answer"]
    missing = misfits(execution.truth, episode)
    if not missing and (episode.answer is None or not (episode.answer.data or episode.answer.text.strip())):
        return ["the answer is empty"]
    if missing and len(missing) == len(expected_fields(execution.truth)):
        return ["the answer has none of the fields that were asked for", *missing]
    return []


def _step(execution: Execution, at: int) -> str:
    step = execution.reference.steps[at]
    return "the answer (Finish)" if step.action == FINISH else f"step {step.name} ({step.action})"
