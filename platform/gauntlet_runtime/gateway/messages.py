"""What the run job's supervisor and its gateway tell each other: one JSON datagram a message, descriptors beside it.

The socket is a SOCK_SEQPACKET pair, so a message is never torn and its descriptors belong to it. What does not fit into
a datagram (the scenarios' texts) goes through a file whose path is in the message.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from gauntlet_runtime.jobs import EpisodeLimits, EpisodeSpec, Isolation
from gauntlet_runtime.metering import ModelSpec, Refusal, Reservation, Settlement
from gauntlet_scoring.failures import FailureCode, Owner
from gauntlet_scoring.trajectory import Outcome

MESSAGE_BYTES: Final = 64 << 10
MESSAGE_DESCRIPTORS: Final = 4


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class JobSetup(_Message):
    """The file that a gateway reads when its job starts."""

    episodes: list[EpisodeSpec]
    limits: EpisodeLimits
    slots: int = Field(ge=1, description="how many environments there are, and so how many episodes may be open")
    isolation: Isolation = Field(description="which episodes share a sandbox of the agent")
    probe: bool = Field(description="hand out one episode at a time until one has ended under a living agent")
    folder: Path = Field(description="where the trajectories are written")
    idle_seconds: float = Field(description="how long an agent may have no open episode while some are left")
    grace_seconds: float = Field(description="the same, after an episode of it ran out of time")
    leave_seconds: float = Field(description="how long an agent that had all its episodes may tidy up")
    call_seconds: float = Field(description="after which an unanswered tool call means that the environment hangs")
    environment_seconds: float = Field(default=1800.0, description="how long an episode may wait for one in all")
    models: ModelSpec | None = Field(default=None, description="the language models that the agent may call")
    model_seconds: float = Field(default=1800.0, description="how long an episode may wait for them in all")
    code_tool: str | None = Field(default=None, description="the tool whose code the supervisor runs")


class Begin(_Message):
    """Supervisor: here is the job."""

    kind: Literal["begin"] = "begin"
    setup: Path


class ModelsOffered(_Message):
    """Supervisor: where the models' provider is, and its key, which is in no other message and in no file."""

    kind: Literal["models_offered"] = "models_offered"
    url: str
    key: str = Field(repr=False)
    limit_field: str
    public_only: bool
    set_by: Literal["organizer", "operator"] = "operator"


class ModelReply(_Message):
    """Supervisor: answers ModelReserve (by the reservation's id) and ModelAnswerWanted."""

    kind: Literal["model_reply"] = "model_reply"
    id: str
    refusal: Refusal | None = None
    found: bool = False


class CodeRan(_Message):
    """Supervisor: answers CodeWanted; the tool's result is in this file."""

    kind: Literal["code_ran"] = "code_ran"
    id: int
    result: Path


class EnvironmentUp(_Message):
    """Supervisor: an environment's program was started; beside it the descriptors of its stdin and stdout."""

    kind: Literal["environment_up"] = "environment_up"
    slot: int


class EnvironmentDown(_Message):
    """Supervisor: this environment is given up."""

    kind: Literal["environment_down"] = "environment_down"
    slot: int
    message: str


class AgentStarting(_Message):
    """Supervisor: a new agent sandbox; beside it the listening TCP socket and the listening unix socket."""

    kind: Literal["agent_starting"] = "agent_starting"
    generation: int


class AgentEnded(_Message):
    """Supervisor: the sandbox ended; its open episodes end with this failure."""

    kind: Literal["agent_ended"] = "agent_ended"
    generation: int
    failure: FailureCode
    message: str


class Ready(_Message):
    """Gateway: everything is loaded; this is the process to watch."""

    kind: Literal["ready"] = "ready"
    pid: int


class EpisodeOpened(_Message):
    """Gateway: the agent was given this episode."""

    kind: Literal["episode_opened"] = "episode_opened"
    episode: str
    attempt: int


