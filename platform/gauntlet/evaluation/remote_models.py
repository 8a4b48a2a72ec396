"""Language models of jobs in the hands of own queues' workers: the organizer's key alone is given out."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from gauntlet.evaluation.errors import KeyUnreadable, MessageRefused, NoModelsHere
from gauntlet.evaluation.job_models import DatabaseModels, models_of_job
from gauntlet.evaluation.models import Job
from gauntlet.metering.sealing import WrongSecret
from gauntlet.metering.selectors import kept_bytes, who_set
from gauntlet_runtime.jobs import Claim, Failure, RunResult, RunSpec, ScoreResult
from gauntlet_runtime.metering import ModelAccess, Reservation, Settlement
from gauntlet_scoring.failures import FailureCode

_KEY: Final = re.compile("[0-9a-f]{64}")
_MOST_TOKENS: Final = 10**12
_MOST_COST: Final = Decimal(10**9)
_MOST_KEPT: Final = 1 << 30  # bytes of a submission's answers
#: Of a stream its parts, else the one answer: what the gateway reads again.
_ANSWER: Final = TypeAdapter(list[dict[str, Any]])


def refusal_of(claimed: Claim) -> RunResult | ScoreResult | None:
    """How a job ends that must not be handed out, since its models are the operator's; None where it may be.

    Where nobody has set its provider the worker is told so when it asks, and says it.
    """
    spec = claimed.spec
    models = spec.llm if isinstance(spec, RunSpec) else spec.judge.models if spec.judge else None
    if models is None or who_set(models.provider, submission=UUID(claimed.submission)) != "operator":
        return None
    sentence = (
        f"The language model provider '{models.provider}' of this competition is the operator's, whose key is not "
        "given to workers of an organizer's own queue. The organizer has to set a provider with a key of their own, "
        "or to use a queue of the platform's."
    )
    if isinstance(spec, RunSpec):
        return RunResult(episodes=[], failure=Failure(code=FailureCode.ENVIRONMENT_ERROR, message=sentence))
    return ScoreResult(programs=[], failure=Failure(code=FailureCode.SCORING_ERROR, message=sentence))


def models_of_held(held: Job) -> DatabaseModels:
    """Where the calls of a held job count.

    Raises:
        NoModelsHere
    """
    models = models_of_job(held)
    if models is None:
        raise NoModelsHere("This job has no language models.")
    return models


def access_to_models(held: Job) -> ModelAccess | None:
    """The provider that the competition's organizer set; None where it was nobody, or the operator.

    Raises:
        NoModelsHere, KeyUnreadable
    """
    try:
        access = models_of_held(held).access()
    except WrongSecret as error:
        raise KeyUnreadable("The provider's key cannot be read any more. Its organizer has to set it again.") from error
    return access if access is not None and access.set_by == "organizer" else None


def checked_amounts(said: Reservation | Settlement) -> None:
    """Refuse what no call can use, and an id that is none.

    Raises:
        MessageRefused
    """
    try:
        UUID(said.id)
    except ValueError:
        raise MessageRefused("id: must be a UUID, such as 123e4567-e89b-42d3-a456-426614174000.") from None
    if not 0 <= said.tokens <= _MOST_TOKENS:
        raise MessageRefused(f"tokens: must be at least 0 and at most {_MOST_TOKENS}.")
    if not 0 <= said.cost <= _MOST_COST:
        raise MessageRefused(f"cost: must be at least 0 and at most {_MOST_COST}.")


def checked_key(key: str) -> str:
    """The key of a kept answer.

    Raises:
        MessageRefused
    """
    if not _KEY.fullmatch(key):
        raise MessageRefused("key: must be 64 hexadecimal digits.")
    return key


def keep_answer(held: Job, key: str, answer: BinaryIO) -> None:
    """Keep a model's answer; the first one stays, and where much is kept already no more is.

    Raises:
        LeaseLost, NoModelsHere
        MessageRefused: it is none that a gateway could read again.
    """
    models = models_of_held(held)
    checked_key(key)
    try:
        parts = _ANSWER.validate_json(answer.read())
    except ValidationError:
        parts = []
    if not parts:
        raise MessageRefused("the body: must be a JSON list of the answer's parts, each an object.")
    if kept_bytes(held.evaluation.submission_id) <= _MOST_KEPT:
        models.keep_answer(key, Path(answer.name))
