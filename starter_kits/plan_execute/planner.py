"""Who writes plans: rules, or a model with the rules to fall back on. The solver knows only `Planner`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from plan_text import NoPlan, format_plan, parse_plan
from prompts import planner_prompt

from gauntlet_agent.assetops import Step, plan
from gauntlet_agent.models import Message, Models, ModelUnavailable


class Planner(Protocol):
    """Writes a plan; told what was wrong with the one before."""

    def plan(self, question: str, *, before: Sequence[Step] = (), findings: Sequence[str] = ()) -> list[Step]:
        """The steps for a question."""


class RulePlanner:
    """Takes the recipe that fits the question."""

    def plan(self, question: str, *, before: Sequence[Step] = (), findings: Sequence[str] = ()) -> list[Step]:
        """The recipe; it cannot learn from findings."""
        return plan(question)


class ModelPlanner:
    """A language model writes the plan as text, which is read with every tolerance."""

    def __init__(self, models: Models, *, examples: bool) -> None:
        self._models = models
        self._examples = examples
        self._rules = RulePlanner()

    def plan(self, question: str, *, before: Sequence[Step] = (), findings: Sequence[str] = ()) -> list[Step]:
        """The model's plan; the recipe where it gives none."""
        messages: list[Message] = [
            {"role": "system", "content": planner_prompt(examples=self._examples)},
            {"role": "user", "content": f"Question: {question}"},
        ]
        if before and findings:
            wrong = "\n".join(f"- {one}" for one in findings)
            messages.append({"role": "assistant", "content": format_plan(before)})
            messages.append({"role": "user", "content": f"A reviewer found:\n{wrong}\nWrite the whole plan again."})
        try:
            return parse_plan(self._models.text(messages)).steps
        except (ModelUnavailable, NoPlan):
            return self._rules.plan(question)
