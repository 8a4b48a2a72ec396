"""A phase's language models: which ones, from which provider, and what may be used of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.conf import settings

from gauntlet.competitions.bundle.document import Section, Value
from gauntlet.competitions.bundle.findings import suggestion

_NAME: Final = 200
MOST_CONCURRENCY: Final = 32  # as many requests and answers fit into a gateway's memory
_MOST_RATE: Final = 100_000
_MOST_TOKENS: Final = 10**12
_MOST_COST: Final = Decimal(10) ** 9
_DIGITS: Final = 12


def read_llm(phase: Section) -> dict[str, Any] | None:
    """The key ``llm`` of a phase as it is stored, or None where the phase offers no models.

    Stored are plain JSON values; amounts of money are texts, as decimals.
    """
    section = phase.section("llm")
    if section is None:
        return None
    models = _models(section)
    embeddings = _names(section, "embeddings", taken=models)
    provider = read_provider(section, use="models come from")
    llm: dict[str, Any] = {
        "provider": provider,
        "models": list(models),
        "per_episode": _budget(section, "per_episode"),
        "per_evaluation": _budget(section, "per_evaluation"),
        "cache": section.flag("cache", default=False),
    }
    if embeddings:
        llm["embeddings"] = list(embeddings)
    if shared := _budget(section, "per_submission"):
        llm["per_submission"] = shared
    most = settings.MODEL_MAX_TOKENS
    for key, most_of_it in (("rate", _MOST_RATE), ("concurrency", MOST_CONCURRENCY), ("max_tokens", most)):
        if (value := section.get(key)) is not None:
            llm[key] = value.integer(least=1, most=most_of_it)
    budgets = {**llm["per_episode"], **llm["per_evaluation"], **shared}
    if not budgets:
        message = (
            "must say what an agent may use: `per_episode`, `per_evaluation` or `per_submission`, with `tokens`, "
            "`cost` or both."
        )
        section.findings.error(section.where("per_episode"), message)
    elif "cost" in budgets:
        check_prices({**models, **embeddings}, provider=provider)
    section.close()
    return llm


def _models(section: Section) -> dict[str, Value]:
    """The names of the models that chat, and where each is written."""
    before = len(section.findings.errors)
    names = _names(section, "models", taken={}) if section.needed("models") else {}
    if not names and len(section.findings.errors) == before:
        section.findings.error(section.where("models"), "must name at least one model.")
    return names


def _names(section: Section, key: str, *, taken: Mapping[str, Value]) -> dict[str, Value]:
    names: dict[str, Value] = {}
    for value in section.values(key):
        name = value.text(longest=_NAME)
        if name in names or name in taken:
            section.findings.error(value.place, f"names the model {name!r} twice.")
        elif name == "":
            section.findings.error(value.place, "must name a model.")
        elif name is not None:
            names[name] = value
    return names


def read_provider(section: Section, *, use: str) -> str:
    """The provider's name; without one it is the operator's, where there is exactly one."""
    known = sorted(settings.MODEL_PROVIDERS)
    value = section.get("provider")
    if value is None:
        if len(known) == 1:
            return known[0]
        message = f"is missing: name the provider that the {use}."
        section.findings.error(section.where("provider"), message, allowed=known)
        return ""
    name = value.text(longest=64) or ""
    if name not in known:
        message = (
            f"the operator has set no provider {name!r}.{suggestion(name, known)} If it is your own, have it set "
            "for this competition (`manage.py set_model_provider`) before agents are run or judged."
        )
        section.findings.warning(value.place, message, allowed=known)
    return name


def _budget(section: Section, key: str) -> dict[str, Any]:
    """Tokens and cost, each where it is written."""
    budget: dict[str, Any] = {}
    inner = section.section(key)
    if inner is None:
        return budget
    if (tokens := inner.get("tokens")) is not None:
        budget["tokens"] = tokens.integer(least=1, most=_MOST_TOKENS)
    if (cost := inner.get("cost")) is not None:
        budget["cost"] = read_amount(cost)
    inner.close()
    return budget


def read_amount(value: Value) -> str | None:
    """An amount of money as a decimal text; None, with a finding, where it is none."""
    allowed = ["an amount such as 0.50"]
    try:
        amount = Decimal(value.scalar or "")
    except InvalidOperation:
        amount = Decimal("nan")
    if not amount.is_finite() or not 0 < amount <= _MOST_COST or amount != round(amount, _DIGITS):
        text = (value.scalar or "")[:40]
        value.findings.error(value.place, f"must be an amount of money above 0, not {text!r}.", allowed=allowed)
        return None
    return f"{amount.normalize():f}"


def check_prices(models: dict[str, Value], *, provider: str) -> None:
    """A budget of cost counts nothing where a model has no price."""
    prices = settings.MODEL_PRICES
    for name, value in models.items():
        if name not in prices and f"{provider}/{name}" not in prices:
            message = f"a budget of cost needs the price of {name!r}, which the operator has not set (MODEL_PRICES)."
            value.findings.error(value.place, f"{message}{suggestion(name, prices)}", allowed=sorted(prices))
