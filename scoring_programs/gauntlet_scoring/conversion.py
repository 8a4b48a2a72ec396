"""One scenario in two readings: several agents with tools, or several MCP servers with tools (G10, G34).

Only ``type``, ``agent`` and ``action`` are read anew, and what was converted there and back is what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation.vocabulary import MULTI_AGENT, MULTI_MCP, SPECIAL_ACTIONS, Vocabulary

AGENT_PARADIGM: Final = "multi-agent"
MCP_PARADIGM: Final = "multi-MCP"


class ConversionError(ValueError):
    """A scenario that has no other reading; the text says which part and why."""


def is_multi_mcp(truth: GroundTruth, vocabulary: Vocabulary) -> bool:
    """Whether every step is a server's, so that the scenario is in the multi-MCP reading."""
    names = {step.agent for step in truth.execution_steps}
    return names <= {*vocabulary.servers, *vocabulary.shared}


def to_multi_mcp(truth: GroundTruth, vocabulary: Vocabulary, *, qualified: bool = False) -> GroundTruth:
    """The scenario with servers in the place of agents.

    A tool of a server that belongs to every agent is written ``server/tool``, since the step's ``agent`` still tells
    whose step it is. With ``qualified`` every tool is.

    Raises:
        ConversionError: an agent, a type or an action has no counterpart in the vocabulary.
    """

    def agent(name: str) -> str:
        if name not in vocabulary.agents:
            raise ConversionError(f"{name!r} is no agent of the vocabulary, so that its server is unknown")
        return vocabulary.agents[name].server

    def action(name: str, of: str) -> str:
        if name in SPECIAL_ACTIONS:
            return name
        if _server_of(name, vocabulary) is not None:
            raise ConversionError(f"the action {name!r} names a server already")
        own = vocabulary.agents[of]
        for server, tools in vocabulary.shared.items():
            if name in tools and name not in own.tools:
                return f"{server}/{name}"
        return f"{own.server}/{name}" if qualified else name

    types = {one.type: one.server for one in vocabulary.agents.values()} | {MULTI_AGENT: MULTI_MCP}
    return _converted(truth, types=types, agent=agent, action=action, paradigms=(AGENT_PARADIGM, MCP_PARADIGM))


def to_multi_agent(truth: GroundTruth, vocabulary: Vocabulary) -> GroundTruth:
    """The scenario with agents in the place of servers.

    Raises:
        ConversionError: a server or a type has no counterpart, or a tool is that of another server than its step's.
    """

    def agent(name: str) -> str:
        if name not in vocabulary.servers:
            raise ConversionError(f"{name!r} is no server of an agent of the vocabulary")
        return vocabulary.servers[name]

    def action(name: str, of: str) -> str:
        server = _server_of(name, vocabulary)
        if server is None:
            return name
        if server != of and server not in vocabulary.shared:
            raise ConversionError(f"the action {name!r} is not of the step's server, {of!r}")
        return name.removeprefix(f"{server}/")

    types = {one.server: one.type for one in vocabulary.agents.values()} | {MULTI_MCP: MULTI_AGENT}
    return _converted(truth, types=types, agent=agent, action=action, paradigms=(MCP_PARADIGM, AGENT_PARADIGM))


def _server_of(action: str, vocabulary: Vocabulary) -> str | None:
    server, slash, _ = action.partition("/")
    return server if slash and (server in vocabulary.servers or server in vocabulary.shared) else None


def _converted(
    truth: GroundTruth,
    *,
    types: dict[str, str],
    agent: Callable[[str], str],
    action: Callable[[str, str], str],
    paradigms: tuple[str, str],
) -> GroundTruth:
    if truth.type not in types:
        raise ConversionError(f"the type {truth.type!r} has no counterpart; there are {', '.join(types)}")
    if truth.paradigm not in (None, paradigms[0]):
        raise ConversionError(f"the paradigm is {truth.paradigm!r}, not {paradigms[0]!r}")
    return truth.model_copy(
        update={
            "type": types[truth.type],
            **({} if truth.paradigm is None else {"paradigm": paradigms[1]}),  # what was not said stays unsaid
            "planning_steps": [step.model_copy(update={"agent": agent(step.agent)}) for step in truth.planning_steps],
            "execution_steps": [
                step.model_copy(update={"agent": agent(step.agent), "action": action(step.action, step.agent)})
                for step in truth.execution_steps
            ],
        }
    )
