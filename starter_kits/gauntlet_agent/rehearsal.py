"""An episode without a gateway, for an agent's own tests: its tools are functions, and nothing leaves the process."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gauntlet_agent.episode import Step
from gauntlet_agent.errors import ToolError
from gauntlet_agent.tools import Tool


class Rehearsal:
    """Stands in for :class:`gauntlet_agent.Episode` where an agent's functions are tested.

    rehearsal = Rehearsal("How many jobs?", {"answer_format": {"jobs": "integer"}}, tools={"count": lambda year: 3})
    text, data = solve(rehearsal)

    Attributes:
        calls: the tool calls that were made, in order: name and arguments
        plans: the plans that were declared
        notes: the notes that were left
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
        self.id = "rehearsal"
        self.text = text
        self.show = dict(show or {})
        self.budget: dict[str, Any] = {"parallel_tool_calls": 4, **(budget or {})}
        self.seconds_left = 60.0
        self.models_url = models_url
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.plans: list[list[Any]] = []
        self.notes: list[str] = []
        self._tools = dict(tools or {})

    def tools(self) -> list[Tool]:
        """The tools, with the parameters of their functions as the schema."""
        return [
            Tool(name, inspect.getdoc(function) or name, _schema(function)) for name, function in self._tools.items()
        ]

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a tool's function; what it returns passes through JSON, as on the platform.

        Raises:
            ToolError
        """
        self.calls.append((name, arguments))
        function = self._tools.get(name)
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


def _schema(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    required = [name for name, one in parameters.items() if one.default is inspect.Parameter.empty]
    return {"type": "object", "properties": {name: {} for name in parameters}, "required": required}
