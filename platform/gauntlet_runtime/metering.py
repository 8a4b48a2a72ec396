"""What a run job may use of language models, and where it asks before it does: data and one interface.

The key of a provider is in :class:`ModelAccess` alone. It travels from the source to the supervisor in memory and on to
the gateway over their socket; it is in no spec, no file and no log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

MILLION: Final = Decimal(1_000_000)
LIMIT_FIELDS: Final = ("max_completion_tokens", "max_tokens")  # what requests call the limit of an answer


def money(amount: Decimal | None) -> str:
    """An amount without an exponent and without zeros at its end."""
    return f"{amount.normalize():f}" if amount else "0"


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelOffer(_Message):
    """A model that an agent may call, with its prices for a million tokens; without prices it costs nothing."""

    name: str
    embeds: bool = False  # it makes embeddings, and does not chat
    price_in: Decimal = Decimal(0)
    price_out: Decimal = Decimal(0)

    def cost(self, *, tokens_in: int, tokens_out: int) -> Decimal:
        """What so many tokens cost, in the currency of the prices."""
        return (self.price_in * tokens_in + self.price_out * tokens_out) / MILLION


class ModelBudget(_Message):
    """At most so much; None is no limit."""

    tokens: int | None = Field(default=None, ge=0)
    cost: Decimal | None = Field(default=None, ge=0)


class ModelPatience(_Message):
    """How long a provider is waited for, and how often it is asked."""

    call_seconds: float = 180.0  # of one try
    tries: int = 4
    backoff_seconds: float = 1.0  # before the second try; doubled before each further one
    longest_backoff_seconds: float = 60.0  # whatever the provider's Retry-After says


class ModelSpec(_Message):
    """The language models of a run job."""

    provider: str
    models: list[ModelOffer]
    per_episode: ModelBudget = ModelBudget()
    per_evaluation: ModelBudget = ModelBudget()  # shared by all run jobs of the evaluation
    per_submission: ModelBudget = ModelBudget()  # shared by the evaluations of all of a submission's tasks
    calls_per_minute: int | None = None  # of the submission, in all of its tasks
    concurrency: int = 8  # calls under way at once, of the submission
    cache: bool = False  # the same request, at the same place of the same scenario and trial, gets the same answer
    max_tokens: int = 4096  # of an answer: taken where a request names none, and the most that one may ask for
    patience: ModelPatience = ModelPatience()

    def offer(self, name: object) -> ModelOffer | None:
        """The model of this name, if agents may call it."""
        return next((offer for offer in self.models if offer.name == name), None)


class JudgeSpec(_Message):
    """The language model that judges, and how: for the scoring programs of a job."""

    models: ModelSpec  # exactly one, its budget per evaluation
    runs: int = 5
    temperature: float = 0.3
    rubric: Literal["llm", "checks"] = "llm"  # who judges the rubric's criteria; other programs may ask it all the same

    @property
    def model(self) -> str:
        """The judge's name."""
        return self.models.models[0].name


class ModelAccess(_Message):
    """Where a provider is, and the key that it wants. Never written down anywhere."""

    url: str  # up to and with the version, such as https://api.example.org/v1
    key: SecretStr = SecretStr("")
    limit_field: str = "max_tokens"  # what the provider calls the limit of an answer
    set_by: Literal["organizer", "operator"] = "operator"  # who has to act where the provider does not take the key
    public_only: bool = False  # its address must be a public one: it was set by somebody who runs no host of ours


class Reservation(_Message):
    """The most that a call can use, asked for before it is made. The same id counts once."""

    id: str
    tokens: int
    cost: Decimal


class Settlement(_Message):
    """What a call used of its reservation. The same id counts once."""

    id: str
    tokens: int
    cost: Decimal
    paid: bool  # False for an answer from the cache: it counts against the budget and cost nobody anything


class Shortage(StrEnum):
    """Why a call may not be made now."""

    TOKENS = "tokens"
    COST = "cost"
    RATE = "rate"
    CONCURRENCY = "concurrency"
    UNAVAILABLE = "unavailable"  # the platform could not be asked


class Refusal(_Message):
    """Why a reservation was not made: a budget's limit and what is used of it, or when to try again.

    Both where a budget would do if the calls under way had used nothing: when they are over, more of it may be left.
    """

    shortage: Shortage
    limit: str = ""
    used: str = ""
    whose: Literal["evaluation", "submission"] = "evaluation"  # which budget it is
    retry_after: float | None = None


class ModelSupply(ABC):
    """Where a run job gets its models from. Called from one thread; everything but `access` may raise LeaseLost."""

    @abstractmethod
    def access(self) -> ModelAccess | None:
        """The provider's address and key; None where the provider that the spec names is not set."""

    @abstractmethod
    def reserve(self, reservation: Reservation) -> Refusal | None:
        """Hold what a call can use at most against the evaluation's budget, or say why not."""

    @abstractmethod
    def settle(self, settlement: Settlement) -> None:
        """Give back what a call did not use."""

    @abstractmethod
    def find_answer(self, key: str, into: Path) -> bool:
        """Put the kept answer to this request into the new file ``into``; False where there is none."""

    @abstractmethod
    def keep_answer(self, key: str, answer: Path) -> None:
        """Keep the answer to this request; the first one stays."""

    def close(self) -> None:  # noqa: B027 - not every supply has something to let go of
        """Nothing more will be asked from the thread that calls this."""


class NoModels(ModelSupply):
    """The supply of a job without models."""

    def access(self) -> ModelAccess | None:
        """There is none."""
        return None

    def reserve(self, reservation: Reservation) -> Refusal | None:
        """Nothing can be had."""
        return Refusal(shortage=Shortage.UNAVAILABLE)

    def settle(self, settlement: Settlement) -> None:
        """Nothing was reserved."""

    def find_answer(self, key: str, into: Path) -> bool:
        """Nothing is kept."""
        return False

    def keep_answer(self, key: str, answer: Path) -> None:
        """Nothing is kept."""
