"""Reads of metered models: which provider a competition's models come from, and what a phase offers."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.db.models import Sum

from gauntlet.competitions.models import Competition
from gauntlet.metering.configuration import Price
from gauntlet.metering.models import KeptAnswer, ModelProvider
from gauntlet.metering.sealing import WrongSecret, unseal
from gauntlet.storage.services import copy_to
from gauntlet_runtime.metering import JudgeSpec, ModelAccess, ModelBudget, ModelOffer, ModelPatience, ModelSpec


def model_access(competition: Competition, provider: str) -> ModelAccess | None:
    """A provider's address and key: the competition's own, else the operator's where it may be used; else None.

    Raises:
        WrongSecret: the competition's key was sealed under another secret.
    """
    own = ModelProvider.objects.filter(competition=competition, name=provider).first()
    if own is not None:
        return ModelAccess(
            url=own.url,
            key=unseal(own.sealed_key),
            limit_field=own.limit_field,
            set_by="operator" if own.trusted else "organizer",
            public_only=not own.trusted,
        )
    if not _is_operators(competition, provider):
        return None
    operators = settings.MODEL_PROVIDERS[provider]
    return ModelAccess(url=operators.url, key=operators.key, limit_field=operators.limit_field)


def who_set(provider: str, *, submission: UUID) -> Literal["organizer", "operator"] | None:
    """Whose the provider is that a submission's competition uses; None where it is set by nobody. Reads no key."""
    return _who_set(Competition.objects.get(phases__submissions=submission), provider)


def _who_set(competition: Competition, provider: str) -> Literal["organizer", "operator"] | None:
    trusted = ModelProvider.objects.filter(competition=competition, name=provider).values_list("trusted", flat=True)
    for by_operator in trusted:
        return "operator" if by_operator else "organizer"
    return "operator" if _is_operators(competition, provider) else None


def _is_operators(competition: Competition, provider: str) -> bool:
    operators = settings.MODEL_PROVIDERS.get(provider)
    return operators is not None and (operators.competitions is None or competition.slug in operators.competitions)


def providers_of(competition: Competition) -> list[ModelProvider]:
    """The providers that were set for a competition, by name; a page shows everything of them but the key."""
    return list(ModelProvider.objects.filter(competition=competition).defer("sealed_key").order_by("name"))


def wanted_providers(competition: Competition) -> list[str]:
    """The providers that a competition's phases and judges name and that can be used by nobody yet."""
    named = {phase.llm["provider"] for phase in competition.phases.all() if phase.llm}
    named |= {task.judge["provider"] for task in competition.tasks.all() if task.judge}
    return sorted(name for name in named if _who_set(competition, name) is None)


def unreadable_providers(competition: Competition) -> list[str]:
    """The providers whose key was sealed under another secret, by name: it has to be given anew."""
    own = ModelProvider.objects.filter(competition=competition).order_by("name")
    return [provider.name for provider in own if not is_readable(provider)]


def is_readable(provider: ModelProvider) -> bool:
    """Whether this installation's secret opens a provider's key."""
    try:
        unseal(provider.sealed_key)
    except WrongSecret:
        return False
    return True


def model_price(provider: str, model: str) -> Price | None:
    """What a model costs; None where the operator has set no price."""
    prices: dict[str, Price] = settings.MODEL_PRICES
    return prices.get(f"{provider}/{model}", prices.get(model))


def model_spec(llm: dict[str, Any]) -> ModelSpec:
    """What a phase's key `llm` means for a run job, at today's prices."""
    provider = llm["provider"]
    return ModelSpec(
        provider=provider,
        models=[
            *(_offer(provider, name) for name in llm["models"]),
            *(_offer(provider, name, embeds=True) for name in llm.get("embeddings", [])),
        ],
        per_episode=ModelBudget(**llm.get("per_episode", {})),
        per_evaluation=ModelBudget(**llm.get("per_evaluation", {})),
        per_submission=ModelBudget(**llm.get("per_submission", {})),
        calls_per_minute=llm.get("rate"),
        concurrency=llm.get("concurrency", settings.MODEL_CONCURRENCY),
        cache=llm.get("cache", False),
        max_tokens=min(llm.get("max_tokens", settings.MODEL_MAX_TOKENS), settings.MODEL_MAX_TOKENS),
        patience=_patience(),
    )


def judge_spec(judge: dict[str, Any]) -> JudgeSpec:
    """What a task's key `judge` means for a score job, at today's prices. Its answers are always kept."""
    provider = judge["provider"]
    return JudgeSpec(
        models=ModelSpec(
            provider=provider,
            models=[_offer(provider, judge["model"])],
            per_evaluation=ModelBudget(tokens=judge.get("token_budget"), cost=judge.get("cost_budget")),
            concurrency=judge["concurrency"],
            cache=True,
            max_tokens=settings.MODEL_MAX_TOKENS,
            patience=_patience(),
        ),
        runs=judge["runs"],
        temperature=judge["temperature"],
        rubric=judge.get("rubric", "llm"),
    )


def _patience() -> ModelPatience:
    return ModelPatience(
        call_seconds=settings.MODEL_CALL_SECONDS,
        tries=settings.MODEL_TRIES,
        backoff_seconds=settings.MODEL_BACKOFF_SECONDS,
    )


def _offer(provider: str, name: str, *, embeds: bool = False) -> ModelOffer:
    price = model_price(provider, name)
    nothing = Decimal(0)
    return ModelOffer(
        name=name,
        embeds=embeds,
        price_in=price.tokens_in if price else nothing,
        price_out=price.tokens_out if price else nothing,
    )


def kept_bytes(scope: UUID) -> int:
    """How large a submission's kept answers are together."""
    return KeptAnswer.objects.filter(scope=scope).aggregate(size=Sum("answer__size"))["size"] or 0


def find_answer(*, scope: UUID, key: str, into: Path) -> bool:
    """Put a kept answer into the new file ``into``; False where there is none."""
    kept = KeptAnswer.objects.filter(scope=scope, key=key).select_related("answer").first()
    if kept is not None:
        copy_to(kept.answer, into)
    return kept is not None
