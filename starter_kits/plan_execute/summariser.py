"""Makes the answer of what the steps found: composed by name, and told by the model where there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from prompts import SUMMARY

from gauntlet_agent.assetops import Report, Step
from gauntlet_agent.assetops.answering import Answer, by_rules, final_answer
from gauntlet_agent.assetops.guardrails import Candidate, compress
from gauntlet_agent.models import BadReply, Models, ModelUnavailable


def summarise(
    question: str, show: Mapping[str, Any], steps: Sequence[Step], reports: Sequence[Report], models: Models | None
) -> tuple[Answer, str]:
    """The answer, and who made it."""
    candidates = [by_rules(show, reports)]
    if models is not None:
        told = _by_model(question, show, steps=steps, reports=reports, models=models)
        candidates = [told, *candidates] if told is not None else candidates
    return final_answer(show, candidates)


def _by_model(
    question: str, show: Mapping[str, Any], *, steps: Sequence[Step], reports: Sequence[Report], models: Models
) -> Candidate | None:
    results = "\n".join(
        f"{number}. {step.task}\n   {report.review.status}: {compress(report.answer, limit=2000)}"
        for number, (step, report) in enumerate(zip(steps, reports, strict=True), start=1)
    )
    asked = SUMMARY.format(question=question, fields=json.dumps(dict(show), ensure_ascii=False), results=results)

    def check(said: dict[str, Any]) -> Candidate:
        data = said.get("data")
        if not isinstance(data, dict) or not isinstance(said.get("answer"), str):
            raise ValueError("Give `answer` as text and `data` as an object.")
        return Candidate("model", said["answer"], data)

    try:
        return models.object([{"role": "user", "content": asked}], check)
    except (ModelUnavailable, BadReply):
        return None
