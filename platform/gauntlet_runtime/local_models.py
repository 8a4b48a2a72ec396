"""`gauntlet test` with language models: the participant's own provider, and the budgets of the competition's phase."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr, ValidationError

from gauntlet_runtime.metering import (
    ModelAccess,
    ModelBudget,
    ModelOffer,
    ModelSpec,
    ModelSupply,
    Refusal,
    Reservation,
    Settlement,
    Shortage,
)

URL: Final = "GAUNTLET_MODEL_URL"  # environment variables: where the provider is, and what it wants
KEY: Final = "GAUNTLET_MODEL_KEY"


class OwnProvider(ModelSupply):
    """A provider of one's own: nothing is kept, and the budget of tokens is that of this run."""

    def __init__(self, access: ModelAccess, budget: ModelBudget) -> None:
        self._access = access
        self._limit = budget.tokens
        self._held: dict[str, int] = {}
        self._used = 0

    def access(self) -> ModelAccess | None:
        """The provider's address and key."""
        return self._access

    def reserve(self, reservation: Reservation) -> Refusal | None:
        """Hold what a call can use at most."""
        used = self._used + sum(self._held.values())
        if self._limit is not None and used + reservation.tokens > self._limit:
            return Refusal(shortage=Shortage.TOKENS, limit=str(self._limit), used=str(used))
        self._held[reservation.id] = reservation.tokens
        return None

    def settle(self, settlement: Settlement) -> None:
        """Count what a call used."""
        if self._held.pop(settlement.id, None) is not None:
            self._used += settlement.tokens

    def find_answer(self, key: str, into: Path) -> bool:
        """Nothing is kept."""
        return False

    def keep_answer(self, key: str, answer: Path) -> None:
        """Nothing is kept."""


def own_models(content: dict[str, Any]) -> tuple[ModelSpec, ModelSupply] | None:
    """The models of the first phase that offers some, from the provider that this environment names; None without one.

    Prices are the operator's affair: budgets of cost have no effect here.
    """
    url = os.environ.get(URL)
    phases = content.get("phases")
    found = [p["llm"] for p in phases if isinstance(p, dict) and p.get("llm")] if isinstance(phases, list) else []
    if not url or not found or not isinstance(found[0], dict):
        return None
    llm = found[0]
    try:
        spec = ModelSpec(
            provider=str(llm.get("provider") or "own"),
            models=[
                ModelOffer(name=str(name), embeds=key == "embeddings")
                for key in ("models", "embeddings")
                for name in llm.get(key) or []
            ],
            per_episode=_budget(llm.get("per_episode")),
            per_evaluation=_budget(llm.get("per_evaluation")),
            calls_per_minute=llm.get("rate"),
            **{key: llm[key] for key in ("concurrency", "max_tokens") if llm.get(key)},
        )
    except (ValidationError, TypeError):  # the competition's own check says what is wrong with it
        return None
    access = ModelAccess(url=url, key=SecretStr(os.environ.get(KEY, "")))
    return spec, OwnProvider(access, spec.per_evaluation)


def _budget(given: Any) -> ModelBudget:
    given = given if isinstance(given, dict) else {}
    cost = given.get("cost")
    return ModelBudget(tokens=given.get("tokens"), cost=None if cost is None else Decimal(str(cost)))
