"""A task's judge: the language model that its scoring programs may ask, and what may be spent on it."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings

from gauntlet.competitions.bundle.document import Section, Value
from gauntlet.competitions.bundle.llm import MOST_CONCURRENCY, check_prices, read_amount, read_provider
from gauntlet_scoring.rubric import JUDGES

_NAME: Final = 200
_MOST_RUNS: Final = 25
_MOST_TOKENS: Final = 10**12
_HOTTEST: Final = 2.0


def read_judge(task: Section) -> dict[str, Any] | None:
    """The key ``judge`` of a task as it is stored, or None where no language model judges.

    Stored are plain JSON values; the budget of cost is a text, as a decimal.
    """
    section = task.section("judge")
    if section is None:
        return None
    named = section.needed("model")
    judge: dict[str, Any] = {
        "model": (named.text(longest=_NAME) or "") if named else "",
        "provider": read_provider(section, use="judge comes from"),
        "runs": section.integer("runs", default=5, least=1, most=_MOST_RUNS),
        "temperature": _temperature(section),
        "concurrency": section.integer(
            "concurrency", default=settings.MODEL_CONCURRENCY, least=1, most=MOST_CONCURRENCY
        ),
    }
    if section.choice("rubric", JUDGES, default="llm") == "checks":
        judge["rubric"] = "checks"
    if named and not judge["model"]:
        section.findings.error(named.place, "must name a model.")
    _read_budget(section, judge, named)
    section.close()
    return judge


def _read_budget(section: Section, judge: dict[str, Any], named: Value | None) -> None:
    if (cost := section.get("cost_budget")) is not None:
        judge["cost_budget"] = read_amount(cost)
        if named and judge["model"]:
            check_prices({judge["model"]: named}, provider=judge["provider"])
    if (tokens := section.get("token_budget")) is not None:
        judge["token_budget"] = tokens.integer(least=1, most=_MOST_TOKENS)
    if cost is None and tokens is None:
        message = "must say what judging one evaluation may use: `cost_budget` (money), `token_budget`, or both."
        section.findings.error(section.where("cost_budget"), message)


def _temperature(section: Section) -> float:
    value = section.get("temperature")
    number = value.number() if value else 0.3
    if value and number is not None and not 0 <= number <= _HOTTEST:
        value.findings.error(value.place, f"is {number:g}.", allowed=[f"0 to {_HOTTEST:g}"])
    return 0.3 if number is None else number
