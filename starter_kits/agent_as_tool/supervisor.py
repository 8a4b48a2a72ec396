"""The supervisor's loop (AssetOpsBench, algorithm 1): think, delegate to a sub-agent, observe, until it is done.

Bounded by T_max. Each turn thinks and acts, or finishes; an observation is compressed, logged to the history and put
into memory. With more than one reflection an answer that its review rejects is made again with the review's advice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deciders import Decider
from memory import Finish, Memory, ThinkAct, Turn
from stubs import Stub

from gauntlet_agent.assetops import Report, Step, SubAgent, Trajectory, Workplace
from gauntlet_agent.assetops.answering import RESERVE_SECONDS, Answer, by_rules, final_answer
from gauntlet_agent.assetops.guardrails import Candidate


@dataclass(frozen=True)
class Outcome:
    """What the loop returns: the final output O, the plan Π and the history H."""

    answer: Answer
    plan: list[Step]
    history: list[Turn]


class Supervisor:
    """One supervisor for one question."""

    def __init__(
        self, place: Workplace, team: Mapping[str, SubAgent], decider: Decider, *, max_steps: int, reflections: int = 1
    ) -> None:
        self._place = place
        self._decider = decider
        self._max_steps = max_steps
        self._reflections = reflections
        self._memory: Memory | None = None
        self._stubs = {name: Stub(agent, place, self._clarify) for name, agent in team.items()}

    def solve(self, question: str, show: Mapping[str, Any], record: Trajectory) -> Outcome:
        """Work on a question until it is answered, given up, or T_max is reached."""
        memory = self._memory = Memory(question, show)
        for round_ in range(self._reflections):
            finish = self._loop(memory, record)
            own = [Candidate("model", finish.answer, finish.data)] if finish.answer or finish.data else []
            (text, data), source = final_answer(show, [*own, by_rules(show, memory.reports)])
            review = self._decider.review(memory, text, data)
            record.review = review.as_json()
            record.add("review", "done", observation=f"{review.status} ({source}): {review.reasoning}"[:300])
            if review.status == "accomplished" or round_ + 1 == self._reflections:
                break
            memory.advice += review.suggestions or (review.reasoning,)
        return Outcome((text, data), memory.plan, memory.history)

    def _loop(self, memory: Memory, record: Trajectory) -> Finish:
        for _ in range(self._max_steps):
            if getattr(self._place.episode, "seconds_left", float("inf")) < RESERVE_SECONDS:
                return self._end(memory, record, Finish("The time is nearly up."))
            decision = self._decider.think(memory)
            if isinstance(decision, Finish):
                return self._end(memory, record, decision)
            self._delegate(memory, record, decision)
        return self._end(memory, record, Finish(f"T_max is reached: {self._max_steps} steps."))

    def _end(self, memory: Memory, record: Trajectory, finish: Finish) -> Finish:
        memory.close(finish)
        record.add("finish", "done", observation=finish.thought[:300])
        return finish

    def _delegate(self, memory: Memory, record: Trajectory, decision: ThinkAct) -> None:
        started = time.monotonic()
        stub = self._stubs.get(decision.agent)
        if stub is None:
            report = Report.failed(f"There is no agent {decision.agent}.", f"Choose one of {', '.join(self._stubs)}.")
        else:
            stub(decision.request)
            report = stub.report or Report.failed("The agent came back with nothing.")
        turn = memory.remember(decision, report)
        record.add(
            "delegate",
            "failed" if report.review.status == "failed" else "done",
            agent=decision.agent,
            request=memory.plan[-1].task,
            observation=turn.observation,
            seconds=round(time.monotonic() - started, 4),
        )

    def _clarify(self, agent: str, question: str) -> str | None:
        """Answer what a sub-agent asks, from the question and from memory."""
        return self._decider.clarify(self._memory, agent, question) if self._memory is not None else None
