"""Where a sub-agent works: its own tools and no others, its parent to ask, the model if there is one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from gauntlet_agent.assetops.roster import tools_of
from gauntlet_agent.errors import BudgetExceeded, GauntletError, ToolError
from gauntlet_agent.models import Models
from gauntlet_agent.tools import Tool

Ask = Callable[[str], str | None]
#: Tools that change nothing and give the same again: what one agent asked, the next need not pay a call for.
REMEMBERED: Final = frozenset(
    {
        *("sites", "assets", "sensors", "asset_sensors", "get_asset", "list_equipment", "list_workorders"),
        *("list_events", "list_alerts", "list_anomalies", "daily_event_counts", "count_workorders", "aitasks"),
        *(
            "get_failure_mode_sensor_mapping",
            "tsfmmodels",
            "get_alert_rules",
            "registry_assets",
            "get_alert_rule_mapping",
            "get_anomaly_mapping",
            "get_failure_modes",
        ),
    }
)


class AsksEpisode(Protocol):
    """What the agents need of an episode; :class:`gauntlet_agent.Episode` is one."""

    budget: dict[str, Any]

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool."""

    def tools(self) -> list[Tool]:
        """The tools that the scenario offers."""

    def note(self, text: str) -> None:
        """Leave a thought in the record."""


class NotMyTool(GauntletError):
    """A sub-agent wanted a tool that is not its own, or that the episode does not offer."""


@dataclass(frozen=True)
class ToolUse:
    """One tool call as the trajectory record (A27) keeps it."""

    agent: str
    tool: str
    arguments: dict[str, Any]
    state: str  # "done" or "failed"
    seconds: float
    error: str = ""


@dataclass
class Workplace:
    """What all agents of one episode share: its tools, its limits, what was called, what was asked of the parent."""

    episode: AsksEpisode
    offered: list[Tool]
    models: Models | None = None
    parent_answers: bool = True  # Agent-Ask
    uses: list[ToolUse] = field(default_factory=list)
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # agent, question, answer
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[tuple[str, str], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parallel = max(1, int(self.episode.budget.get("parallel_tool_calls") or 1))
        self._places = threading.BoundedSemaphore(self.parallel)

    def call(self, agent: str, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool for an agent, waiting for its turn where the phase allows no more calls at once.

        What a reading tool said before is given again without a call.
        """
        key = (name, json.dumps(arguments, sort_keys=True, default=str))
        if key in self._known:
            return self._known[key]
        started = time.monotonic()
        state, said = "failed", ""
        try:
            with self._places:
                answer = self.episode.call(name, **arguments)
            state = "done"
            if name in REMEMBERED:
                self._known[key] = answer
            return answer
        except (ToolError, BudgetExceeded) as error:
            said = str(error)
            raise
        finally:
            use = ToolUse(agent, name, arguments, state, round(time.monotonic() - started, 4), said[:300])
            with self._lock:
                self.uses.append(use)

    def desk(self, agent: str, ask: Ask | None = None) -> Desk:
        """A desk for one agent and one request."""
        return Desk(self, agent, ask if self.parent_answers else None)

    def remember_question(self, agent: str, question: str, answer: str) -> None:
        """Keep what a sub-agent asked and was told."""
        with self._lock:
            self.asked.append((agent, question, answer))


class Desk:
    """One sub-agent's place of work for one request."""

    def __init__(self, place: Workplace, agent: str, ask: Ask | None) -> None:
        self.place = place
        self.agent = agent
        self.tools = tools_of(agent, place.offered)
        self._ask = ask

    @property
    def may_ask(self) -> bool:
        """Whether the parent answers questions (Agent-Ask)."""
        return self._ask is not None

    def has(self, *names: str) -> bool:
        """Whether all these tools are there for this agent."""
        return all(name in self.tools for name in names)

    def call(self, name: str, **arguments: Any) -> Any:
        """Call one of the agent's own tools; arguments that are None are left out.

        Raises:
            NotMyTool: it belongs to another agent or is not offered
            ToolError, EpisodeClosed, BudgetExceeded
        """
        if name not in self.tools:
            raise NotMyTool(f"{self.agent} has no tool {name!r}; it has {', '.join(self.tools) or 'none'}.")
        given = {key: value for key, value in arguments.items() if value is not None}
        return self.place.call(self.agent, name, given)

    def ask(self, question: str) -> str | None:
        """Ask the parent; None where it knows nothing or must not be asked."""
        if self._ask is None:
            return None
        answer = self._ask(question)
        self.place.remember_question(self.agent, question, answer or "")
        return answer
