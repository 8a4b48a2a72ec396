"""The trajectory record that an agent keeps of itself (A27): question, time, number of steps, review, and each step.

It goes into the episode's notes, where readers of the platform's own record find it, and to the log at home.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from gauntlet_agent.assetops.desk import Workplace

_LONGEST: Final = 8000  # characters of one note


@dataclass(frozen=True)
class RecordedStep:
    """One step.

    Attributes:
        action: the kind: "plan", "review", "delegate", "finish", "summarise", "fallback"
        state: what came of it: "done", "failed", "skipped"
    """

    number: int
    action: str
    state: str
    agent: str = ""
    request: str = ""
    observation: str = ""
    seconds: float = 0.0


@dataclass
class Trajectory:
    """What an agent did with one question."""

    question: str
    paradigm: str
    started: float = field(default_factory=time.monotonic)
    steps: list[RecordedStep] = field(default_factory=list)
    review: Mapping[str, Any] = field(default_factory=dict)

    def add(self, action: str, state: str, **details: Any) -> RecordedStep:
        """Append a step; it is numbered by its place."""
        step = RecordedStep(len(self.steps) + 1, action, state, **details)
        self.steps.append(step)
        return step

    def as_json(self, place: Workplace | None = None) -> dict[str, Any]:
        """The whole record; with a workplace also the tool calls and the questions between agents."""
        record: dict[str, Any] = {
            "question": self.question,
            "paradigm": self.paradigm,
            "execution_seconds": round(time.monotonic() - self.started, 3),
            "number_of_steps": len(self.steps),
            "review_status": self.review.get("status", "not reviewed"),
            "review": dict(self.review),
            "steps": [asdict(step) for step in self.steps],
        }
        if place is not None:
            record["tool_calls"] = [asdict(use) for use in place.uses]
            record["agent_asks"] = [{"agent": a, "question": q, "answer": b} for a, q, b in place.asked]
        return record

    def note(self, place: Workplace) -> str:
        """The record as one note; without observations where it would be too long."""
        record = self.as_json(place)
        text = json.dumps(record, ensure_ascii=False, default=str)
        if len(text) <= _LONGEST:
            return text
        for step in record["steps"]:
            step["observation"] = step["observation"][:80]
        record["tool_calls"] = [f"{use['tool']}: {use['state']}" for use in record["tool_calls"]]
        return json.dumps(record, ensure_ascii=False, default=str)[:_LONGEST]
