"""What a score job's supervisor and the gateway of its judge tell each other; the socket is as in `messages`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from gauntlet_runtime.gateway.messages import ModelNotice, ModelReply, ModelsOffered, Ready
from gauntlet_runtime.metering import ModelSpec
from gauntlet_scoring.failures import FailureCode


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JudgeBegin(_Message):
    """Supervisor: this is the judge. Followed by ModelsOffered."""

    kind: Literal["judge_begin"] = "judge_begin"
    models: ModelSpec
    folder: Path = Field(description="for answers on their way to and from the platform")


class ScorerStarting(_Message):
    """Supervisor: a scoring program's sandbox; beside it the listening TCP socket on its loopback."""

    kind: Literal["scorer_starting"] = "scorer_starting"
    program: str


class ScorerEnded(_Message):
    """Supervisor: that sandbox ended."""

    kind: Literal["scorer_ended"] = "scorer_ended"
    program: str


class ScorerClosed(_Message):
    """Gateway: answers ScorerEnded, after everything else about that program."""

    kind: Literal["scorer_closed"] = "scorer_closed"
    program: str


class JudgeFailed(_Message):
    """Gateway: the judge cannot be had, and why; told before the program is."""

    kind: Literal["judge_failed"] = "judge_failed"
    code: FailureCode
    message: str


JudgeCommand = Annotated[
    JudgeBegin | ModelsOffered | ModelReply | ScorerStarting | ScorerEnded, Field(discriminator="kind")
]
JudgeNotice = Annotated[Ready | JudgeFailed | ScorerClosed | ModelNotice, Field(discriminator="kind")]
JUDGE_COMMANDS: Final[TypeAdapter[JudgeCommand]] = TypeAdapter(JudgeCommand)
JUDGE_NOTICES: Final[TypeAdapter[JudgeNotice]] = TypeAdapter(JudgeNotice)
