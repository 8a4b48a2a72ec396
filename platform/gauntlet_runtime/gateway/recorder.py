"""Writes an episode's trajectory as it happens, and packs it once it is closed.

One folder an episode: ``trajectory.jsonl`` and ``blobs/<sha256>``. Every line is flushed to the kernel before its
effect goes on, so that a gateway killed at any moment leaves everything that the agent has seen.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import pydantic_core

from gauntlet_runtime.gateway.fatal import give_up
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import (
    AnswerEvent,
    EndEvent,
    Event,
    MessageEvent,
    ModelCallEvent,
    ModelResultEvent,
    NoteEvent,
    Outcome,
    PlanEvent,
    PlanStep,
    ScenarioEvent,
    ToolCallEvent,
    ToolResultEvent,
)

BLOB_BYTES: Final = 64 << 10  # a tool result whose JSON is larger stands beside the trajectory
ModelEndpoint = Literal["chat/completions", "embeddings"]
_CHUNK: Final = 1 << 20
_LINE_ENDS: Final = ("\x85", "\N{LINE SEPARATOR}", "\N{PARAGRAPH SEPARATOR}")  # str.splitlines; JSON escapes the others
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can hold: the same record gives the same bytes


class Recorder:
    """The only writer of one trajectory. Nothing is written after ``end``.

    ``on_full`` is called once, when the record has grown beyond ``limit`` bytes; what was to be written stands in it.
    """

    def __init__(self, folder: Path, *, episode: str, limit: int, on_full: Callable[[], None]) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.turns = 0
        self.calls = 0
        self.model_calls = 0
        self.closed = False
        self._room = limit
        self._on_full = on_full
        self._episode = episode
        self._seq = 0
        self._file = (folder / "trajectory.jsonl").open("ab")

    def _write(self, event: Event) -> None:
        if self.closed:
            return
        line = _one_line(event.model_dump_json()).encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            give_up("the record cannot be written", error)
        self._seq += 1
        self._count(len(line))

    def _count(self, size: int) -> None:
        was_full = self._room < 0
        self._room -= size
        if self._room < 0 and not was_full:
            self._on_full()

    def _common(self) -> dict[str, Any]:
        return {"seq": self._seq, "at": datetime.now(UTC), "episode": self._episode, "turn": self.turns}

    def scenario(
        self, *, scenario: str, trial: int, seed: int, text: str, show: dict[str, Any], tools: list[str]
    ) -> None:
        """The first line."""
        self._write(
            ScenarioEvent(
                **self._common(), scenario=scenario, trial=trial, seed=seed, text=text, show=show, tools=tools
            )
        )

    def agent_message(self, text: str) -> None:
        """The agent says something to the scenario's user: an action."""
        self._write(MessageEvent(**self._common(), role="agent", text=text))
        self.turns += 1

    def user_message(self, text: str, *, done: bool) -> None:
        """What the scenario's user replied."""
        self._write(MessageEvent(**self._common(), role="user", text=text, done=done))

    def plan(self, steps: list[PlanStep]) -> None:
        """The agent's plan."""
        self._write(PlanEvent(**self._common(), steps=steps))

    def note(self, text: str) -> None:
        """The agent's thinking."""
        self._write(NoteEvent(**self._common(), text=text))

    def tool_call(self, tool: str, arguments: dict[str, Any], *, overlaps: bool) -> str:
        """A tool call that is about to be forwarded: an action. Returns the call's id."""
        call = f"c{self.calls}"
        self._write(ToolCallEvent(**self._common(), call=call, tool=tool, arguments=arguments, overlaps=overlaps))
        self.calls += 1
        self.turns += 1
        return call

    def tool_result(self, call: str, *, tool: str, result: dict[str, Any], seconds: float) -> None:
        """A tool's result (MCP, as JSON) that is about to be handed to the agent.

        A large one goes into a blob that holds ``{"structured": …, "text": …}``.
        """
        if self.closed:
            return
        structured, text = result.get("structuredContent"), _text_of(result)
        blob = None
        packed = pydantic_core.to_json({"structured": structured, "text": text}, inf_nan_mode="null")
        if len(packed) > BLOB_BYTES:
            blob = self._keep(packed)
            structured = text = None
        self._write(
            ToolResultEvent(
                **self._common(),
                call=call,
                tool=tool,
                is_error=bool(result.get("isError", False)),
                seconds=round(seconds, 6),
                structured=structured,
                text=text,
                blob=blob,
            )
        )

    def model_call(self, *, model: str, endpoint: ModelEndpoint, request: dict[str, Any], overlaps: bool) -> str:
        """A model call that is about to be made; no action of the agent's. Returns the call's id."""
        call = f"m{self.model_calls}"
        kept, blob = self._beside(request)
        self._write(
            ModelCallEvent(
                **self._common(),
                call=call,
                model=model,
                endpoint=endpoint,
                request=kept,
                blob=blob,
                overlaps=overlaps,
            )
        )
        self.model_calls += 1
        return call

    def model_result(self, call: str, *, model: str, status: int, seconds: float, response: Any, **used: Any) -> None:
        """How a model call ended, before the agent is told; ``used`` are the fields of a ModelResultEvent's usage."""
        if self.closed:
            return
        kept, blob = self._beside(response)
        self._write(
            ModelResultEvent(
                **self._common(),
                call=call,
                model=model,
                status=status,
                seconds=round(seconds, 6),
                response=kept,
                blob=blob,
                **used,
            )
        )

    def _beside(self, value: Any) -> tuple[Any, str | None]:
        """A value as it stands in the record: itself, or where it is large nothing and the name of its blob."""
        packed = pydantic_core.to_json(value, inf_nan_mode="null")
        return (None, self._keep(packed)) if len(packed) > BLOB_BYTES else (value, None)

    def _keep(self, packed: bytes) -> str:
        digest = hashlib.sha256(packed).hexdigest()
        blobs = self.folder / "blobs"
        try:
            blobs.mkdir(exist_ok=True)
            (blobs / digest).write_bytes(packed)
        except OSError as error:
            give_up("the record cannot be written", error)
        self._count(len(packed))
        return digest

    def answer(self, text: str, data: Any | None) -> None:
        """The agent's answer: an action."""
        self._write(AnswerEvent(**self._common(), text=text, data=data))
        self.turns += 1

    def end(
        self, outcome: Outcome, *, failure: FailureCode | None, message: str, seconds: float, state: Any | None
    ) -> None:
        """The last line; closes the file."""
        self._write(
            EndEvent(
                **self._common(),
                outcome=outcome,
                failure=failure,
                message=message,
                seconds=round(seconds, 6),
                state=state,
            )
        )
        self.discard()

    def discard(self) -> None:
        """Close the file without an end: this attempt does not count."""
        if not self.closed:
            self.closed = True
            self._file.close()


def _one_line(text: str) -> str:
    """JSON without the characters at which some languages' readers split lines too: an agent may send them."""
    for character in _LINE_ENDS:
        if character in text:
            text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _text_of(result: dict[str, Any]) -> str | None:
    parts: list[str] = []
    for block in result.get("content") or []:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text":
            parts.append(str(block.get("text", "")))
        else:
            parts.append(f"[{block.get('type')} content]")
    return "\n".join(parts) if parts else None


def pack(folder: Path, into: Path) -> Path:
    """Write the closed record as an immutable zip ``{trajectory.jsonl, blobs/…}``: equal records give equal bytes."""
    files = [folder / "trajectory.jsonl", *sorted((folder / "blobs").glob("*"))]
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), date_time=_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.file_size = file.stat().st_size  # decides whether the entry needs the format for large files
            with file.open("rb") as source, archive.open(entry, "w") as target:
                shutil.copyfileobj(source, target, _CHUNK)
    into.chmod(0o444)
    return into