class EpisodeEnded(_Message):
    """Gateway: the record of this episode has its end."""

    kind: Literal["episode_ended"] = "episode_ended"
    episode: str
    outcome: Outcome
    failure: FailureCode | None = None
    message: str = ""
    seconds: float = 0.0
    steps: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    folder: Path | None = None
    generation: int | None = Field(default=None, description="the agent's sandbox that had it; None: it never began")
    lost: bool = Field(default=False, description="its agent's sandbox ended under it, before it was answered")

    @property
    def proves_agent(self) -> bool:
        """It ended under an agent that works: no crash ended it, and nobody else's fault."""
        return not self.lost and (self.failure is None or self.failure.owner is Owner.PARTICIPANT)


class EnvironmentReady(_Message):
    """Gateway: this environment has started: it has told its tools."""

    kind: Literal["environment_ready"] = "environment_ready"
    slot: int


class EnvironmentLost(_Message):
    """Gateway: this environment died, hung or talked nonsense; a new one is wanted."""

    kind: Literal["environment_lost"] = "environment_lost"
    slot: int
    served: bool = Field(description="it had told its tools before")
    reason: str


class AgentIdle(_Message):
    """Gateway: the agent has had no open episode for too long although some are left."""

    kind: Literal["agent_idle"] = "agent_idle"
    generation: int


class AgentClosed(_Message):
    """Gateway: answers AgentEnded, after every event of that generation."""

    kind: Literal["agent_closed"] = "agent_closed"
    generation: int
    opened: int = Field(description="how many episodes that sandbox was given")
    asked: bool = Field(description="it asked for an episode at least once")


class ModelReserve(_Message):
    """Gateway: may this call be made? Answered by a ModelReply."""

    kind: Literal["model_reserve"] = "model_reserve"
    reservation: Reservation


class ModelSettled(_Message):
    """Gateway: a call is over; this much of its reservation was used."""

    kind: Literal["model_settled"] = "model_settled"
    settlement: Settlement


class ModelAnswerWanted(_Message):
    """Gateway: is the answer to this request kept? Then it is wanted in this new file. Answered by a ModelReply."""

    kind: Literal["model_answer_wanted"] = "model_answer_wanted"
    id: str
    key: str
    into: Path


class ModelAnswerKept(_Message):
    """Gateway: keep the answer to this request, which is in this file."""

    kind: Literal["model_answer_kept"] = "model_answer_kept"
    key: str
    answer: Path


class CodeUnwanted(_Message):
    """Gateway: nobody waits for this code any more; end it. No answer is wanted."""

    kind: Literal["code_unwanted"] = "code_unwanted"
    id: int


class CodeWanted(_Message):
    """Gateway: run the program in this folder in a sandbox of its own. Answered by a CodeRan."""

    kind: Literal["code_wanted"] = "code_wanted"
    id: int
    folder: Path


Command = Annotated[
    Begin | ModelsOffered | ModelReply | CodeRan | EnvironmentUp | EnvironmentDown | AgentStarting | AgentEnded,
    Field(discriminator="kind"),
]
ModelNotice = ModelReserve | ModelSettled | ModelAnswerWanted | ModelAnswerKept
Notice = Annotated[
    Ready
    | EpisodeOpened
    | EpisodeEnded
    | EnvironmentReady
    | EnvironmentLost
    | AgentIdle
    | AgentClosed
    | CodeWanted
    | CodeUnwanted
    | ModelNotice,
    Field(discriminator="kind"),
]
COMMANDS: Final[TypeAdapter[Command]] = TypeAdapter(Command)
NOTICES: Final[TypeAdapter[Notice]] = TypeAdapter(Notice)


def send_message(control: socket.socket, message: BaseModel, descriptors: Sequence[int] = ()) -> None:
    """Send one message with its descriptors; they stay open here.

    Raises:
        OSError: the other side is gone.
    """
    body = message.model_dump_json().encode()
    if descriptors:
        socket.send_fds(control, [body], list(descriptors))
    else:
        control.send(body)


def receive_message(control: socket.socket) -> tuple[bytes, list[int]]:
    """The next message's JSON and its descriptors, which are now ours; empty bytes where the other side is gone."""
    body, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, MESSAGE_DESCRIPTORS)
    return body, list(descriptors)
