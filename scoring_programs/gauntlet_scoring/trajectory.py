"""The platform's own record of an episode: JSON lines, one event each, written by the gateway.

An event is written before its effect is visible to the agent. A large tool result stands beside the file under its
SHA-256 (``blob``). The file is immutable once it holds an ``end``; a file without one is read as ``infrastructure``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from gauntlet_scoring.failures import FailureCode

SCHEMA_VERSION: Final = 1


class Outcome(StrEnum):
    """How an episode ended."""

    ANSWERED = "answered"  # the agent closed it with an answer
    FAILED = "failed"  # ended without an answer; `failure` says why and, through its owner, who is responsible


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    seq: int = Field(ge=0, description="position in the file, from 0, without holes")
    at: datetime = Field(description="UTC, when the gateway wrote the line")
    episode: str
    turn: int = Field(ge=0, description="how many agent actions (messages, tool calls, answer) came before")


class ScenarioEvent(_Event):
    """The first line: what the agent was given."""

    kind: Literal["scenario"] = "scenario"
    schema_version: int = SCHEMA_VERSION
    scenario: str = Field(description="the scenario's opaque id, as the agent sees it")
    trial: int = Field(ge=1)
    seed: int
    text: str
    show: dict[str, Any] = Field(default_factory=dict)
    tools: list[str] = Field(default_factory=list, description="names of the tools that were offered")


class MessageEvent(_Event):
    """One side of the conversation with the scenario's user."""

    kind: Literal["message"] = "message"
    role: Literal["agent", "user"]
    text: str
    done: bool = False


class PlanStep(BaseModel):
    """A step that the agent declared; ``depends_on`` holds 0-based positions of earlier steps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = ""
    instruction: str
    depends_on: list[int] = Field(default_factory=list)


class PlanEvent(_Event):
    """The agent's plan; the last one of an episode is the one that is scored."""

    kind: Literal["plan"] = "plan"
    steps: list[PlanStep]


class NoteEvent(_Event):
    """Free text by the agent (its thinking); recorded, never trusted."""

    kind: Literal["note"] = "note"
    text: str


class ToolCallEvent(_Event):
    """A tool call, written before it is forwarded to the environment."""

    kind: Literal["tool_call"] = "tool_call"
    call: str = Field(description="id of the call within the episode; its result carries the same")
    tool: str
    arguments: dict[str, Any]
    overlaps: bool = Field(default=False, description="another call of this episode was open at the time")


class ToolResultEvent(_Event):
    """What the environment answered, written before the agent receives it."""

    kind: Literal["tool_result"] = "tool_result"
    call: str
    tool: str
    is_error: bool
    seconds: float = Field(ge=0)
    structured: Any | None = Field(default=None, description="MCP structured content, when the tool gave it")
    text: str | None = Field(default=None, description="MCP text content, joined by newlines")
    blob: str | None = Field(
        default=None, description="sha256 of a result kept beside the file; then the above are null"
    )


class ModelCallEvent(_Event):
    """A call to the metered model endpoint, written before the provider is asked."""

    kind: Literal["model_call"] = "model_call"
    call: str = Field(description="id of the call within the episode; its result carries the same")
    model: str
    endpoint: Literal["chat/completions", "embeddings"]
    request: Any | None = Field(default=None, description="as the agent sent it")
    blob: str | None = Field(default=None, description="sha256 of a request kept beside the file; then it is null")
    overlaps: bool = Field(default=False, description="another call of this episode was open at the time")


class ModelResultEvent(_Event):
    """How a model call ended, written before the agent is told."""

    kind: Literal["model_result"] = "model_result"
    call: str
    model: str
    status: int = Field(description="the HTTP status that the agent is answered with")
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    estimated: bool = Field(default=False, description="the provider's usage could not be believed: the bound counts")
    cost: str = Field(default="0", description="decimal, in the currency of the prices")
    cached: bool = Field(default=False, description="an earlier answer to the same request: it cost nothing")
    tries: int = Field(default=1, ge=0, description="how often the provider was asked")
    seconds: float = Field(ge=0)
    response: Any | None = Field(default=None, description="what the model said; of a stream, a list of its parts")
    blob: str | None = Field(default=None, description="sha256 of a response kept beside the file; then it is null")


class AnswerEvent(_Event):
    """The agent's answer; it closes the episode."""

    kind: Literal["answer"] = "answer"
    text: str
    data: Any | None = None


class EndEvent(_Event):
    """The last line."""

    kind: Literal["end"] = "end"
    outcome: Outcome
    failure: FailureCode | None = None
    message: str = Field(default="", description="a sentence for the reader; never program output")
    seconds: float = Field(ge=0, description="on the episode's clock: waiting for the platform not counted")
    state: Any | None = Field(default=None, description="what gauntlet_state returned")


Event = Annotated[
    ScenarioEvent
    | MessageEvent
    | PlanEvent
    | NoteEvent
    | ToolCallEvent
    | ToolResultEvent
    | ModelCallEvent
    | ModelResultEvent
    | AnswerEvent
    | EndEvent,
    Field(discriminator="kind"),
]

_EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Event)


def read_events(lines: Iterable[str | bytes]) -> Iterator[Event]:
    """Yield the events of a trajectory file.

    Raises:
        pydantic.ValidationError: a line is not an event of this schema version.
    """
    for line in lines:
        if line.strip():
            yield _EVENT.validate_json(line)
