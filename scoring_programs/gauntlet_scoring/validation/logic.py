"""Logical checks: whether the graph of steps can be walked to its end (G12 to G14, G18).

Several roots and several leaves are right (section 7, item 4: the guide's 400 and 421 have two roots); a step that no
link touches is not, since nothing says when it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gauntlet_scoring.ground_truth import AnyOfCheck, Check, Checks, ExecutionStep, OrderCheck
from gauntlet_scoring.validation.collecting import Collector
from gauntlet_scoring.validation.documents import Location
from gauntlet_scoring.validation.findings import FindingClass, Level
from gauntlet_scoring.validation.structure import Draft
from gauntlet_scoring.validation.vocabulary import FINISH, IF_THEN_ELSE

if TYPE_CHECKING:
    import networkx

_REFERENCE: Final = re.compile(r"@(?P<name>[^\W\d]\w*)(?:[.\[].*)?", re.DOTALL)
_INSIDE: Final = re.compile(r"(?<![\w.@])@(?P<name>[^\W\d]\w*)")


def check_logic(draft: Draft, collector: Collector) -> None:
    """Cycles, lonely steps, the end, references to outputs, branches, and checks that cannot hold."""
    if draft.steps:
        graph = _graph(draft)
        _check_cycle(graph, collector)
        if isinstance(draft.row.get("execution_links"), list):
            _check_lonely(draft, graph, collector)
            _check_finish(draft, graph, collector)
        _check_references(draft.steps, graph, collector)
        _check_branches(draft.steps, collector)
    if draft.truth is not None and draft.truth.checks is not None:
        _check_checks(draft.truth.checks, collector)


def _graph(draft: Draft) -> networkx.DiGraph[str]:
    import networkx  # here: scoring reads ground truth without it

    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(step.name for step in draft.steps)
    known = set(graph)
    graph.add_edges_from((link.source, link.target) for link in draft.links if {link.source, link.target} <= known)
    return graph


def _check_cycle(graph: networkx.DiGraph[str], collector: Collector) -> None:
    import networkx

    try:
        cycle = networkx.find_cycle(graph)
    except networkx.NetworkXNoCycle:
        return
    way = " -> ".join([*(edge[0] for edge in cycle), cycle[0][0]])
    collector.logical(("execution_links",), f"the links form a cycle: {way}", rule="G12")


def _check_lonely(draft: Draft, graph: networkx.DiGraph[str], collector: Collector) -> None:
    if len(graph) < 2:
        return
    for position, step in enumerate(draft.steps):
        if graph.degree(step.name) == 0:
            message = f"no link leads to or from {step.name!r}, so that nothing says when it runs"
            collector.logical(("execution_steps", position), message, rule="G13")


def _check_finish(draft: Draft, graph: networkx.DiGraph[str], collector: Collector) -> None:
    ends = [position for position, step in enumerate(draft.steps) if step.action == FINISH]
    if not ends:
        message = "no step has the action Finish: the last one must end the scenario and carry its answer"
        collector.logical(("execution_steps",), message, rule="G18")
    for position in ends:
        name = draft.steps[position].name
        after = sorted(set(graph.successors(name)) - {name})
        if after:
            message = f"{name!r} is Finish, and {', '.join(map(repr, after))} follows it: nothing may"
            collector.logical(("execution_steps", position), message, rule="G18")


def _check_references(steps: list[ExecutionStep], graph: networkx.DiGraph[str], collector: Collector) -> None:
    """An argument ``@name`` must be an output of a step before this one, by links or by the order of steps (G14).

    G6 allows a reference without ``@`` too; such a text may as well be a plain value, so that it is only a warning
    where it is the name of an output that is made later, and none where it is no output's name. Where links form a
    cycle there is no order to look at.
    """
    made_by: dict[str, list[tuple[int, str]]] = {}
    for position, step in enumerate(steps):
        for output in step.outputs:
            made_by.setdefault(output.removeprefix("@"), []).append((position, step.name))
    order = _Order.of(graph)
    for position, step in enumerate(steps):
        for place, name, certain in _references(step.arguments, ("execution_steps", position, "arguments")):
            makers = made_by.get(name, [])
            if not makers:
                if certain:
                    collector.structural(place, f"no execution step has the output {name!r}", rule="G14")
            elif order is not None and not any(order.allows(maker, (position, step.name)) for maker in makers):
                message = f"{name!r} is an output of {makers[0][1]!r}, which does not come before this step"
                level = Level.ERROR if certain else Level.WARNING
                collector.add(level, FindingClass.LOGICAL, place, message, rule="G14")


@dataclass(frozen=True)
class _Order:
    """Which steps lead to which: a bit for each step, and the bits of those before it."""

    bits: dict[str, int]
    before: dict[str, int]

    @classmethod
    def of(cls, graph: networkx.DiGraph[str]) -> _Order | None:
        import networkx

        bits = {name: 1 << position for position, name in enumerate(graph)}
        before: dict[str, int] = {}
        try:
            for name in networkx.topological_sort(graph):
                before[name] = 0
                for earlier in graph.predecessors(name):
                    before[name] |= before[earlier] | bits[earlier]
        except networkx.NetworkXUnfeasible:
            return None
        return cls(bits, before)

    def allows(self, maker: tuple[int, str], user: tuple[int, str]) -> bool:
        """Whether links put the maker first, or the order of steps does and no link says otherwise."""
        if self.before[user[1]] & self.bits[maker[1]]:
            return True
        return maker[0] < user[0] and not self.before[maker[1]] & self.bits[user[1]]


def _references(value: Any, place: Location) -> Iterator[tuple[Location, str, bool]]:
    """Place, name, and whether it is surely a reference."""
    if isinstance(value, str):
        match = _REFERENCE.fullmatch(value.strip())
        if match:
            yield place, match["name"], True
        else:
            yield place, value.strip(), False
            for inside in _INSIDE.finditer(value):
                yield place, inside["name"], False
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _references(each, (*place, position))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _references(each, (*place, key))


def _check_branches(steps: list[ExecutionStep], collector: Collector) -> None:
    """Both ways of a condition must lead somewhere: to a step or to an action that some step has."""
    known = {step.name for step in steps} | {step.action for step in steps}
    for position, step in enumerate(steps):
        if step.action != IF_THEN_ELSE or not isinstance(step.arguments, dict):
            continue
        for key in ("then_action", "else_action"):
            target = step.arguments.get(key)
            if isinstance(target, str) and target not in known:
                place = ("execution_steps", position, "arguments", key)
                message = f"{target!r} is neither a step nor an action of one"
                collector.add(Level.WARNING, FindingClass.LOGICAL, place, message, rule="G7")


def _check_checks(checks: Checks, collector: Collector) -> None:
    for criterion in type(checks).model_fields:
        for position, check in enumerate(getattr(checks, criterion)):
            for place, each in _flat(check, ("checks", criterion, position)):
                if isinstance(each, OrderCheck) and len(set(each.tools)) < len(each.tools):
                    message = "a tool's first call cannot come before itself: name each tool once"
                    collector.logical((*place, "tools"), message)


def _flat(check: Check, place: Location) -> Iterator[tuple[Location, Check]]:
    yield place, check
    if isinstance(check, AnyOfCheck):
        for position, each in enumerate(check.checks):
            yield from _flat(each, (*place, "checks", position))
