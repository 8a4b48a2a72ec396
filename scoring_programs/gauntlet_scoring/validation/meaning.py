"""Semantic checks: whether determinism, steps and outputs say what they mean (G16 to G18)."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final

from gauntlet_scoring.ground_truth import ExecutionStep
from gauntlet_scoring.validation.collecting import Collector
from gauntlet_scoring.validation.documents import Location
from gauntlet_scoring.validation.findings import FindingClass, Level
from gauntlet_scoring.validation.structure import Draft
from gauntlet_scoring.validation.vocabulary import FINISH, SPECIAL_ACTIONS, Tool, Vocabulary
from gauntlet_scoring.validation.wording import new_facts

_GENERIC: Final = re.compile(
    r"@?(?:(?:my|the|new|temp|tmp|final)_?)?(?:result|output|data|value|var|variable|response|res|out|ret|obj|object|x|y)s?"
    r"_?\d*",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(r"(?:step|action|task|node|s)[_ -]?\d+", re.IGNORECASE)
_INFERS: Final = re.compile(
    r"(?:^|[^a-z])(?:llm|gpt|chat_?completion|ask_model|infer|generate)(?:[^a-z]|$)", re.IGNORECASE
)
_FILE: Final = re.compile(r"@?(?:\w*_)?(?:file|path|filename|csv|pickle)(?:_?path|_?name)?", re.IGNORECASE)
_ANSWERED: Final = re.compile(r"\b(?:yes|no|none|not|cannot|abstain\w*|declin\w*)\b|[:\[{]\s*\S", re.IGNORECASE)


def check_meaning(draft: Draft, collector: Collector, *, vocabulary: Vocabulary) -> None:
    """Exact answers where there is one, criteria where there are several; flags; names; a file that nobody reads."""
    _check_expectation(draft, collector)
    flags = draft.row.get("execution_steps")
    for position, step in enumerate(draft.steps):
        tool = vocabulary.tools_of(step.agent).get(step.action.rpartition("/")[2])
        _check_determinism(step, tool, position, collector)
        if step.action != FINISH and not _has_flags(flags, position):
            message = "says not which parts of the step are deterministic: all four are taken to be"
            place = ("execution_steps", position)
            collector.add(Level.NOTE, FindingClass.SEMANTIC, place, message, rule="G17")
        _check_names(step, position, collector)
    _check_files(draft, collector)


def _check_expectation(draft: Draft, collector: Collector) -> None:
    """G16. One that is not deterministic needs criteria: whether the form has any is what G19's lint looks at."""
    question, form = draft.text("text"), draft.text("characteristic_form")
    if not form.strip():
        if "characteristic_form" in draft.row:
            collector.semantic(("characteristic_form",), "is empty: say what a right answer has", rule="G16")
        return
    if draft.row.get("deterministic") is True:
        exact = draft.row.get("final_out") is not None or new_facts(question, form) or _ANSWERED.search(form)
        if not exact:
            message = (
                "the scenario is deterministic, and neither final_out nor characteristic_form gives its exact answer"
            )
            collector.add(Level.WARNING, FindingClass.SEMANTIC, ("characteristic_form",), message, rule="G16")


def _check_determinism(step: ExecutionStep, tool: Tool | None, position: int, collector: Collector) -> None:
    """G17: what a model infers differs from run to run; what is retrieved or calculated does not."""
    place = ("execution_steps", position, "deterministic")
    infers = tool.infers if tool is not None else _INFERS.search(step.action) is not None
    if infers and step.deterministic.outputs and step.action not in SPECIAL_ACTIONS:
        message = f"{step.action!r} is inference of a model: its outputs are not deterministic"
        collector.add(Level.WARNING, FindingClass.SEMANTIC, place, message, rule="G17")
    retrieves = tool is not None and not tool.infers and not tool.changes
    if retrieves and not step.deterministic.action and not step.deterministic.outputs:
        message = f"{step.action!r} retrieves or calculates: its action and outputs are deterministic"
        collector.add(Level.NOTE, FindingClass.SEMANTIC, place, message, rule="G17")


def _has_flags(steps: Any, position: int) -> bool:
    if not isinstance(steps, list) or position >= len(steps) or not isinstance(steps[position], dict):
        return False
    flags = steps[position].get("deterministic")
    return isinstance(flags, dict) and len(flags) == 4


def _check_names(step: ExecutionStep, position: int, collector: Collector) -> None:
    if _NUMBERED.fullmatch(step.name):
        message = f"{step.name!r} says nothing of the step: name it for what it does"
        _warn(collector, ("execution_steps", position, "name"), message)
    for at, output in enumerate(step.outputs):
        if _GENERIC.fullmatch(output):
            message = f"{output!r} says nothing of the value: name it for what it is, such as work_orders"
            _warn(collector, ("execution_steps", position, "outputs", at), message)


def _check_files(draft: Draft, collector: Collector) -> None:
    """G18: between a file and an answer stands a step that reads it, unless the answer is the file."""
    final = draft.row.get("final_out")
    expected = draft.text("characteristic_form") + " " + ("" if final is None else json.dumps(final, default=str))
    if re.search(r"\b(?:file|path|csv|stored|saved)\b|_file|_path", expected, re.IGNORECASE):
        return
    followed = {link.source for link in draft.links}
    words = [set(re.findall(r"\w+", json.dumps(step.arguments, default=str))) for step in draft.steps]
    steps_with = Counter(word for own in words for word in own)
    for position, step in enumerate(draft.steps):
        for at, output in enumerate(step.outputs):
            name = output.removeprefix("@")
            is_read = steps_with[name] > (name in words[position])  # by another step than this one
            if _FILE.fullmatch(output) and step.name in followed and not is_read:
                message = f"no step reads {output!r}: the step that loads or filters it is missing"
                _warn(collector, ("execution_steps", position, "outputs", at), message)


def _warn(collector: Collector, place: Location, message: str) -> None:
    collector.add(Level.WARNING, FindingClass.SEMANTIC, place, message, rule="G18")
