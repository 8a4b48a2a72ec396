"""What a domain has: its agents with their servers, types and tools, its categories; and the words of any domain.

Requirements G3, G7 to G10 and G15. A competition of another domain says what it has in a file ``vocabulary.json``
beside its ground truth; without one any agent and any tool is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.phrases import first_phrase

VOCABULARY_FILE: Final = "vocabulary.json"

FINISH: Final = "Finish"
SELF_ASK: Final = "Self-Ask"
AGENT_ASK: Final = "Agent-Ask"
IF_THEN_ELSE: Final = "if_then_else"
SPECIAL_ACTIONS: Final = (FINISH, SELF_ASK, AGENT_ASK, IF_THEN_ELSE)

MULTI_AGENT: Final = "multiagent"
MULTI_MCP: Final = "multi-mcp"
SEVERAL: Final = (MULTI_AGENT, MULTI_MCP)

MCP_SERVER_TYPES: Final = (
    *("filesystem", "database", "web-search", "api-client", "git", "slack", "email", "calendar", "computation"),
    "memory",
)
"""G9: the server types that the guide lists."""

CATEGORIES: Final = (
    *("Knowledge Query", "Data Query", "Inference Query", "Tuning Query", "Anomaly Detection Query"),
    *("Decision Support", "Prediction", "Complex Query"),
)
"""G8: the eight categories, as the data spells them."""

GROUPS: Final = ("retrospective", "predictive", "prescriptive")


class Tool(BaseModel):
    """A tool's arguments, and whether it infers: a model's or an LLM's result is not deterministic (G17)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    infers: bool = False
    changes: bool = Field(default=False, description="neither retrieves nor calculates: it does something")


class Agent(BaseModel):
    """An agent: the type of a scenario that is its own, the MCP server it is in the other reading, and its tools."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    server: str
    tools: dict[str, Tool] = Field(default_factory=dict)
    any_tool: bool = Field(default=False, description="its tools are not listed: any is accepted")


class Vocabulary(BaseModel):
    """A domain. Without agents any agent and any tool is accepted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: dict[str, Agent] = Field(default_factory=dict)
    shared: dict[str, dict[str, Tool]] = Field(
        default_factory=dict, description="servers that belong to every agent, with their tools"
    )
    categories: tuple[str, ...] = CATEGORIES
    agent_aliases: dict[str, str] = Field(default_factory=dict, description="spelling in real files -> agent")
    type_aliases: dict[str, str] = Field(default_factory=dict, description="spelling in real files -> type")
    action_aliases: dict[str, str] = Field(default_factory=dict, description="spelling in real files -> tool")

    @property
    def is_open(self) -> bool:
        """Whether any agent and any tool is accepted."""
        return not self.agents

    @cached_property
    def servers(self) -> dict[str, str]:
        """Server -> its agent."""
        return {agent.server: name for name, agent in self.agents.items()}

    @cached_property
    def types(self) -> dict[str, str]:
        """Type -> its agent."""
        return {agent.type: name for name, agent in self.agents.items()}

    @cached_property
    def shared_tools(self) -> dict[str, Tool]:
        """The tools that every agent has."""
        return {name: tool for tools in self.shared.values() for name, tool in tools.items()}

    def agent_of(self, name: str) -> str | None:
        """The agent that a name means, be it the agent's own or its server's; null where there is none."""
        return name if name in self.agents else self.servers.get(name)

    def tools_of(self, name: str) -> Mapping[str, Tool]:
        """The tools of an agent or server, those that every agent has among them."""
        agent = self.agent_of(name)
        own = self.agents[agent].tools if agent else self.shared.get(name, {})
        return {**self.shared_tools, **own}

    def takes_any_tool(self, name: str) -> bool:
        """Whether an agent's or server's tools are not listed."""
        agent = self.agent_of(name)
        return agent is not None and self.agents[agent].any_tool

    def server_of_tool(self, tool: str) -> str | None:
        """The server that offers a tool, or null."""
        for agent in self.agents.values():
            if tool in agent.tools:
                return agent.server
        return next((server for server, tools in self.shared.items() if tool in tools), None)


OPEN: Final = Vocabulary()
"""Any agent, any tool."""

MCP: Final = Vocabulary(
    agents={name: Agent(type=name, server=name, any_tool=True) for name in MCP_SERVER_TYPES},
    type_aliases={"multi-agent": MULTI_AGENT, "multimcp": MULTI_MCP, "multi_mcp": MULTI_MCP},
)
"""The guide's server types with any tool, for scenarios that are written in the multi-MCP reading from the start."""


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary file.

    Raises:
        ScoringInputError: it cannot be read or is no vocabulary.
    """
    try:
        return Vocabulary.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ScoringInputError(f"cannot be read ({error.strerror})", path=path) from error
    except ValidationError as error:
        raise ScoringInputError(f"is no vocabulary: {first_phrase(error, quote=True)}", path=path) from error


def vocabulary_beside(path: Path, *, default: Vocabulary) -> Vocabulary:
    """The vocabulary in the folder of a ground-truth file, or ``default`` where there is none."""
    beside = path.parent / VOCABULARY_FILE
    return read_vocabulary(beside) if beside.is_file() else default
