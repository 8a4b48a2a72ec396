"""A phase with language models, and prices for them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from pydantic import SecretStr

from gauntlet_runtime.metering import ModelBudget, ModelOffer, ModelSpec, Reservation

if TYPE_CHECKING:
    from gauntlet.competitions.models import Phase

LLM: dict[str, Any] = {
    "provider": "ours",
    "models": ["small"],
    "per_episode": {"tokens": 1000},
    "per_evaluation": {"tokens": 5000, "cost": "0.5"},
    "cache": True,
}


@pytest.fixture(autouse=True)
def offered(settings: Any) -> None:
    """The operator's provider and prices."""
    from gauntlet.metering.configuration import Price, Provider

    settings.MODEL_PROVIDERS = {"ours": Provider(url="http://127.0.0.1:9/v1", key=SecretStr("sk-operators-key"))}
    settings.MODEL_PRICES = {"small": Price.model_validate({"in": "0.15", "out": "0.6"})}


@pytest.fixture
def llm_phase(make_phase: Callable[..., Phase]) -> Callable[..., Phase]:
    """Make a phase with models; ``llm`` changes what its key says."""

    def make(llm: dict[str, Any] | None = None, **fields: Any) -> Phase:
        return make_phase(llm={**LLM, **(llm or {})}, **fields)

    return make


@pytest.fixture
def model_budget() -> Callable[..., ModelSpec]:
    """A spec with this budget for the evaluation."""

    def make(*, tokens: int | None = None, cost: Decimal | None = None, **fields: Any) -> ModelSpec:
        budget = ModelBudget(tokens=tokens, cost=cost)
        return ModelSpec(provider="ours", models=[ModelOffer(name="small")], per_evaluation=budget, **fields)

    return make


@pytest.fixture
def wanted() -> Callable[..., Reservation]:
    """A reservation that was not asked for yet."""

    def make(tokens: int, cost: str = "0") -> Reservation:
        return Reservation(id=str(uuid4()), tokens=tokens, cost=Decimal(cost))

    return make
