"""Sub-agents as tools: a stub takes one string `request` and returns JSON with `answer`, `review` and `summary`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gauntlet_agent.assetops import Report, SubAgent, Workplace

Clarify = Callable[[str, str], str | None]  # who asks, what is asked


class Stub:
    """One sub-agent as the supervisor's tool."""

    def __init__(self, agent: SubAgent, place: Workplace, clarify: Clarify) -> None:
        self.name = agent.name
        self._agent = agent
        self._place = place
        self._clarify = clarify
        self.report: Report | None = None

    def __call__(self, request: str) -> dict[str, Any]:
        """Delegate a request; whatever the sub-agent asks meanwhile, the supervisor answers (Agent-Ask)."""
        desk = self._place.desk(self.name, lambda question: self._clarify(self.name, question))
        self.report = self._agent.work(request, desk)
        return self.report.as_json()
