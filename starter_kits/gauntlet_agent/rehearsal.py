"""An episode without a gateway, for an agent's own tests: its tools are functions, and nothing leaves the process."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gauntlet_agent.episode import Episode, Step
from gauntlet_agent.errors import ToolError
from gauntlet_agent.gateway import Gateway
from gauntlet_agent.tools import Tool

_NOWHERE: Final = "http://127.0.0.1:9"  # the port of nobody: what a rehearsal does not answer itself fails at once


class Rehearsal(Episode):
    """An episode that asks no platform, for tests of an agent's functions.

    rehearsal = Rehearsal("How many jobs?", {"answer_format": {"jobs": "integer"}}, tools={"count": lambda year: 3})
    text, data = solve(rehearsal)

    Attributes:
        calls: the tool calls that were made, in order: name and arguments
        plans: the plans that were declared
        notes: the notes that were left
        given: the answer, where the agent gave it by itself: text and data
    """

    def __init__(
        self,
        text: str,
        show: Mapping[str, Any] | None = None,
        *,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        budget: Mapping[str, Any] | None = None,
        models_url: str = "",
    ) -> None:
        """Make an episode.

        Args:
            tools: functions by the names of tools; one that raises ToolError or ValueError is a call that failed
            budget: what an episode's ``budget`` holds, such as ``parallel_tool_calls`` and ``tokens``
            models_url: base address of an OpenAI-compatible endpoint, where the agent asks a model
        """
        scenario = {"id": "rehearsal", "text": text, "show": dict(show or {})}
        opened = {"id": "rehearsal", "scenario": scenario, "budget": {"parallel_tool_calls": 4, **(budget or {})}}
        super().__init__(Gateway(_NOWHERE), opened)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.plans: list[list[Any]] = []
        self.notes: list[str] = []
        self.given: tuple[str, Any] | None = None
        self._functions = dict(tools or {})
        self._models_url = models_url

    @property
    def models_url(self) -> str:
        """The address that was given."""
        return self._models_url

    def tools(self) -> list[Tool]:
        """The tools, with the parameters of their functions as the schema."""
        return [
            Tool(name, inspect.getdoc(function) or name, _schema(function))
            for name, function in self._functions.items()
        ]

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool's function; what it returns passes through JSON, as on the platform.

        Raises:
            ToolError
        """
        self.calls.append((name, arguments))
        function = self._functions.get(name)
        if function is None:
            raise ToolError(f"There is no tool {name!r}.")
        try:
            return json.loads(json.dumps(function(**arguments)))
        except (TypeError, ValueError) as error:
            raise ToolError(f"{name}: {error}") from error

    def plan(self, steps: Iterable[Step]) -> None:
        """Keep a plan."""
        self.plans.append(list(steps))

    def note(self, text: str) -> None:
        """Keep a note."""
        self.notes.append(text)

    def answer(self, text: str, data: Any = None) -> None:
        """Keep the answer."""
        self.given, self.answered = (text, data), True

    def close(self) -> None:
        """There is nothing to let go."""


def _schema(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    required = [name for name, one in parameters.items() if one.default is inspect.Parameter.empty]
    return {"type": "object", "properties": {name: {} for name in parameters}, "required": required}
