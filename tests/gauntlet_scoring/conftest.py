"""Recorded calls and ground truth, made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gauntlet_scoring.checks import Evidence
from gauntlet_scoring.episode_files import EpisodeRow
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.program import Case
from gauntlet_scoring.reading import RecordedCall, RecordedEpisode, read_episodes, read_ground_truth
from gauntlet_scoring.trajectory import AnswerEvent, Outcome, ToolCallEvent, ToolResultEvent

FLAGS = dict.fromkeys(("name", "action", "arguments", "outputs"), True)
AT = datetime(2026, 1, 1, tzinfo=UTC)


def _call(seq: int, tool: str, arguments: dict[str, Any], *, result: bool | None) -> RecordedCall:
    """A call whose result is good (True), an error (False), or never came (None)."""
    common = {"at": AT, "episode": "e", "turn": 0, "call": f"c{seq}", "tool": tool}
    answer = None if result is None else ToolResultEvent(seq=seq + 1, is_error=not result, seconds=0.1, **common)
    return RecordedCall(call=ToolCallEvent(seq=seq, arguments=arguments, **common), result=answer)


@pytest.fixture
def evidence() -> Callable[..., Evidence]:
    """`evidence(data, (tool, arguments, result), ...)`."""

    def make(data: Any = None, *calls: tuple[str, dict[str, Any], bool | None]) -> Evidence:
        recorded = [_call(2 * at, tool, arguments, result=result) for at, (tool, arguments, result) in enumerate(calls)]
        return Evidence(calls=recorded, data=data)

    return make


@pytest.fixture
def truth() -> Callable[..., dict[str, Any]]:
    """A well-formed scenario as JSON, with any field replaced."""

    def make(**fields: Any) -> dict[str, Any]:
        return {
            "id": 400,
            "text": "Get the work orders of CWC04013 in 2017.",
            "type": "WO",
            "category": "Data Query",
            "deterministic": True,
            "characteristic_form": "33 work orders",
            "planning_steps": [{"agent": "WOAgent", "instruction": "get them"}],
            "execution_steps": [
                {
                    "name": "load",
                    "action": "get_work_orders",
                    "agent": "WOAgent",
                    "outputs": ["orders"],
                    "deterministic": FLAGS,
                },
                {
                    "name": "filter",
                    "action": "filter",
                    "agent": "WOAgent",
                    "arguments": {"of": "@orders", "year": 2017},
                    "deterministic": FLAGS,
                },
                {"name": "finish", "action": "Finish", "agent": "WOAgent"},
            ],
            "execution_links": [{"source": "load", "target": "filter"}, {"source": "filter", "target": "finish"}],
            **fields,
        }

    return make


@pytest.fixture
def json_file(tmp_path: Path) -> Callable[..., Path]:
    """Write rows as JSON lines."""

    def write(*rows: Any, name: str = "ground_truth.jsonl") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def recorded_case(truth: Callable[..., dict[str, Any]], json_file: Callable[..., Path], tmp_path: Path) -> Any:
    """An answered episode with these events beside its scenario's ground truth, read back from files."""

    def make(*events: dict[str, Any], text: str = "33", data: Any = None, trial: int = 1, **fields: Any) -> Case:
        asked = {"characteristic_form": "33", **fields}
        reference = read_ground_truth(json_file(truth(**asked), name="ref/ground_truth.jsonl").parent)["400"]
        whole: list[dict[str, Any]] = [
            {"kind": "scenario", "scenario": "s", "trial": trial, "seed": 1, "text": "question"},
            *events,
            {"kind": "answer", "text": text, "data": data},
            {"kind": "end", "outcome": "answered", "seconds": 1.0},
        ]
        common = {"at": "2026-01-01T00:00:00Z", "episode": "e", "turn": 0}
        json_file(*({"seq": seq, **common, **event} for seq, event in enumerate(whole)), name="res/e.jsonl")
        row = {"episode": "e", "scenario": "400", "trial": trial, "outcome": "answered", "trajectory": "e.jsonl"}
        (episode,) = read_episodes(json_file(row, name="res/episodes.jsonl").parent)
        return Case(episode=episode, reference=reference)

    return make


def _recorded(
    *calls: tuple[str, dict[str, Any], Any],
    data: Any = None,
    text: str = "done",
    answered: bool = True,
    overlap: Sequence[int] = (),
) -> RecordedEpisode:
    """Calls are (tool, arguments, result); an error's result is an exception, `...` stands for one that never came.

    The results of the calls in `overlap` came after the next ones had begun.
    """
    made, seq = [], 1
    for number, (tool, arguments, result) in enumerate(calls):
        common = {"at": AT, "episode": "e", "turn": 0, "call": f"c{number}", "tool": tool}
        ended = None
        if result is not ...:
            failed = isinstance(result, Exception)
            later = 50 if number in overlap else 1
            ended = ToolResultEvent(
                seq=seq + later, is_error=failed, seconds=0.5, structured=None if failed else result, **common
            )
        made.append(RecordedCall(call=ToolCallEvent(seq=seq, arguments=arguments, **common), result=ended))
        seq += 2
    outcome, failure = (Outcome.ANSWERED, None) if answered else (Outcome.FAILED, FailureCode.TIME_LIMIT)
    row = EpisodeRow(episode="e", scenario="1", trial=1, outcome=outcome, failure=failure)
    answer = AnswerEvent(seq=99, at=AT, episode="e", turn=0, text=text, data=data) if answered else None
    return RecordedEpisode(row=row, failure=failure, calls=tuple(made), answer=answer)


@pytest.fixture
def recorded() -> Callable[..., RecordedEpisode]:
    """`recorded((tool, arguments, result), ..., data=..., answered=...)`."""
    return _recorded


@pytest.fixture
def ground_truth(truth: Callable[..., dict[str, Any]]) -> Callable[..., GroundTruth]:
    """The scenario of `truth`, read."""
    return lambda **fields: GroundTruth.model_validate(truth(**fields))
