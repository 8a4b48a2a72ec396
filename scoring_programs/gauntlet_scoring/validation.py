"""Validation of a ground-truth file as a whole: what an organizer is told before a bundle is accepted.

Requirements G11, G12 and G14; two roots, two leaves and a missing Finish are fine, since the guide's own scenarios
have them. Every finding names the line and the place in its JSON object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.ground_truth import AnyOfCheck, Check, Checks, ExecutionStep, GroundTruth, OrderCheck
from gauntlet_scoring.reading import json_lines

if TYPE_CHECKING:
    import networkx

_REFERENCE: Final = re.compile(r"@(?P<name>[^\W\d]\w*)(?:[.\[].*)?", re.DOTALL)


class FindingClass(StrEnum):
    """The kinds of finding, reported apart from each other (G22)."""

    STRUCTURAL = "structural"  # the file is not what the schema says, or names something that is not there
    LOGICAL = "logical"  # everything is there, and it cannot work


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    finding_class: FindingClass
    path: str  # within the line's object, such as execution_links[2].target; "" is the whole line
    line: int  # from 1
    message: str


def validate_ground_truth_file(path: Path) -> list[Finding]:
    """Check a ground-truth file (JSON Lines, one scenario a line); no finding means that it can be scored with.

    A file that cannot be read, or that holds no scenario, is a finding on line 1.
    """
    findings: list[Finding] = []
    lines_of_keys: dict[str, int] = {}
    try:
        for line, content in json_lines(path):
            findings.extend(_line_findings(content, line, lines_of_keys))
    except ScoringInputError as error:
        return [_structural("", 1, str(error))]
    if not findings and not lines_of_keys:
        findings.append(_structural("", 1, "the file holds no scenario"))
    return findings


def validate_ground_truth(truth: GroundTruth, *, line: int = 1) -> list[Finding]:
    """Check one scenario that fits the schema: steps, links, references and checks."""
    findings = [*_step_name_findings(truth, line), *_link_findings(truth, line)]
    graph = _graph(truth)
    findings.extend(_cycle_findings(graph, line))
    findings.extend(_reference_findings(truth, graph, line))
    if truth.checks is not None:
        findings.extend(_check_findings(truth.checks, line))
    return findings


def _line_findings(content: bytes, line: int, lines_of_keys: dict[str, int]) -> Iterator[Finding]:
    try:
        truth = GroundTruth.model_validate_json(content)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            yield _structural(_json_path(each["loc"]), line, each["msg"])
        return
    first = lines_of_keys.setdefault(truth.key, line)
    if first != line:
        yield _structural("id", line, f"the id {truth.key} is already on line {first}")
    yield from validate_ground_truth(truth, line=line)


def _step_name_findings(truth: GroundTruth, line: int) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for position, step in enumerate(truth.execution_steps):
        first = seen.setdefault(step.name, position)
        if first != position:
            message = f"the name {step.name!r} is already that of execution_steps[{first}]"
            yield _structural(f"execution_steps[{position}].name", line, message)


def _link_findings(truth: GroundTruth, line: int) -> Iterator[Finding]:
    names = {step.name for step in truth.execution_steps}
    for position, link in enumerate(truth.execution_links):
        for end, name in (("source", link.source), ("target", link.target)):
            if name not in names:
                place = f"execution_links[{position}].{end}"
                yield _structural(place, line, f"no execution step is named {name!r}")


def _graph(truth: GroundTruth) -> networkx.DiGraph[str]:
    import networkx  # here: scoring reads ground truth without it

    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(step.name for step in truth.execution_steps)
    known = set(graph)
    graph.add_edges_from(
        (link.source, link.target) for link in truth.execution_links if {link.source, link.target} <= known
    )
    return graph


def _cycle_findings(graph: networkx.DiGraph[str], line: int) -> Iterator[Finding]:
    import networkx

    try:
        cycle = networkx.find_cycle(graph)
    except networkx.NetworkXNoCycle:
        return
    way = " -> ".join([*(source for source, _ in cycle), cycle[0][0]])
    yield Finding(FindingClass.LOGICAL, "execution_links", line, f"the links form a cycle: {way}")


def _reference_findings(truth: GroundTruth, graph: networkx.DiGraph[str], line: int) -> Iterator[Finding]:
    """An argument ``@name`` must be an output of a step before this one, by links or by the order of steps (G14).

    G6 allows a reference without ``@`` too; such a text cannot be told from a plain value and is not judged.
    """
    import networkx

    made_by: dict[str, list[tuple[int, ExecutionStep]]] = {}
    for position, step in enumerate(truth.execution_steps):
        for output in step.outputs:
            made_by.setdefault(output.removeprefix("@"), []).append((position, step))
    for position, step in enumerate(truth.execution_steps):
        before = networkx.ancestors(graph, step.name) - {step.name}
        after = networkx.descendants(graph, step.name)
        for place, name in _references(step.arguments, f"execution_steps[{position}].arguments"):
            makers = made_by.get(name, [])
            if not makers:
                yield _structural(place, line, f"no execution step has the output {name!r}")
            elif not any(maker.name in before or (at < position and maker.name not in after) for at, maker in makers):
                message = f"{name!r} is an output of {makers[0][1].name!r}, which does not come before this step"
                yield Finding(FindingClass.LOGICAL, place, line, message)


def _references(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        match = _REFERENCE.fullmatch(value.strip())
        if match:
            yield place, match["name"]
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _references(each, f"{place}[{position}]")
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _references(each, f"{place}.{key}")


def _check_findings(checks: Checks, line: int) -> Iterator[Finding]:
    for criterion in type(checks).model_fields:
        for position, check in enumerate(getattr(checks, criterion)):
            for place, each in _flat(check, f"checks.{criterion}[{position}]"):
                if isinstance(each, OrderCheck) and len(set(each.tools)) < len(each.tools):
                    message = "a tool's first call cannot come before itself: name each tool once"
                    yield Finding(FindingClass.LOGICAL, f"{place}.tools", line, message)


def _flat(check: Check, place: str) -> Iterator[tuple[str, Check]]:
    yield place, check
    if isinstance(check, AnyOfCheck):
        for position, each in enumerate(check.checks):
            yield from _flat(each, f"{place}.checks[{position}]")


def _json_path(location: tuple[int | str, ...]) -> str:
    """pydantic's location as a path: ("a", 2, "b") is a[2].b."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _structural(path: str, line: int, message: str) -> Finding:
    return Finding(FindingClass.STRUCTURAL, path, line, message)
