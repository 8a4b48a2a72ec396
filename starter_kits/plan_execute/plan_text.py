"""Plans as text: `#Task1`, `#Agent1`, `#Dependency1`, `#ExpectedOutput1`, as the public competition has them.

Models write this form in many ways: with colons or equal signs, in bold, in lists, over several lines, with gaps in the
numbers. Everything that can be read is read, and every repair is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gauntlet_agent import GauntletError
from gauntlet_agent.assetops import Step
from gauntlet_agent.assetops.roster import AGENTS, agent_named

_FIELD: Final = re.compile(
    r"^[\s>*_\-•\d.)(`]*#\s*(?P<name>Task|Agent|Dependenc(?:y|ies)|Expected[\s_]*Outputs?)\s*(?P<number>\d+)\s*[*_`]*\s*[:=–-]*\s*",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE: Final = re.compile(r"#?\s*(?:S|Task|Step|E)?\s*(\d+)", re.IGNORECASE)


class NoPlan(GauntletError):
    """A text holds no step of a plan."""


@dataclass(frozen=True)
class ParsedPlan:
    """The steps, and what had to be repaired to get them."""

    steps: list[Step]
    repairs: list[str] = field(default_factory=list)


def parse_plan(text: str) -> ParsedPlan:
    """Read a plan.

    An unknown agent becomes the first of the list, as in the public competition; a dependency on the step itself, on a
    later one or on none that exists is dropped, so that the steps are a DAG in their order.

    Raises:
        NoPlan: there is no step with a task.
    """
    written = _fields(text)
    numbers = sorted(number for number, fields in written.items() if fields.get("task"))
    if not numbers:
        raise NoPlan("There is no #Task in the plan.")
    place = {number: position for position, number in enumerate(numbers)}
    repairs: list[str] = []
    steps = []
    for number in numbers:
        fields = written[number]
        agent = _agent(fields.get("agent", ""), number, repairs)
        needs = _needs(fields.get("dependency", ""), number, place=place, repairs=repairs)
        steps.append(Step(agent, fields["task"], needs, fields.get("expectedoutput", "")))
    return ParsedPlan(steps, repairs)


def format_plan(steps: Sequence[Step]) -> str:
    """Write a plan; :func:`parse_plan` reads it back."""
    lines = []
    for number, step in enumerate(steps, start=1):
        needs = ", ".join(f"#S{position + 1}" for position in step.depends_on) or "None"
        lines += [
            f"#Task{number}: {' '.join(step.task.split())}",
            f"#Agent{number}: {step.agent}",
            f"#Dependency{number}: {needs}",
            f"#ExpectedOutput{number}: {' '.join(step.expected.split())}",
        ]
    return "\n".join(lines)


def _fields(text: str) -> dict[int, dict[str, str]]:
    """What stands behind each mark, up to the next one; of two with one number the first counts."""
    written: dict[int, dict[str, str]] = {}
    marks = list(_FIELD.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        value = text[mark.end() : end]
        name = re.sub(r"[\s_]", "", mark["name"].casefold())
        name = {"dependencies": "dependency", "expectedoutputs": "expectedoutput"}.get(name, name)
        written.setdefault(int(mark["number"]), {}).setdefault(name, _value(value))
    return written


def _value(text: str) -> str:
    """A value without the paragraph that a model says after its plan, and without marks of emphasis around it."""
    paragraph = re.split(r"\n\s*\n", text.strip())[0]
    return " ".join(paragraph.split()).strip("*_` ")


def _agent(written: str, number: int, repairs: list[str]) -> str:
    known = agent_named(written)
    if known is not None:
        return known
    inside = next((name for name in AGENTS if name.casefold() in written.casefold()), None)
    first = inside or next(iter(AGENTS))
    repairs.append(f"Step {number}: there is no agent {written!r}; {first} takes it.")
    return first


def _needs(written: str, number: int, *, place: dict[int, int], repairs: list[str]) -> tuple[int, ...]:
    if written.casefold().strip(" .[]()") in ("none", "", "n/a", "null", "-"):
        return ()
    found: list[int] = []
    for reference in _REFERENCE.findall(written):
        other = int(reference)
        if other not in place or other >= number:
            repairs.append(f"Step {number}: the dependency on {other} is dropped; it is no earlier step.")
        elif place[other] not in found:
            found.append(place[other])
    return tuple(sorted(found))
