"""The two sequences that the execution measures compare, and which step of the one is which action of the other.

A reference step that a record of tool calls cannot hold (Self-Ask, Agent-Ask, if_then_else) is left out, and the links
through it are joined. The recorded actions are the calls that succeeded, in the order in which they were made, and the
answer as ``Finish`` where the reference has one. A call that the tool refused counts only where the reference makes
just that call, tool and arguments: "there is no such thing" is then what the reference found out too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet_scoring.execution.references import is_reference
from gauntlet_scoring.ground_truth import ExecutionLink, ExecutionStep, GroundTruth
from gauntlet_scoring.reading import RecordedCall, RecordedEpisode
from gauntlet_scoring.text import FINISH, NOT_TOOL_CALLS
from gauntlet_scoring.values import comparable


@dataclass(frozen=True)
class Action:
    """Something that the agent did: a tool call, or the answer."""

    tool: str  # FINISH is the answer
    arguments: Mapping[str, Any] = field(default_factory=dict)
    call: RecordedCall | None = None  # None: the answer


@dataclass(frozen=True)
class Reference:
    """The reference execution as far as a record can hold it."""

    steps: tuple[ExecutionStep, ...]
    links: frozenset[tuple[int, int]]  # positions in `steps`, source and target
    before: tuple[frozenset[int], ...]  # of each step, those that come before it by links
    makers: Mapping[str, tuple[int, ...]]  # the steps that make an output, by its name without `@`
    alternatives: Mapping[Hashable, frozenset[Hashable]]  # what is as good as an expected argument

    def same(self, given: Any, expected: Any) -> bool:
        """Whether a recorded argument is the expected one, or as good: compared as the rubric's ``called`` does."""
        wanted = comparable(expected, dates=True)
        found = comparable(given, dates=True)
        return found == wanted or found in self.alternatives.get(wanted, ())

    @property
    def tool_steps(self) -> list[ExecutionStep]:
        """The steps that call a tool."""
        return [step for step in self.steps if step.action != FINISH]


def tool_of(action: str) -> str:
    """The tool of a reference step; the multi-MCP reading writes ``server/tool`` (G10)."""
    return action.rpartition("/")[2] or action


def reference_of(truth: GroundTruth) -> Reference:
    """The reference execution of a scenario. Links to no step are ignored: the validator names them."""
    steps = tuple(step for step in truth.execution_steps if step.action not in NOT_TOOL_CALLS)
    places = {step.name: at for at, step in enumerate(steps)}
    pairs = _joined(truth.execution_links, left_out={s.name for s in truth.execution_steps} - places.keys())
    links = frozenset((places[a], places[b]) for a, b in pairs if a in places and b in places and a != b)
    makers: dict[str, tuple[int, ...]] = {}
    for at, step in enumerate(steps):
        for output in step.outputs:
            makers[output.removeprefix("@")] = (*makers.get(output.removeprefix("@"), ()), at)
    return Reference(
        steps=steps,
        links=links,
        before=_ancestors(links, len(steps)),
        makers=makers,
        alternatives=_alternatives(truth.possible_alternatives or {}),
    )


def recorded_actions(episode: RecordedEpisode, reference: Reference) -> tuple[Action, ...]:
    """What the agent did, in order."""
    expected = _expected_refusals(episode, reference)
    actions = [
        Action(tool=each.call.tool, arguments=each.call.arguments, call=each)
        for each in episode.calls
        if each.succeeded or each.call.call in expected
    ]
    if episode.answered and any(step.action == FINISH for step in reference.steps):
        actions.append(Action(tool=FINISH))
    return tuple(actions)


def _expected_refusals(episode: RecordedEpisode, reference: Reference) -> set[str]:
    """The refused calls that the reference makes just so and that were not answered another time, by their ids."""
    literal = {
        (tool_of(step.action), comparable(step.arguments, dates=True))
        for step in reference.tool_steps
        if isinstance(step.arguments, dict) and not any(map(is_reference, step.arguments.values()))
    }
    tools = {tool for tool, _ in literal}
    refused = [c for c in episode.calls if c.call.tool in tools and c.result is not None and not c.succeeded]
    found = {each.call.call: identity for each in refused if (identity := _identity(each)) in literal}
    if found:
        answered = {_identity(each) for each in episode.calls if each.succeeded and each.call.tool in tools}
        found = {call: identity for call, identity in found.items() if identity not in answered}
    return set(found)


def match(reference: Reference, actions: Sequence[Action]) -> dict[int, int]:
    """Which action each step was done by: position of the step to position of the action, each action at most once.

    A step and an action can be a pair if the tool is the same; a step whose ``deterministic.action`` is false takes any
    tool. Pairs are formed best first: the same tool before any, then the larger share of right literal arguments, then
    the earlier step, then the earlier action.
    """
    pairs = []
    for at, step in enumerate(reference.steps):
        for number, action in enumerate(actions):
            same = tool_of(step.action) == action.tool
            free = not step.deterministic.action and FINISH not in (step.action, action.tool)
            if same or free:
                pairs.append((not same, -literal_share(step, action, reference), at, number))
    matched: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, at, number in sorted(pairs):
        if at not in matched and number not in taken:
            matched[at] = number
            taken.add(number)
    return matched


def literal_share(step: ExecutionStep, action: Action, reference: Reference) -> float:
    """Share of the step's literal arguments (no references) that the action has; 1 where there is none to have."""
    if not step.deterministic.arguments or step.action == FINISH:
        return 1.0
    if isinstance(step.arguments, str):
        return (
            1.0
            if is_reference(step.arguments)
            else float(any(reference.same(v, step.arguments) for v in action.arguments.values()))
        )
    literal = {key: value for key, value in step.arguments.items() if not is_reference(value)}
    right = sum(reference.same(action.arguments.get(key), value) for key, value in literal.items())
    return right / len(literal) if literal else 1.0


def _alternatives(said: Mapping[str, Any]) -> dict[Hashable, frozenset[Hashable]]:
    """Of ``possible_alternatives`` (G2) what stands under ``arguments``: a text to the texts that are as good."""
    listed = said.get("arguments")
    return {
        comparable(expected, dates=True): frozenset(comparable(each, dates=True) for each in others)
        for expected, others in (listed.items() if isinstance(listed, dict) else ())
        if isinstance(others, list)
    }


def _identity(each: RecordedCall) -> tuple[str, object]:
    return each.call.tool, comparable(each.call.arguments, dates=True)


def _joined(links: Iterable[ExecutionLink], *, left_out: set[str]) -> set[tuple[str, str]]:
    """The links by name; one that leads through a step that is left out is joined with those behind it."""
    pairs = {(link.source, link.target) for link in links}
    for name in sorted(left_out):
        sources = {a for a, b in pairs if b == name}
        targets = {b for a, b in pairs if a == name}
        pairs = {pair for pair in pairs if name not in pair} | {(a, b) for a in sources for b in targets}
    return pairs


def _ancestors(links: frozenset[tuple[int, int]], count: int) -> tuple[frozenset[int], ...]:
    direct: list[set[int]] = [set() for _ in range(count)]
    for source, target in links:
        direct[target].add(source)
    found = []
    for at in range(count):
        seen: set[int] = set()
        waiting = [*direct[at]]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting.extend(direct[one])
        found.append(frozenset(seen - {at}))
    return tuple(found)
