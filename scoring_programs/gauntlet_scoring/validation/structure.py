"""Structural checks: the schema's errors as sentences, names that are taken, links that lead nowhere (G11, G12)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from gauntlet_scoring.ground_truth import (
    MOST_STEPS,
    ExecutionLink,
    ExecutionStep,
    GroundTruth,
    PlanningStep,
    StepDeterminism,
)
from gauntlet_scoring.phrases import phrase
from gauntlet_scoring.validation.collecting import Collector
from gauntlet_scoring.validation.documents import Location

_PLAN: Final = TypeAdapter(Annotated[list[PlanningStep], Field(max_length=MOST_STEPS)])
_STEPS: Final = TypeAdapter(Annotated[list[ExecutionStep], Field(max_length=MOST_STEPS)])
_LINKS: Final = TypeAdapter(Annotated[list[ExecutionLink], Field(max_length=10 * MOST_STEPS)])
_MODELS: Final[dict[str, type[BaseModel]]] = {
    "planning_steps": PlanningStep,
    "execution_steps": ExecutionStep,
    "execution_links": ExecutionLink,
}

MOST_ERRORS: Final = 200
"""Errors of the schema that are told of one scenario: who has more has another file than they think."""

Part = TypeVar("Part")


@dataclass(frozen=True)
class Draft:
    """A scenario of which every part that fits the schema can be looked at, though others do not."""

    row: Mapping[str, Any]
    truth: GroundTruth | None
    plan: list[PlanningStep]
    steps: list[ExecutionStep]
    links: list[ExecutionLink]

    def text(self, field: str) -> str:
        """A field's text, or "" where it is none."""
        value = self.row.get(field)
        return value if isinstance(value, str) else ""


def draft_of(row: Mapping[str, Any], collector: Collector) -> Draft:
    """Hold the row against the schema, note what is wrong, and keep the parts that are right."""
    truth: GroundTruth | None = None
    try:
        truth = GroundTruth.model_validate(row)
    except ValidationError as error:
        _note_schema(error, row, collector)
    if truth is not None:
        return Draft(row, truth, truth.planning_steps, truth.execution_steps, truth.execution_links)
    return Draft(
        row,
        None,
        _part(_PLAN, row.get("planning_steps")),
        _part(_STEPS, row.get("execution_steps")),
        _part(_LINKS, row.get("execution_links")),
    )


def draft_of_truth(truth: GroundTruth) -> Draft:
    """The same of a scenario that was built, not read."""
    row = truth.model_dump()
    return Draft(row, truth, truth.planning_steps, truth.execution_steps, truth.execution_links)


def check_structure(draft: Draft, collector: Collector) -> None:
    """Names of steps that occur twice, and ends of links that are no step."""
    seen: dict[str, int] = {}
    for position, step in enumerate(draft.steps):
        first = seen.setdefault(step.name, position)
        if first != position:
            message = f"the name {step.name!r} is already that of execution_steps[{first}]"
            collector.structural(("execution_steps", position, "name"), message, rule="G12")
    if not draft.steps:
        return
    for position, link in enumerate(draft.links):
        for end, name in (("source", link.source), ("target", link.target)):
            if name not in seen:
                message = f"no execution step is named {name!r}"
                collector.structural(("execution_links", position, end), message, rule="G12")


def _part(adapter: TypeAdapter[list[Part]], value: Any) -> list[Part]:
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return []


def _note_schema(error: ValidationError, row: Mapping[str, Any], collector: Collector) -> None:
    """One finding a place: a union says what it wants once for each of its members."""
    messages: dict[Location, list[str]] = {}
    errors = error.errors(include_url=False)
    for each in errors[:MOST_ERRORS]:
        location = _real(each, row)
        messages.setdefault(location, []).append(_sentence(each, location))
    for location, said in messages.items():
        collector.structural(location, " or: ".join(dict.fromkeys(said)), rule="G11")
    if len(errors) > MOST_ERRORS:
        collector.structural((), f"has {len(errors) - MOST_ERRORS} further errors of this kind", rule="G11")


def _real(error: ErrorDetails, row: Mapping[str, Any]) -> Location:
    """The location without the names of a union's members, which pydantic puts between."""
    found: list[int | str] = []
    value: Any = row
    parts = error["loc"]
    for position, part in enumerate(parts):
        inside = part in value if isinstance(value, Mapping) else _is_member(value, part)
        if inside:
            value = value[part]
        elif error["type"] == "missing" and position == len(parts) - 1:
            pass
        else:
            continue
        found.append(part)
    return tuple(found)


def _is_member(value: Any, part: int | str) -> bool:
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


def _sentence(error: ErrorDetails, location: Location) -> str:
    if error["type"] == "extra_forbidden":
        return f"is not permitted here{_suggestion(location)}"
    return phrase(error, quote=True)


def _suggestion(location: Location) -> str:
    """`; did you mean …?` for a field that is close to one that is known there."""
    known: list[str] = []
    if len(location) == 1:
        known = list(GroundTruth.model_fields)
    elif len(location) == 3 and location[0] in _MODELS:
        known = list(_MODELS[str(location[0])].model_fields)
    elif location[-2:-1] == ("deterministic",):
        known = list(StepDeterminism.model_fields)
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
