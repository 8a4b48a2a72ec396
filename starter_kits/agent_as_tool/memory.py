"""What the supervisor keeps: the question, what was delegated and came back, and what it was advised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet_agent.assetops import Report, Request, Step
from gauntlet_agent.assetops.guardrails import compress


@dataclass(frozen=True)
class ThinkAct:
    """Think, then act: hand a request to an agent."""

    thought: str
    agent: str
    request: str
    depends_on: tuple[int, ...] = ()  # delegations whose results the request carries


@dataclass(frozen=True)
class Finish:
    """There is nothing left to do; with the answer, where whoever decides has one."""

    thought: str
    answer: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


Decision = ThinkAct | Finish


@dataclass(frozen=True)
class Turn:
    """One line of the history H: the step, what was decided, and the compressed observation."""

    number: int
    decision: Decision
    observation: str


@dataclass
class Memory:
    """The global memory M, with the plan and the history that the loop returns."""

    question: str
    show: Mapping[str, Any]
    plan: list[Step] = field(default_factory=list)
    history: list[Turn] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    def remember(self, decision: ThinkAct, report: Report) -> Turn:
        """Add a delegation and its compressed observation."""
        words = Request.read(decision.request).words
        self.plan.append(Step(decision.agent, words, decision.depends_on, report.summary))
        self.reports.append(report)
        turn = Turn(len(self.history) + 1, decision, compress(report.answer))
        self.history.append(turn)
        return turn

    def close(self, decision: Finish) -> None:
        """Add the end."""
        self.history.append(Turn(len(self.history) + 1, decision, decision.answer))

    def known(self, positions: tuple[int, ...] | None = None) -> dict[str, Any]:
        """What the delegations at these positions found (all where None), each by itself and together."""
        chosen = range(len(self.reports)) if positions is None else positions
        found = [self.reports[one].facts for one in chosen]
        merged: dict[str, Any] = {}
        for facts in found:
            merged |= facts
        return {**merged, "steps": found} if len(found) > 1 else merged
