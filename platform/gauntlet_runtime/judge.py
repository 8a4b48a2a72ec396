"""The judge of a score job: a gateway that holds its key, and a door to it in each scoring program's sandbox."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from gauntlet_runtime.gateway.judge_messages import JudgeBegin, JudgeFailed, ScorerClosed, ScorerEnded, ScorerStarting
from gauntlet_runtime.gateway.messages import ModelNotice
from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.jobs import Failure
from gauntlet_runtime.metering import JudgeSpec, ModelSupply
from gauntlet_runtime.model_relay import ModelRelay, models_offered
from gauntlet_runtime.sandbox.interface import Run
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.judge_door import (
    CONCURRENCY_VARIABLE,
    MODEL_VARIABLE,
    RUNS_VARIABLE,
    TEMPERATURE_VARIABLE,
    URL_VARIABLE,
)
from gauntlet_scoring.rubric import JUDGE_VARIABLE

DOOR_PORT: Final = 8080
DOOR_URL: Final = f"http://127.0.0.1:{DOOR_PORT}/v1"
CLOSE_SECONDS: Final = 30.0  # for the gateway's last word on a program, which takes milliseconds
_LOST: Final = Failure(code=FailureCode.INFRASTRUCTURE, message="The judge's door ended unexpectedly.")


def no_judge(spec: JudgeSpec) -> Failure:
    """Why a job whose judge's provider is not set cannot be done."""
    message = (
        f"The provider '{spec.models.provider}' of this competition's judge {spec.model} is not set, so nothing can be "
        "judged. Its organizer has to have it set."
    )
    return Failure(code=FailureCode.SCORING_ERROR, message=message)


def judge_environment(spec: JudgeSpec) -> dict[str, str]:
    """What a scoring program is told of the judge; no key is among it."""
    return {
        JUDGE_VARIABLE: spec.rubric,
        URL_VARIABLE: DOOR_URL,
        MODEL_VARIABLE: spec.model,
        RUNS_VARIABLE: str(spec.runs),
        TEMPERATURE_VARIABLE: f"{spec.temperature:g}",
        CONCURRENCY_VARIABLE: str(spec.models.concurrency),
        "OPENAI_BASE_URL": DOOR_URL,
        "OPENAI_API_KEY": "none",
    }


class Judge:
    """Use as a context manager; `opened` may be used by several threads at once."""

    def __init__(self, spec: JudgeSpec, *, supply: ModelSupply, pool: GatewayPool, folder: Path, label: str) -> None:
        self.spec = spec
        self.failure: Failure | None = None  # why it cannot be had; set before the program that asked is told
        self._supply = supply
        self._pool = pool
        self._folder = folder
        self._label = label
        self._closed: dict[str, threading.Event] = {}  # by program
        self._closing = False
        self._started = ExitStack()

    def __enter__(self) -> Judge:
        """Start the gateway; where its provider is not set, `failure` says so, and nothing is started.

        Raises:
            GatewayLost
        """
        access = self._supply.access()
        if access is None:
            self.failure = no_judge(self.spec)
            return self
        self._folder.mkdir()
        self._gateway = self._pool.spawn_judge()
        self._relay = ModelRelay(self._supply, self._gateway)
        self._reader = threading.Thread(target=self._read, name=f"{self._label}-judge", daemon=True)
        self._reader.start()
        with ExitStack() as started:
            started.callback(self._close)
            self._gateway.send(JudgeBegin(models=self.spec.models, folder=self._folder))
            self._gateway.send(models_offered(access))
            self._started = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._started.close()

    def _close(self) -> None:
        self._closing = True
        self._gateway.close()
        self._reader.join()
        self._relay.close()
        self._gateway.release()

    @contextmanager
    def opened(self, run: Run, program: str) -> Iterator[None]:
        """A door in this sandbox, which must not have been started, while the context lasts.

        Raises:
            GatewayLost
        """
        closed = self._closed[program] = threading.Event()
        with run.listen(DOOR_PORT) as listener:
            self._gateway.send(ScorerStarting(program=program), [listener.fileno()])
        yield
        if self.failure is not _LOST:
            self._gateway.send(ScorerEnded(program=program))
            closed.wait(CLOSE_SECONDS)  # whatever the program was told, this process was told before

    def facts(self) -> dict[str, str]:
        """What the judge was, for the provenance of what it judged."""
        return {"judge.model": self.spec.model, "judge.provider": self.spec.models.provider}

    def _read(self) -> None:
        try:
            while (notice := self._gateway.receive()) is not None:
                if isinstance(notice, JudgeFailed):
                    # The first reason stays: what comes after it may only follow from it.
                    self.failure = self.failure or Failure(code=notice.code, message=notice.message)
                elif isinstance(notice, ScorerClosed):
                    self._closed[notice.program].set()
                elif isinstance(notice, ModelNotice):
                    self._relay.take(notice)
        finally:  # also where what it says cannot be understood
            if not self._closing:
                self.failure = self.failure or _LOST
            for closed in list(self._closed.values()):
                closed.set()
