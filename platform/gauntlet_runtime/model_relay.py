"""Between a job's gateway and the platform: what the gateway asks about model calls, asked in its place."""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import structlog

from gauntlet_runtime.gateway.messages import (
    ModelAnswerKept,
    ModelAnswerWanted,
    ModelNotice,
    ModelReply,
    ModelReserve,
    ModelSettled,
    ModelsOffered,
)
from gauntlet_runtime.gateway.pool import Gateway, GatewayLost
from gauntlet_runtime.jobs import Failure, LeaseLost
from gauntlet_runtime.metering import ModelAccess, ModelSpec, ModelSupply, Refusal, Reservation, Settlement, Shortage
from gauntlet_scoring.failures import FailureCode

_TRIES: Final = 4
_PAUSE_SECONDS: Final = 0.5  # before the second try, doubled before each further one

T = TypeVar("T")
_log = structlog.get_logger(__name__)


def no_provider(spec: ModelSpec) -> Failure:
    """Why a job whose provider is not set cannot be run."""
    message = (
        f"The language model provider '{spec.provider}' of this competition is not set, so no agent can be run. "
        "Its organizer has to have it set."
    )
    return Failure(code=FailureCode.ENVIRONMENT_ERROR, message=message)


def models_offered(access: ModelAccess) -> ModelsOffered:
    """The one message that holds a provider's key; it goes to the gateway and nowhere else."""
    key = access.key.get_secret_value()
    return ModelsOffered(
        url=access.url,
        key=key,
        limit_field=access.limit_field,
        public_only=access.public_only,
        set_by=access.set_by,
    )


class ModelRelay:
    """Asks the platform in a thread of its own: a call must not wait while the job's thread starts a sandbox.

    In the order of the notices. What has the same id counts once at the platform, so a question whose answer was lost
    (a restart of the database, say) is asked again.
    """

    def __init__(self, supply: ModelSupply, gateway: Gateway[Any]) -> None:
        self._supply = supply
        self._gateway = gateway
        self._owed: dict[str, Settlement] = {}  # that the platform has not heard yet, by the id of the call
        self._inbox: queue.SimpleQueue[ModelNotice | None] = queue.SimpleQueue()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)
        self._thread.start()

    def take(self, notice: ModelNotice) -> None:
        """Do what the gateway asks; does not wait."""
        self._inbox.put(notice)

    def close(self) -> None:
        """Settle what was told so far, and end."""
        self._closing = True
        self._inbox.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._take_all()
        finally:
            self._supply.close()

    def _take_all(self) -> None:
        while (notice := self._inbox.get()) is not None:
            match notice:
                case ModelReserve(reservation=reservation):
                    self._reserve(reservation)
                case ModelSettled(settlement=settlement):
                    self._owed[settlement.id] = settlement
                    self._asked(self._settle)
                case ModelAnswerWanted(id=name, key=key, into=into):
                    found = self._asked(partial(self._supply.find_answer, key, into))
                    self._reply(ModelReply(id=name, found=bool(found)))
                case ModelAnswerKept(key=key, answer=answer):
                    self._asked(partial(self._supply.keep_answer, key, answer))
                    answer.unlink(missing_ok=True)
        self._asked(self._settle)

    def _reserve(self, reservation: Reservation) -> None:
        if self._closing:  # the gateway is gone: nobody would make this call
            return
        self._asked(self._settle)
        reply = self._asked(lambda: ModelReply(id=reservation.id, refusal=self._supply.reserve(reservation)))
        self._reply(reply or ModelReply(id=reservation.id, refusal=Refusal(shortage=Shortage.UNAVAILABLE)))

    def _settle(self) -> None:
        """Tell what is owed, the newest first: what the platform does not take must not keep it from the others.

        A settlement that was lost would hold its call's budget and its place among those at once until the job ends.
        """
        for settlement in reversed(list(self._owed.values())):
            self._supply.settle(settlement)
            del self._owed[settlement.id]

    def _asked(self, ask: Callable[[], T]) -> T | None:
        """The platform's word, or None where it cannot be had. A lost lease is the job's to find out."""
        for number in range(_TRIES):
            try:
                return ask()
            except LeaseLost:
                return None
            except Exception:  # noqa: BLE001 - a platform that cannot be asked now may be in a moment
                _log.warning("models_not_asked", trace=traceback.format_exc())
                if self._closing:
                    return None
                time.sleep(_PAUSE_SECONDS * 2.0**number)
        return None

    def _reply(self, reply: ModelReply) -> None:
        try:
            self._gateway.send(reply)
        except GatewayLost:
            _log.debug("model_reply_not_wanted")
