"""Where the boxes of a graph of steps stand: layers from top to bottom, few crossings, long links around boxes.

Sugiyama's method: a step's layer is the longest way to it; a link that passes layers gets an empty place in each; the
order in a layer follows the mean position of the neighbours, swept down and up a few times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import networkx

_SWEEPS: Final = 8
_MOST_PASSED: Final = 3000  # places that links pass; where there are more, links are drawn straight

Place = tuple[str, int]
"""A step with 0, or a place that a link passes: the link's number with the layer, which is never the first, 0."""


@dataclass(frozen=True)
class Layout:
    """The layers from top to bottom, and every link's way through them."""

    layers: tuple[tuple[Place, ...], ...]
    ways: tuple[tuple[str, str, tuple[Place, ...]], ...]  # source, target, places from source to target


def layered(names: Sequence[str], links: Iterable[tuple[str, str]]) -> Layout:
    """Lay out a graph. A link that closes a cycle is drawn from its target's layer upwards and shapes nothing."""
    import networkx  # here: a page that draws nothing does without

    wanted = [(source, target) for source, target in dict.fromkeys(links) if {source, target} <= set(names)]
    graph = _acyclic(names, wanted)
    depth = {name: at for at, layer in enumerate(networkx.topological_generations(graph)) for name in layer}
    rows: list[list[Place]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        rows[depth[name]].append((name, 0))
    crowded = sum(max(0, depth[target] - depth[source] - 1) for source, target in wanted) > _MOST_PASSED
    ways = [
        (source, target, ((source, 0), (target, 0)) if crowded else _way(source, target, depth, at))
        for at, (source, target) in enumerate(wanted)
    ]
    for _, _, way in ways:
        for place in way[1:-1]:
            rows[place[1]].append(place)
    return Layout(tuple(tuple(row) for row in _ordered(rows, [way for _, _, way in ways])), tuple(ways))


def _acyclic(names: Sequence[str], links: Iterable[tuple[str, str]]) -> networkx.DiGraph[str]:
    import networkx

    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(names)
    for source, target in links:
        if source != target and not networkx.has_path(graph, target, source):
            graph.add_edge(source, target)
    return graph


def _way(source: str, target: str, depth: Mapping[str, int], number: int) -> tuple[Place, ...]:
    passed = range(depth[source] + 1, depth[target])
    return ((source, 0), *((str(number), layer) for layer in passed), (target, 0))


def _ordered(rows: list[list[Place]], ways: Iterable[tuple[Place, ...]]) -> list[list[Place]]:
    above: dict[Place, list[Place]] = {}
    below: dict[Place, list[Place]] = {}
    for way in ways:
        for upper, lower in pairwise(way):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for at in order:
            fixed = {place: position for position, place in enumerate(rows[at - 1 if down else at + 1])}
            rows[at] = _sorted(rows[at], above if down else below, fixed)
    return rows


def _sorted(row: list[Place], beside: Mapping[Place, list[Place]], fixed: Mapping[Place, int]) -> list[Place]:
    """By the mean position of the neighbours in the fixed row; one without any keeps its own."""

    def mean(place: Place) -> float:
        known = [fixed[each] for each in beside.get(place, ()) if each in fixed]
        return sum(known) / len(known) if known else float(row.index(place))

    return sorted(row, key=mean)
