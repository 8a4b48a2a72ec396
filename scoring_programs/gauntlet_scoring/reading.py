"""Reading of what a scoring program is given: the episodes with their records, and the ground truth.

Layout: see :mod:`gauntlet_scoring.episode_files` for ``/app/input/res``. The reference folder ``/app/input/ref`` holds
``ground_truth.jsonl``, or exactly one file ``*.jsonl`` of another name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from gauntlet_scoring.episode_files import EpisodeRow
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.failures import FailureCode, Owner
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.phrases import first_phrase
from gauntlet_scoring.trajectory import (
    AnswerEvent,
    EndEvent,
    Event,
    MessageEvent,
    ModelCallEvent,
    NoteEvent,
    Outcome,
    PlanEvent,
    PlanStep,
    ToolCallEvent,
    ToolResultEvent,
    read_events,
)

EPISODES_FILE: Final = "episodes.jsonl"
GROUND_TRUTH_FILE: Final = "ground_truth.jsonl"
BLOBS_FOLDER: Final = "blobs"

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class RecordedCall:
    """A tool call as the gateway recorded it, with its result where one came."""

    call: ToolCallEvent
    result: ToolResultEvent | None
    blob: Path | None = None  # the file that holds a large result

    @property
    def succeeded(self) -> bool:
        """Whether the environment answered, and not with an error."""
        return self.result is not None and not self.result.is_error

    @cached_property
    def content(self) -> Any:
        """What the tool returned: structured content where given, else its text; null without a result.

        A large result is read from its file on first use. That file holds a JSON object with ``structured`` and
        ``text`` or one of them; anything else is taken as text.

        Raises:
            ScoringInputError: the file does not have the digest by which the record names it.
        """
        if self.result is None:
            return None
        if self.blob is None:
            return self.result.structured if self.result.structured is not None else self.result.text
        raw = self.blob.read_bytes()
        if hashlib.sha256(raw).hexdigest() != self.result.blob:
            raise ScoringInputError("the file's content does not have the digest that its name states", path=self.blob)
        return _blob_content(raw)


@dataclass(frozen=True)
class RecordedEpisode:
    """One episode of the evaluation: its row, and what the platform's record says the agent did."""

    row: EpisodeRow
    failure: FailureCode | None  # the row's, or `infrastructure` where the record was never closed
    calls: tuple[RecordedCall, ...] = ()
    plan: tuple[PlanStep, ...] = ()  # the last one recorded; empty where there is none
    answer: AnswerEvent | None = None
    end: EndEvent | None = None
    said: tuple[NoteEvent | MessageEvent, ...] = ()  # its thinking, and the talk with the scenario's user
    models: frozenset[str] = frozenset()  # the language models that it called

    @property
    def scored(self) -> bool:
        """Whether it counts: answered, or ended by the participant's fault. The platform runs the others again."""
        return self.failure is None or self.failure.owner is Owner.PARTICIPANT

    @property
    def answered(self) -> bool:
        """Whether the agent closed it with an answer."""
        return self.failure is None

    @property
    def successful_calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Tool and arguments of the calls that succeeded, in the order in which they were made."""
        return [(each.call.tool, each.call.arguments) for each in self.calls if each.succeeded]


@dataclass(frozen=True)
class ReferenceRow:
    """A scenario's ground truth and where it stands."""

    truth: GroundTruth
    path: Path
    line: int


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield line number (from 1) and content of the lines that are not blank; a byte-order mark is dropped.

    Only a line feed ends a line: the other separators of Unicode may stand inside a JSON text.

    Raises:
        ScoringInputError: the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                content = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
                if content:
                    yield number, content
    except OSError as error:
        raise ScoringInputError(f"cannot be read ({error.strerror})", path=path) from error


