"""The graph of a declared plan beside the reference's planning steps.

A reference plan is a list in which order matters (G3) and has no edges of its own, so its graph is the chain of its
steps. A declared plan says what its steps depend on, or, where none depends on any, it is a chain too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gauntlet_scoring.execution.graph import Overlap
from gauntlet_scoring.execution.measures import edit_similarity
from gauntlet_scoring.ground_truth import PlanningStep
from gauntlet_scoring.text import normalise, tokenize
from gauntlet_scoring.trajectory import PlanStep

COVERED_AT: Final = 0.3
"""From this F1 of their words on a declared step is the reference's step in other words."""

_STEPS: Final = 200
"""Of a declared plan the first so many are looked at: an agent chooses how many there are."""


@dataclass(frozen=True)
class PlanComparison:
    """A declared plan beside the reference's."""

    coverage: float  # share of the reference's steps that a declared step covers
    agents: float  # normalised edit similarity of both sequences of agents
    nodes: Overlap
    edges: Overlap
    uncovered: tuple[int, ...]  # positions of the reference's steps that no declared step covers

    def scores(self) -> dict[str, float]:
        """By key."""
        return {
            "plan_coverage": self.coverage,
            "plan_agents": self.agents,
            "plan_node_f1": self.nodes.f1,
            "plan_edge_f1": self.edges.f1,
        }


def compare_plan(reference: Sequence[PlanningStep], declared: Sequence[PlanStep]) -> PlanComparison:
    """Compare a plan with the reference's.

    Steps are paired best first by the F1 of their words (ROUGE-1), only with a step of the same agent where the
    declared one names an agent. A pair with at least :data:`COVERED_AT` covers its step.

    - coverage: covered steps / steps of the reference (G29).
    - agents: 1 - Levenshtein distance of the agents' sequences / length of the longer.
    - nodes: precision = covered / declared, recall = covered / reference steps.
    - edges: recall = share of the reference's neighbours that are both covered and declared in this order; precision =
      share of right ones among the declared edges, right with both ends covered and the earlier step first.
    """
    steps = declared[:_STEPS]
    if not steps:
        nothing = Overlap(0.0, 0.0)
        return PlanComparison(0.0, 0.0, nodes=nothing, edges=nothing, uncovered=tuple(range(len(reference))))
    matched = _match(reference, steps)
    return PlanComparison(
        coverage=len(matched) / len(reference),
        agents=edit_similarity([_name(each.agent) for each in reference], [_name(each.agent) for each in declared]),
        nodes=Overlap(precision=len(matched) / len(declared), recall=len(matched) / len(reference)),
        edges=_edges(matched, steps, count=len(reference)),
        uncovered=tuple(at for at in range(len(reference)) if at not in matched),
    )


def _match(reference: Sequence[PlanningStep], declared: Sequence[PlanStep]) -> dict[int, int]:
    words = [tokenize(each.instruction) for each in declared]
    pairs = []
    for at, step in enumerate(reference):
        wanted = tokenize(step.instruction)
        for number, each in enumerate(declared):
            if not each.agent.strip() or _name(each.agent) == _name(step.agent):
                pairs.append((-_word_f1(wanted, words[number]), at, number))
    matched: dict[int, int] = {}
    taken: set[int] = set()
    for worth, at, number in sorted(pairs):
        if -worth >= COVERED_AT and at not in matched and number not in taken:
            matched[at] = number
            taken.add(number)
    return matched


def _edges(matched: dict[int, int], declared: Sequence[PlanStep], *, count: int) -> Overlap:
    if not matched:
        return Overlap(0.0, 0.0)
    edges = {(source, at) for at, each in enumerate(declared) for source in each.depends_on if 0 <= source < at}
    edges = edges or {(at, at + 1) for at in range(len(declared) - 1)}
    step_of = {number: at for at, number in matched.items()}
    right = sum(a in step_of and b in step_of and step_of[a] < step_of[b] for a, b in edges)
    held = sum(at in matched and at + 1 in matched and matched[at] < matched[at + 1] for at in range(count - 1))
    return Overlap(precision=right / len(edges) if edges else 1.0, recall=held / (count - 1) if count > 1 else 1.0)


def _name(agent: str) -> str:
    return "".join(tokenize(normalise(agent)))


def _word_f1(reference: Sequence[str], candidate: Sequence[str]) -> float:
    common = (Counter(reference) & Counter(candidate)).total()
    return 2 * common / (len(reference) + len(candidate)) if common else 0.0
