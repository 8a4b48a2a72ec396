"""Reviews a plan before it is executed: status, reasoning and suggestions as JSON, from which the planner learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from plan_text import format_plan
from planner import Planner
from prompts import REVIEWER

from gauntlet_agent.assetops import Review, Step, Trajectory
from gauntlet_agent.assetops.planning import Phrases
from gauntlet_agent.assetops.reading import Reading, plain
from gauntlet_agent.assetops.roster import AGENTS
from gauntlet_agent.models import BadReply, Models, ModelUnavailable

MOST_STEPS: Final = 12
_STATUS: Final = {
    "approved": "accomplished",
    "accept": "accomplished",
    "accepted": "accomplished",
    "ok": "accomplished",
}


class Reviewer(Protocol):
    """Judges a plan."""

    def review(self, question: str, steps: Sequence[Step]) -> Review:
        """Whether the plan will do, why not, and what to change."""


class RuleReviewer:
    """What can be said of a plan without understanding it."""

    def review(self, question: str, steps: Sequence[Step]) -> Review:
        """Too long or empty, agents that do not exist, dependencies that are none, assets that nobody looks at."""
        found: list[str] = []
        if not steps:
            found.append("The plan has no steps.")
        if len(steps) > MOST_STEPS:
            found.append(f"The plan has {len(steps)} steps; fewer than 5 mostly do.")
        for number, step in enumerate(steps, start=1):
            if step.agent not in AGENTS:
                found.append(f"Step {number}: there is no agent {step.agent}.")
            if any(other >= number - 1 or other < 0 for other in step.depends_on):
                found.append(f"Step {number} depends on a step that is not before it.")
        said = plain(" ".join(step.task for step in steps))
        found += [
            f"No step is about {name}." for name in Phrases(Reading(question)).machines if plain(name) not in said
        ]
        if found:
            return Review("failed", " ".join(found), tuple(found))
        return Review("accomplished", "Agents, dependencies and assets are right.")


class ModelReviewer:
    """A language model reviews what the rules let pass."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._rules = RuleReviewer()

    def review(self, question: str, steps: Sequence[Step]) -> Review:
        """The rules' findings, else the model's; where it cannot say, the plan passes."""
        first = self._rules.review(question, steps)
        if first.status == "failed":
            return first
        asked = REVIEWER.format(question=question, plan=format_plan(steps))
        try:
            return self._models.object([{"role": "user", "content": asked}], _review)
        except (ModelUnavailable, BadReply):
            return first


def reviewed_plan(
    question: str, planner: Planner, reviewer: Reviewer, *, retries: int, record: Trajectory
) -> list[Step]:
    """Plan, review, and plan again with the findings, at most so many times; the last plan is taken as it is."""
    steps = planner.plan(question)
    record.add("plan", "done", observation=f"{len(steps)} steps")
    for _ in range(retries):
        review = reviewer.review(question, steps)
        record.review = review.as_json()
        record.add("review", "done", observation=f"{review.status}: {review.reasoning}"[:300])
        if review.status == "accomplished":
            break
        again = planner.plan(question, before=steps, findings=review.suggestions or (review.reasoning,))
        if again == steps:
            break  # it has nothing better
        steps = again
        record.add("plan", "done", observation=f"{len(steps)} steps, after the review")
    return steps


def _review(said: dict[str, Any]) -> Review:
    status = str(said.get("status") or "").strip().casefold()
    status = _STATUS.get(status, "failed" if status in ("rejected", "failed", "revise") else status)
    if status not in ("accomplished", "failed", "partial"):
        raise ValueError('`status` must be "approved" or "rejected".')
    suggestions = said.get("suggestions") or []
    listed = [suggestions] if isinstance(suggestions, str) else suggestions if isinstance(suggestions, list) else []
    return Review(status, str(said.get("reasoning") or ""), tuple(str(one) for one in listed))  # type: ignore[arg-type]