def read_model(model: type[Model], content: bytes, *, path: Path, line: int) -> Model:
    """Read one line of a file as ``model``; :class:`ScoringInputError` names file, line and field otherwise."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise ScoringInputError(first_phrase(error), path=path, line=line) from error


def read_ground_truth(folder: Path) -> dict[str, ReferenceRow]:
    """Read the ground truth of a reference folder, by the scenario's key.

    Raises:
        ScoringInputError: no file or several, a malformed line, or a key that occurs twice.
    """
    path = ground_truth_path(folder)
    rows: dict[str, ReferenceRow] = {}
    for line, content in json_lines(path):
        truth = read_model(GroundTruth, content, path=path, line=line)
        if truth.key in rows:
            raise ScoringInputError(
                f"scenario {truth.key} is already on line {rows[truth.key].line}", path=path, line=line
            )
        rows[truth.key] = ReferenceRow(truth=truth, path=path, line=line)
    return rows


def ground_truth_path(folder: Path) -> Path:
    """The file of a reference folder that holds the ground truth."""
    named = folder / GROUND_TRUTH_FILE
    if named.is_file():
        return named
    others = sorted(folder.glob("*.jsonl"))
    if len(others) == 1:
        return others[0]
    found = ", ".join(other.name for other in others) or "none"
    raise ScoringInputError(f"expected {GROUND_TRUTH_FILE} or exactly one *.jsonl file, found {found}", path=folder)


def read_episodes(folder: Path) -> list[RecordedEpisode]:
    """All of :func:`iterate_episodes` at once."""
    return list(iterate_episodes(folder))


def iterate_episodes(folder: Path) -> Iterator[RecordedEpisode]:
    """Read the evaluation's episodes one by one, in the order of ``episodes.jsonl``.

    Raises:
        ScoringInputError: no episode, a malformed file, a pair of scenario and trial that occurs twice, or an answered
            episode whose record holds no answer.
    """
    path = folder / EPISODES_FILE
    seen: dict[tuple[str, int], int] = {}
    for line, content in json_lines(path):
        row = read_model(EpisodeRow, content, path=path, line=line)
        earlier = seen.setdefault((row.scenario, row.trial), line)
        if earlier != line:
            message = f"scenario {row.scenario}, trial {row.trial} is already on line {earlier}"
            raise ScoringInputError(message, path=path, line=line)
        if (row.outcome is Outcome.FAILED) != (row.failure is not None):
            raise ScoringInputError("a failed episode, and no other, needs a failure code", path=path, line=line)
        yield _recorded(row, folder, path=path, line=line)
    if not seen:
        raise ScoringInputError("holds no episode", path=path)


def _recorded(row: EpisodeRow, folder: Path, *, path: Path, line: int) -> RecordedEpisode:
    if row.trajectory is None:
        if row.outcome is Outcome.ANSWERED:
            raise ScoringInputError("an answered episode needs a trajectory", path=path, line=line)
        return RecordedEpisode(row=row, failure=row.failure)
    file = folder / row.trajectory
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ScoringInputError("the trajectory's path leads out of the folder", path=path, line=line)
    record = _Record(file, row.episode)
    failure = row.failure
    if failure is None and record.end is None:
        failure = FailureCode.INFRASTRUCTURE  # the contract: a record without an end is read so
    if failure is None and record.answer is None:
        raise ScoringInputError(f"{EPISODES_FILE} says answered, and here is no answer", path=file)
    return RecordedEpisode(
        row=row,
        failure=failure,
        calls=record.calls(),
        plan=tuple(record.plan),
        answer=record.answer,
        end=record.end,
        said=tuple(record.said),
        models=frozenset(record.models),
    )


class _Record:
    """A trajectory file, checked while it is read."""

    def __init__(self, file: Path, episode: str) -> None:
        self.file = file
        self.episode = episode
        self.plan: list[PlanStep] = []
        self.answer: AnswerEvent | None = None
        self.end: EndEvent | None = None
        self.said: list[NoteEvent | MessageEvent] = []
        self.models: set[str] = set()
        self._calls: dict[str, ToolCallEvent] = {}
        self._results: dict[str, ToolResultEvent] = {}
        for position, (line, content) in enumerate(json_lines(file)):
            self._take(self._event(content, line), position=position, line=line)

    def calls(self) -> tuple[RecordedCall, ...]:
        return tuple(
            RecordedCall(call=call, result=self._results.get(key), blob=self._blob(self._results.get(key)))
            for key, call in self._calls.items()
        )

    def _event(self, content: bytes, line: int) -> Event:
        try:
            return next(read_events([content]))
        except ValidationError as error:
            raise ScoringInputError(first_phrase(error), path=self.file, line=line) from error

    def _take(self, event: Event, *, position: int, line: int) -> None:
        if event.seq != position:
            self._refuse(f"expected event {position}, found {event.seq}", line)
        if event.episode != self.episode:
            self._refuse("the event belongs to another episode", line)
        if self.end is not None:
            self._refuse("nothing may follow the end", line)
        match event:
            case ToolCallEvent():
                if event.call in self._calls:
                    self._refuse(f"call {event.call} was already made", line)
                self._calls[event.call] = event
            case ToolResultEvent():
                if event.call not in self._calls or event.call in self._results:
                    self._refuse(f"the result answers no open call ({event.call})", line)
                self._results[event.call] = event
            case PlanEvent():
                self.plan = event.steps
            case NoteEvent() | MessageEvent():
                self.said.append(event)
            case ModelCallEvent():
                self.models.add(event.model)
            case AnswerEvent():
                self.answer = event
            case EndEvent():
                self.end = event

    def _refuse(self, message: str, line: int) -> None:
        raise ScoringInputError(message, path=self.file, line=line)

    def _blob(self, result: ToolResultEvent | None) -> Path | None:
        if result is None or result.blob is None:
            return None
        if len(result.blob) != 64 or not set(result.blob) <= set("0123456789abcdef"):
            raise ScoringInputError(f"the result of call {result.call} names no SHA-256", path=self.file)
        blob = self.file.parent / BLOBS_FOLDER / result.blob
        if not blob.is_file():
            raise ScoringInputError(f"the result of call {result.call} should lie here and does not", path=blob)
        return blob


def _blob_content(raw: bytes) -> Any:
    text = raw.decode("utf-8", errors="replace")
    try:
        parsed = json.loads(text)
    except ValueError:
        return text
    if isinstance(parsed, dict) and parsed and parsed.keys() <= {"structured", "text"}:
        return parsed["structured"] if parsed.get("structured") is not None else parsed.get("text")
    return text
