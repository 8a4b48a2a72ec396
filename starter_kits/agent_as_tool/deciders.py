"""Who decides for the supervisor: rules, or a model with the rules to fall back on. The loop knows only `Decider`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from memory import Decision, Finish, Memory, ThinkAct
from prompts import CLARIFY, PLAN_ONLY, supervisor_prompt

from gauntlet_agent.assetops import Request, Review, Step, plan
from gauntlet_agent.assetops.roster import agent_named
from gauntlet_agent.models import BadReply, Message, Models, ModelUnavailable, fit


class Decider(Protocol):
    """The policies of algorithm 1: what to do next, what to tell a sub-agent that asks, whether the answer will do."""

    def think(self, memory: Memory) -> Decision:
        """Choose the next step."""

    def clarify(self, memory: Memory, agent: str, question: str) -> str | None:
        """Answer a sub-agent; None where nothing is known."""

    def review(self, memory: Memory, text: str, data: Any) -> Review:
        """Judge an answer before it is given."""

    def plan(self, memory: Memory) -> list[Step]:
        """Say in advance how the question would be solved, where only a plan is wanted."""


class RuleDecider:
    """Follows the recipe that fits the question, one delegation after the other."""

    def __init__(self) -> None:
        self._steps: list[Step] | None = None
        self._places: list[int] = []  # where in memory the recipe's steps ended up
        self._asked_whole = False

    def think(self, memory: Memory) -> Decision:
        """The recipe's next step; a step that failed is tried once more with the question itself, then it is over."""
        if self._steps is None:
            self._steps = plan(memory.question)
        if self._places and memory.reports[-1].review.status == "failed":
            failed = self._steps[len(self._places) - 1]
            if self._asked_whole or not memory.reports[-1].review.suggestions:
                return Finish(memory.reports[-1].review.reasoning or "A step failed.")
            self._asked_whole = True
            return ThinkAct("That failed; the whole question instead.", failed.agent, memory.question)
        if len(self._places) == len(self._steps):
            return Finish("Every step of the recipe is done.")
        step = self._steps[len(self._places)]
        needs = tuple(self._places[position] for position in step.depends_on)
        self._places.append(len(memory.reports))
        known = {**memory.known(needs), "question": memory.question}
        return ThinkAct(f"Next: {step.task}", step.agent, str(Request(step.task, known)), needs)

    def clarify(self, memory: Memory, agent: str, question: str) -> str | None:
        """The question that everything began with: what a delegation left out stands there."""
        return memory.question

    def review(self, memory: Memory, text: str, data: Any) -> Review:
        """Whether every field that is asked for has a value."""
        wanted = memory.show.get("answer_format") or {}
        missing = [name for name in wanted if not isinstance(data, dict) or name not in data]
        if isinstance(data, dict) and data.get("abstain"):
            return Review("partial", "Declined: what is asked for was not found.")
        if missing:
            return Review("partial", f"Missing: {', '.join(missing)}.", (f"Find {', '.join(missing)}.",))
        return Review("accomplished", "Every field has a value.")

    def plan(self, memory: Memory) -> list[Step]:
        """The recipe."""
        return plan(memory.question)


class ModelDecider:
    """A language model decides; what it cannot do, rules do."""

    def __init__(self, models: Models, *, examples: bool, context: int) -> None:
        self._models = models
        self._examples = examples
        self._context = context
        self._rules = RuleDecider()
        self._gave_up = False

    def think(self, memory: Memory) -> Decision:
        """The model's choice."""
        if not self._gave_up:
            try:
                return self._models.object(self._conversation(memory), self._decision(memory))
            except (ModelUnavailable, BadReply):
                self._gave_up = True  # its findings stay in memory; the recipe goes on from its own first step
        return self._rules.think(memory)

    def clarify(self, memory: Memory, agent: str, question: str) -> str | None:
        """The model's answer from question and memory."""
        asked = CLARIFY.format(
            question=memory.question, known=json.dumps(memory.known(), default=str)[:4000], agent=agent, asked=question
        )
        try:
            return self._models.text([{"role": "user", "content": asked}])
        except ModelUnavailable:
            return self._rules.clarify(memory, agent, question)

    def review(self, memory: Memory, text: str, data: Any) -> Review:
        """The rules' review: the same question as the model's answer was chosen by."""
        return self._rules.review(memory, text, data)

    def plan(self, memory: Memory) -> list[Step]:
        """The model's plan, made of what it would delegate."""
        try:
            return self._models.object(
                [
                    {"role": "system", "content": supervisor_prompt(examples=self._examples)},
                    {"role": "user", "content": PLAN_ONLY.format(question=memory.question)},
                ],
                _steps,
            )
        except (ModelUnavailable, BadReply):
            return self._rules.plan(memory)

    def _conversation(self, memory: Memory) -> list[Message]:
        ask = f"Question: {memory.question}\nThe answer's fields: {json.dumps(dict(memory.show), ensure_ascii=False)}"
        messages: list[Message] = [
            {"role": "system", "content": supervisor_prompt(examples=self._examples)},
            {"role": "user", "content": ask},
        ]
        for turn in memory.history:
            if isinstance(turn.decision, ThinkAct):
                words = {"thought": turn.decision.thought, "action": "THINK-ACT", "agent": turn.decision.agent}
                said = json.dumps({**words, "request": Request.read(turn.decision.request).words}, ensure_ascii=False)
                messages.append({"role": "assistant", "content": said})
                messages.append({"role": "user", "content": f"Observation: {turn.observation}"})
        messages += [{"role": "user", "content": f"A reviewer says: {advice}"} for advice in memory.advice]
        return fit(messages, limit=self._context)

    def _decision(self, memory: Memory) -> Callable[[dict[str, Any]], Decision]:
        def check(said: dict[str, Any]) -> Decision:
            thought = str(said.get("thought") or "")
            if str(said.get("action", "")).upper().startswith("FINISH"):
                data = said.get("data")
                return Finish(thought, str(said.get("answer") or ""), data if isinstance(data, dict) else {})
            agent = agent_named(str(said.get("agent") or ""))
            request = str(said.get("request") or "").strip()
            if agent is None or not request:
                raise ValueError("Give an `agent` of the list and a `request`, or the action FINISH.")
            needs = tuple(range(len(memory.reports)))
            known = {**memory.known(), "question": memory.question}
            return ThinkAct(thought, agent, str(Request(request, known)), needs)

        return check


def _steps(said: dict[str, Any]) -> list[Step]:
    """A plan as JSON: agents must be known, and a step follows the one before it unless it says what it needs."""
    found = said.get("steps")
    if not isinstance(found, list) or not found:
        raise ValueError("Give a list `steps`.")
    steps: list[Step] = []
    for position, one in enumerate(found):
        agent = agent_named(str(one.get("agent") or "")) if isinstance(one, dict) else None
        if agent is None or not one.get("instruction"):
            raise ValueError(f"Step {position + 1} needs an `agent` of the list and an `instruction`.")
        needs = one.get("depends_on", [position - 1] if position else [])
        before = tuple(int(number) for number in needs if isinstance(number, int) and 0 <= number < position)
        steps.append(Step(agent, str(one["instruction"]), before))
    return steps
