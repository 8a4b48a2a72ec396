"""The beginning and the end of an episode, which both kits have in common: a workplace, and a safe answer.

Nothing is sent from here; a kit's `solver.py` returns what these functions make.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gauntlet_agent.assetops.composing import ABSTAIN, compose, in_words
from gauntlet_agent.assetops.desk import Workplace
from gauntlet_agent.assetops.guardrails import Candidate, choose, clean
from gauntlet_agent.assetops.planning import Step
from gauntlet_agent.assetops.report import Report
from gauntlet_agent.assetops.settings import Settings
from gauntlet_agent.episode import Episode
from gauntlet_agent.models import Models

Answer = tuple[str, Any]
RESERVE_SECONDS: Final = 5.0  # of an episode, that are kept for its answer
NOTHING_FOUND: Final = "Nothing was found that answers this."


def open_workplace(episode: Episode, settings: Settings) -> Workplace:
    """A workplace with the episode's tools, and with the model where the settings name one."""
    models = Models(episode, settings.model, max_tokens=settings.max_tokens) if settings.uses_model else None
    return Workplace(
        episode=episode,
        offered=episode.tools(),
        models=models,
        parent_answers=settings.agent_ask,
    )


def is_planning(place: Workplace) -> bool:
    """Whether only a plan is wanted: the planning track offers no tools."""
    return not place.offered


def plan_as_answer(steps: Sequence[Step], text: str) -> Answer:
    """What the planning track is answered with, beside the plan that was declared."""
    return text, {"plan": [step.as_plan() for step in steps]}


def by_rules(show: Mapping[str, Any], reports: Sequence[Report]) -> Candidate:
    """The answer that the reports hold: composed by name, or a refusal where a step failed and something is missing."""
    good = [report for report in reports if report.review.status != "failed"]
    bad = [report for report in reports if report.review.status == "failed"]
    data = compose(show, [report.facts for report in good])
    wanted = show.get("answer_format")
    missing = [name for name in wanted if name not in data] if isinstance(wanted, Mapping) else []
    if bad and (missing or not good):
        return refusal(bad[0].text)
    if not data and not good:
        return refusal(NOTHING_FOUND)
    return Candidate("rules", f"{good[-1].text} {in_words(data)}".strip() if good else in_words(data), data)


def refusal(reason: str) -> Candidate:
    """An answer that declines, with the reason."""
    return Candidate("rules", f"The records cannot answer this: {reason}", ABSTAIN)


def final_answer(show: Mapping[str, Any], candidates: Sequence[Candidate]) -> tuple[Answer, str]:
    """The best candidate, cleaned, as what `solve` returns, and who made it."""
    best = choose(candidates, show) or refusal(NOTHING_FOUND)
    data = dict(best.data)
    if isinstance(show.get("answer_format"), Mapping) and not ABSTAIN.items() <= data.items():
        data = {name: value for name, value in data.items() if name in show["answer_format"]}
    return (clean(best.text) or json.dumps(data), data or None), best.source
