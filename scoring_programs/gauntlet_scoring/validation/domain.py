"""Domain checks: agents, tools, arguments, types and categories that the vocabulary has (G8 to G10, G15)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from gauntlet_scoring.ground_truth import ExecutionStep
from gauntlet_scoring.validation.collecting import Collector
from gauntlet_scoring.validation.documents import Location
from gauntlet_scoring.validation.findings import FindingClass, Level
from gauntlet_scoring.validation.structure import Draft
from gauntlet_scoring.validation.vocabulary import SEVERAL, SPECIAL_ACTIONS, Tool, Vocabulary

_RESOURCE: Final = "resource_uri"


def check_domain(draft: Draft, collector: Collector, *, vocabulary: Vocabulary) -> None:
    """Hold agents, tools, arguments, type and category against the vocabulary."""
    for position, step in enumerate(draft.steps):
        _check_resource(step, position, collector)
    if vocabulary.is_open:
        return
    _check_category(draft, collector, vocabulary)
    for position, planned in enumerate(draft.plan):
        _check_agent(planned.agent, ("planning_steps", position, "agent"), collector, vocabulary)
    for position, step in enumerate(draft.steps):
        if _check_agent(step.agent, ("execution_steps", position, "agent"), collector, vocabulary):
            _check_action(step, position, collector, vocabulary)
    _check_type(draft, collector, vocabulary)


def _check_agent(name: str, place: Location, collector: Collector, vocabulary: Vocabulary) -> bool:
    if vocabulary.agent_of(name) is not None or name in vocabulary.shared:
        return True
    known = [*vocabulary.agents, *vocabulary.servers, *vocabulary.shared]
    collector.domain(place, f"no agent is named {name!r}{_choice(name, known)}", rule="G15")
    return False


def _check_action(step: ExecutionStep, position: int, collector: Collector, vocabulary: Vocabulary) -> None:
    place = ("execution_steps", position, "action")
    if step.action in SPECIAL_ACTIONS:
        return
    server, slash, name = step.action.rpartition("/")
    if slash and vocabulary.agent_of(server) is None and server not in vocabulary.shared:
        collector.domain(place, f"no server is named {server!r}{_choice(server, vocabulary.servers)}", rule="G15")
        return
    if slash and server not in vocabulary.shared and vocabulary.agent_of(server) != vocabulary.agent_of(step.agent):
        collector.domain(place, f"the server {server!r} is not that of {step.agent!r}", rule="G10")
        return
    if vocabulary.takes_any_tool(server or step.agent):
        return
    tools = vocabulary.tools_of(server or step.agent)
    tool = tools.get(name)
    if tool is not None:
        _check_arguments(step, tool, position, collector)
        return
    other = vocabulary.server_of_tool(name)
    message = f"{step.agent!r} has no tool {name!r}"
    message += f"; it is one of {vocabulary.servers.get(other, other)}" if other else _choice(name, tools)
    collector.domain(place, message, rule="G15")


def _check_arguments(step: ExecutionStep, tool: Tool, position: int, collector: Collector) -> None:
    if not isinstance(step.arguments, dict):
        return
    place = ("execution_steps", position, "arguments")
    known = [*tool.required, *tool.optional]
    for name in step.arguments:
        if name not in known:
            message = f"the tool {step.action!r} has no argument {name!r}{_choice(name, known)}"
            collector.domain((*place, name), message, rule="G15")
    missing = [name for name in tool.required if name not in step.arguments]
    if missing:
        message = f"the tool {step.action!r} needs the argument {', '.join(map(repr, missing))}"
        collector.domain(place, message, rule="G15")


def _check_resource(step: ExecutionStep, position: int, collector: Collector) -> None:
    """G10: a resource is named by a URI, such as file:///path or db://host/table."""
    value = step.arguments.get(_RESOURCE) if isinstance(step.arguments, dict) else None
    if not isinstance(value, str) or value.startswith("@"):
        return
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if not parts.scheme or not (parts.netloc or parts.path.strip("/")):
        place = ("execution_steps", position, "arguments", _RESOURCE)
        collector.domain(place, f"{value!r} is no URI, such as file:///data/points.csv or db://host/table", rule="G10")


def _check_type(draft: Draft, collector: Collector, vocabulary: Vocabulary) -> None:
    value = draft.text("type")
    known = [*vocabulary.types, *vocabulary.servers, *SEVERAL]
    if not isinstance(draft.row.get("type"), str):
        return  # the schema says so already
    if value not in known:
        collector.domain(("type",), f"no type is named {value!r}{_choice(value, known)}", rule="G15")
        return
    agents = _agents(draft, vocabulary)
    if not agents:
        return
    if len(agents) > 1 and value not in SEVERAL:
        message = f"several agents work on it ({', '.join(agents)}): the type must be 'multiagent'"
        collector.domain(("type",), message, rule="G15")
    elif len(agents) == 1 and value in SEVERAL:
        message = f"only {agents[0]} works on it: the type must be {vocabulary.agents[agents[0]].type!r}"
        collector.domain(("type",), message, rule="G15")
    elif len(agents) == 1 and vocabulary.types.get(value, vocabulary.servers.get(value)) != agents[0]:
        message = f"the type {value!r} is not that of its agent, {agents[0]}: {vocabulary.agents[agents[0]].type!r}"
        collector.domain(("type",), message, rule="G15")


def _agents(draft: Draft, vocabulary: Vocabulary) -> list[str]:
    """The agents that plan or do something, in their order; a server that belongs to every agent is none."""
    named = [step.agent for step in draft.plan] + [step.agent for step in draft.steps]
    return list(dict.fromkeys(agent for name in named if (agent := vocabulary.agent_of(name)) is not None))


def _check_category(draft: Draft, collector: Collector, vocabulary: Vocabulary) -> None:
    value = draft.text("category")
    if value and value not in vocabulary.categories:
        message = f"no category is named {value!r}{_choice(value, vocabulary.categories)}"
        collector.add(Level.ERROR, FindingClass.DOMAIN, ("category",), message, rule="G8")


def _choice(name: str, known: Iterable[str] | Mapping[str, Any]) -> str:
    """What was probably meant, or what there is."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(names)}" if names else ""
