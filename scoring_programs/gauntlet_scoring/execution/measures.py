"""The execution measures of an episode, each in [0, 1].

Sources: the ground-truth guide's Execution_Score and further measures (G25, G29); which number each is, and why, in
docs/scoring.md and decision 0018.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gauntlet_scoring.execution.actions import Action, Reference, match, recorded_actions, reference_of, tool_of
from gauntlet_scoring.execution.arguments import ArgumentVerdict, argument_verdicts
from gauntlet_scoring.execution.graph import (
    Overlap,
    edge_overlap,
    links_done,
    order_violations,
    recorded_edges,
)
from gauntlet_scoring.execution.references import Returned, all_returned
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.reading import RecordedEpisode
from gauntlet_scoring.text import FINISH

ANY: Final = object()
"""In a reference sequence: an action that has no one right tool."""


@dataclass(frozen=True)
class Execution:
    """A recorded execution beside its reference; everything that the measures and the failure patterns ask."""

    reference: Reference
    actions: tuple[Action, ...]
    matched: Mapping[int, int]  # position of a step to position of the action that did it
    edges: frozenset[tuple[int, int]]
    arguments: tuple[ArgumentVerdict, ...]
    overlap: Overlap  # of the edges
    violations: tuple[tuple[int, int], ...]
    episode: RecordedEpisode
    truth: GroundTruth

    @property
    def missing(self) -> list[int]:
        """The positions of the steps that no action did."""
        return [at for at in range(len(self.reference.steps)) if at not in self.matched]

    @property
    def known_tools(self) -> frozenset[str]:
        """The tools that the reference uses."""
        return frozenset(tool_of(step.action) for step in self.reference.tool_steps)


def compare_execution(truth: GroundTruth, episode: RecordedEpisode) -> Execution:
    """Put a recorded execution beside its reference."""
    reference = reference_of(truth)
    actions = recorded_actions(episode, reference)
    matched = match(reference, actions)
    returned = all_returned([each.call for each in actions])
    edges = recorded_edges(actions, returned, known=Returned.of(truth.text))
    return Execution(
        reference=reference,
        actions=actions,
        matched=matched,
        edges=frozenset(edges),
        arguments=tuple(argument_verdicts(reference, actions, matched=matched, returned=returned)),
        overlap=edge_overlap(reference, actions, matched=matched, edges=edges, returned=returned),
        violations=tuple(order_violations(reference, matched)),
        episode=episode,
        truth=truth,
    )


def execution_scores(execution: Execution, *, agents: Mapping[str, frozenset[str]]) -> dict[str, float]:
    """Every execution measure by its key.

    Args:
        agents: of each tool that any reference names, the agents whom the references name it with.
    """
    return {
        "action_sequence": action_sequence(execution),
        "node_f1": node_overlap(execution).f1,
        "edge_f1": execution.overlap.f1,
        "completeness": completeness(execution),
        "argument_accuracy": argument_accuracy(execution),
        "order_violations": order_violation_share(execution),
        "step_count_ratio": step_count_ratio(execution),
        "agent_selection": agent_selection(execution, agents=agents),
        "tool_accuracy": tool_accuracy(execution),
    }


def action_sequence(execution: Execution) -> float:
    """1 - Levenshtein distance of both sequences of tools / length of the longer (G25); 1 where both are empty.

    A step whose ``deterministic.action`` is false is equal to any tool call.
    """
    expected = [tool_of(step.action) if step.deterministic.action else ANY for step in execution.reference.steps]
    return edit_similarity(expected, [action.tool for action in execution.actions])


def edit_similarity(expected: Sequence[Hashable], found: Sequence[Hashable]) -> float:
    """1 - d / max(n, m), d the least number of insertions, deletions and replacements (Levenshtein 1966).

    :data:`ANY` in `expected` equals everything but ``Finish``.
    """
    if not expected and not found:
        return 1.0
    row = list(range(len(found) + 1))
    for at, wanted in enumerate(expected, start=1):
        diagonal, row[0] = row[0], at
        for number, one in enumerate(found, start=1):
            equal = one != FINISH if wanted is ANY else wanted == one
            diagonal, row[number] = row[number], min(row[number] + 1, row[number - 1] + 1, diagonal + (not equal))
    return 1 - row[-1] / max(len(expected), len(found))


def node_overlap(execution: Execution) -> Overlap:
    """Precision = matched / recorded actions, recall = matched / reference steps; both 1 where both are empty.

    A node is an action; the matching says which is which. An extra call, a distractor's too, lowers the precision.
    """
    steps, actions, matched = len(execution.reference.steps), len(execution.actions), len(execution.matched)
    if not steps and not actions:
        return Overlap(1.0, 1.0)
    return Overlap(precision=matched / actions if actions else 0.0, recall=matched / steps if steps else 0.0)


def completeness(execution: Execution) -> float:
    """Share of the reference's steps that were done: 6 of 8 are 0.75 (G25); 1 where there is nothing to do."""
    steps = len(execution.reference.steps)
    return len(execution.matched) / steps if steps else 1.0


def argument_accuracy(execution: Execution) -> float:
    """Share of right ones among all arguments of all tool steps, done or not; 1 where there is none."""
    verdicts = execution.arguments
    return sum(each.right for each in verdicts) / len(verdicts) if verdicts else 1.0


def order_violation_share(execution: Execution) -> float:
    """Share of the links with both steps done whose target was done before its source; 0 where there is no such link.

    The one measure of which less is better. An episode that did nothing violates no order: other measures tell that.
    """
    both = links_done(execution.reference, execution.matched)
    return len(execution.violations) / both if both else 0.0


def step_count_ratio(execution: Execution) -> float:
    """min(n, m) / max(n, m) of the reference's n tool steps and all m recorded calls, failed ones too.

    1 is as many as the reference; half is twice as many, or half. 1 where both are 0.
    """
    expected, made = len(execution.reference.tool_steps), len(execution.episode.calls)
    return 1.0 if expected == made else min(expected, made) / max(expected, made)


def agent_selection(execution: Execution, *, agents: Mapping[str, frozenset[str]]) -> float:
    """|used & expected| / |used | expected| (Jaccard) of the agents whose tools were called and those of the reference.

    A record names tools and no agents: a tool's agents are those with whom the references of the ground truth name it.
    Of a tool of several agents the one counts that this scenario expects. A tool of no agent, such as a distractor, is
    an agent of its own. 1 where both sets are empty.
    """
    steps = execution.reference.tool_steps
    expected = {step.agent for step in steps}
    named = {tool_of(step.action): step.agent for step in steps}
    used = set()
    for each in execution.episode.calls:
        tool = each.call.tool
        known = agents.get(tool, frozenset())
        used.add(named.get(tool) or next(iter(sorted(known & expected) or sorted(known)), f"tool {tool}"))
    return len(used & expected) / len(used | expected) if used or expected else 1.0


def tool_accuracy(execution: Execution) -> float:
    """Share of all recorded calls that succeeded and whose tool the reference uses; an unknown tool and an error count
    against it. Without a call: 1 if the reference needs none, else 0.

    In a reference with a step of no one right tool (``deterministic.action`` false) every tool is one it may use.
    """
    calls = execution.episode.calls
    if not calls:
        return float(not execution.reference.tool_steps)
    free = any(not step.deterministic.action for step in execution.reference.tool_steps)
    done = {id(action.call) for action in execution.actions}  # with what was refused as the reference expects
    return sum((free or each.call.tool in execution.known_tools) and id(each) in done for each in calls) / len(calls)
