"""The graph of a recorded execution: which action builds on which, as far as a record shows it.

The record holds calls in order and no edges. They are derived so:

1. Data flow: an edge leads to a call from the first call that returned a value which the later one was given, such as
   the name of a file. Values that the question itself says, whole numbers below 10 and texts of fewer than three
   characters show nothing.
2. Where no data flows into a call, the order of the record: an edge from the last call that had ended before it began.
3. The answer follows from every call that no other call builds on (G13: only the last step has no way out).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gauntlet_scoring.execution.actions import Action, Reference
from gauntlet_scoring.execution.references import FirstReturned, Returned, references, telling_leaves

Edge = tuple[int, int]


@dataclass(frozen=True)
class Overlap:
    """Precision and recall of one set in another, and their harmonic mean."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """2 P R / (P + R); 0 where both are 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def recorded_edges(actions: Sequence[Action], returned: Sequence[Returned | None], *, known: Returned) -> set[Edge]:
    """The edges between actions, by position.

    Args:
        returned: of each action what its tool returned; None for the answer.
        known: what the question says.
    """
    edges: set[Edge] = set()
    first = FirstReturned(returned)
    for at, action in enumerate(actions):
        if action.call is None:
            sources = {source for source, _ in edges}
            edges |= {(source, at) for source in range(at) if source not in sources}
            continue
        found = _data_flow(at, action, first, known=known) or _previous(at, actions)
        edges |= {(source, at) for source in found}
    return edges


def _data_flow(at: int, action: Action, first: FirstReturned, *, known: Returned) -> set[int]:
    leaves = (leaf for leaf in telling_leaves(list(action.arguments.values())) if not known.holds(leaf))
    return {source for leaf in leaves if (source := first.call(leaf, before=at)) is not None}


def _previous(at: int, actions: Sequence[Action]) -> set[int]:
    begun = actions[at].call
    for number in range(at - 1, -1, -1):
        earlier = actions[number].call
        if begun and earlier and earlier.result is not None and earlier.result.seq < begun.call.seq:
            return {number}
    return set()


def edge_overlap(
    reference: Reference,
    actions: Sequence[Action],
    *,
    matched: Mapping[int, int],
    edges: set[Edge],
    returned: Sequence[Returned | None],
) -> Overlap:
    """How well the recorded edges fit the reference's links.

    recall: share of the links that hold. A link holds if both of its steps were done, in this order, and, where the
    target takes an output of the source (``@name``), the value it was given is found in what the source returned.
    precision: share of right edges among the right and the wrong ones. An edge is right if the reference, by one or
    several links, has its source before its target, and wrong if it has them the other way round or one of its ends is
    an action that is no step. Steps that the reference leaves in either order are not counted: a record cannot show
    that they are independent.
    """
    if reference.steps and not matched:
        return Overlap(precision=0.0, recall=0.0)
    step_of = {number: at for at, number in matched.items()}
    right = wrong = 0
    for source, target in edges:
        if source not in step_of or target not in step_of:
            wrong += 1
        else:
            right += step_of[source] in reference.before[step_of[target]]
            wrong += step_of[target] in reference.before[step_of[source]]
    held = sum(_holds(link, reference, actions, matched=matched, returned=returned) for link in reference.links)
    return Overlap(
        precision=right / (right + wrong) if right + wrong else 1.0,
        recall=held / len(reference.links) if reference.links else 1.0,
    )


def _holds(
    link: Edge,
    reference: Reference,
    actions: Sequence[Action],
    *,
    matched: Mapping[int, int],
    returned: Sequence[Returned | None],
) -> bool:
    source, target = (matched.get(at) for at in link)
    if source is None or target is None or source > target:
        return False
    step, result = reference.steps[link[1]], returned[source]
    expected = step.arguments if isinstance(step.arguments, dict) else {}
    carried = [
        key
        for key, value in expected.items()
        if any(link[0] in reference.makers.get(name, ()) for name in references(value))
    ]
    if actions[target].call is None or result is None or not step.deterministic.arguments:
        return True
    return all(result.gave(actions[target].arguments.get(key)) for key in carried)


def order_violations(reference: Reference, matched: Mapping[int, int]) -> list[Edge]:
    """The links whose target was done before its source, in the order of the steps."""
    both = [link for link in sorted(reference.links) if link[0] in matched and link[1] in matched]
    return [link for link in both if matched[link[1]] < matched[link[0]]]


def links_done(reference: Reference, matched: Mapping[int, int]) -> int:
    """How many links have both of their steps done."""
    return sum(source in matched and target in matched for source, target in reference.links)
