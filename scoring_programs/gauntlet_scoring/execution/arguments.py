"""The arguments of a recorded execution beside the reference's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gauntlet_scoring.execution.actions import Action, Reference
from gauntlet_scoring.execution.references import FirstReturned, Returned, is_reference, references
from gauntlet_scoring.ground_truth import ExecutionStep
from gauntlet_scoring.text import FINISH
from gauntlet_scoring.values import shown

WHOLE = "arguments"
"""The name of the one argument of a step whose arguments are a text."""


@dataclass(frozen=True)
class ArgumentVerdict:
    """Whether an argument that the reference names was given as it says."""

    step: int
    name: str
    right: bool
    reason: str


def argument_verdicts(
    reference: Reference,
    actions: Sequence[Action],
    *,
    matched: Mapping[int, int],
    returned: Sequence[Returned | None],
) -> list[ArgumentVerdict]:
    """A verdict for every argument of every tool step; of a step that was not done all are wrong.

    Steps whose ``deterministic.arguments`` is false are not looked at. A literal compares as the rubric's ``called``
    does. A reference ``@name`` is right if the value is found in what the step returned that makes this output, or,
    where that step was not done, in what any earlier call returned. Arguments that the reference does not name are
    free.
    """
    verdicts = []
    first = FirstReturned(returned)
    for at, step in enumerate(reference.steps):
        if step.action == FINISH or not step.deterministic.arguments:
            continue
        number = matched.get(at)
        for name, expected in _expected(step).items():
            if number is None:
                verdicts.append(ArgumentVerdict(at, name, right=False, reason=f"{step.action} was not called"))
                continue
            makers = {maker for each in references(expected) for maker in reference.makers.get(each, ())}
            done = [matched[maker] for maker in makers if maker in matched and matched[maker] < number]
            results = [each for one in done if (each := returned[one]) is not None]
            came = partial(_came, results=results) if results else partial(first.gave, before=number)
            verdicts.append(_verdict(reference, at, name, action=actions[number], came=came))
    return verdicts


def _expected(step: ExecutionStep) -> dict[str, Any]:
    if isinstance(step.arguments, str):
        return {WHOLE: step.arguments} if step.arguments.strip() else {}
    return {name: value for name, value in step.arguments.items() if value is not None}


def _came(value: Any, *, results: Sequence[Returned]) -> bool:
    return any(result.gave(value) for result in results)


def _verdict(
    reference: Reference, at: int, name: str, *, action: Action, came: Callable[[Any], bool]
) -> ArgumentVerdict:
    step = reference.steps[at]
    expected = _expected(step)[name]
    whole = isinstance(step.arguments, str)  # a text that may be any of the call's arguments
    given = list(action.arguments.values()) if whole else action.arguments.get(name)
    place = f"{action.tool}: {name}"
    if is_reference(expected):
        right = came(given)
        said = "was returned by an earlier call" if right else f"should come from an earlier call, found {shown(given)}"
        return ArgumentVerdict(at, name, right=right, reason=f"{place} {said}")
    right = any(reference.same(one, expected) for one in (action.arguments.values() if whole else [given]))
    said = "as expected" if right else f"expected {shown(expected)}, found {shown(given)}"
    return ArgumentVerdict(at, name, right=right, reason=f"{place} {said}")
