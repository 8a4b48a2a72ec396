"""An evaluation on disk as the platform hands it to a scoring program, and a way to run a program on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "scoring_programs"


@dataclass
class Evaluation:
    """Writes `input/ref` and `input/res` below `root`."""

    root: Path
    episodes: list[dict[str, Any]] = field(default_factory=list)
    truths: list[dict[str, Any]] = field(default_factory=list)

    def truth(self, key: int | str = 1, **fields: Any) -> dict[str, Any]:
        row: dict[str, Any] = {
            "id": key,
            "text": "How many work orders of CWC04013 in 2017?",
            "type": "WO",
            "category": "Data Query",
            "deterministic": True,
            "characteristic_form": "33",
            "planning_steps": [{"agent": "WOAgent", "instruction": "get the work orders"}],
            "execution_steps": [
                {"name": "s1", "action": "get_work_orders", "agent": "WOAgent", "arguments": {"year": 2017}},
                {"name": "s2", "action": "Finish", "agent": "WOAgent"},
            ],
            "execution_links": [{"source": "s1", "target": "s2"}],
            "checks": {
                "task_completion": [{"kind": "contains_fields", "paths": ["count"]}],
                "data_retrieval_accuracy": [{"kind": "called", "tool": "get_work_orders", "arguments": {"year": 2017}}],
                "result_verification": [{"kind": "number", "path": "count", "value": 33}],
            },
            **fields,
        }
        self.truths.append(row)
        return row

    def answered(
        self,
        key: int | str = 1,
        *,
        trial: int = 1,
        calls: Iterable[tuple[str, dict[str, Any], bool]] = (),
        data: Any = None,
        text: str = "",
        plan: list[tuple[str, str]] | None = None,
        results: Sequence[Any] = (),
    ) -> None:
        episode = f"e-{key}-{trial}"
        events: list[dict[str, Any]] = [
            {"kind": "scenario", "scenario": "opaque", "trial": trial, "seed": 1, "text": "question"}
        ]
        if plan is not None:
            steps = [{"agent": agent, "instruction": instruction} for agent, instruction in plan]
            events.append({"kind": "plan", "steps": steps})
        for number, (tool, arguments, is_error) in enumerate(calls):
            call = f"c{number}"
            events.append({"kind": "tool_call", "call": call, "tool": tool, "arguments": arguments})
            returned = {"structured": results[number]} if number < len(results) else {}
            common = {"kind": "tool_result", "call": call, "tool": tool, "seconds": 0.1}
            events.append({**common, "is_error": is_error, **returned})
        events.append({"kind": "answer", "text": text, "data": data})
        events.append({"kind": "end", "outcome": "answered", "seconds": 1.0})
        self.record(episode, events)
        self.row(key, trial=trial, outcome="answered", trajectory=f"trajectories/{episode}.jsonl")

    def failed(self, key: int | str = 1, *, failure: str, trial: int = 1, calls: Iterable[str] = ()) -> None:
        """Without calls nothing was recorded; with calls of these tools they are, and their results never came."""
        episode, more = f"e-{key}-{trial}", {}
        if calls:
            events = [{"kind": "tool_call", "call": tool, "tool": tool, "arguments": {}} for tool in calls]
            end = {"kind": "end", "outcome": "failed", "failure": failure, "seconds": 1.0}
            self.record(episode, [*events, end])
            more = {"trajectory": f"trajectories/{episode}.jsonl"}
        self.row(key, trial=trial, outcome="failed", failure=failure, **more)

    def row(self, key: int | str, *, trial: int, **fields: Any) -> None:
        self.episodes.append({"episode": f"e-{key}-{trial}", "scenario": str(key), "trial": trial, **fields})

    def record(self, episode: str, events: list[dict[str, Any]]) -> None:
        folder = self.root / "input/res/trajectories"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps({"seq": seq, "at": "2026-01-01T00:00:00Z", "episode": episode, "turn": 0, **event})
            for seq, event in enumerate(events)
        ]
        (folder / f"{episode}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def write(self) -> Path:
        for path, rows in (
            (self.root / "input/ref/ground_truth.jsonl", self.truths),
            (self.root / "input/res/episodes.jsonl", self.episodes),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return self.root


@dataclass(frozen=True)
class ProgramRun:
    """What a run of a program left behind."""

    status: int
    stderr: str
    output: Path

    @property
    def scores(self) -> dict[str, float]:
        return dict(json.loads((self.output / "scores.json").read_text()))

    @property
    def scenarios(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.output / "scenarios.jsonl").read_text().splitlines()]

    @property
    def provenance(self) -> dict[str, str]:
        return dict(json.loads((self.output / "provenance.json").read_text()))


@pytest.fixture(scope="session")
def new_evaluation() -> type[Evaluation]:
    """For a fixture that several tests share."""
    return Evaluation


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    """An evaluation without episodes."""
    return Evaluation(tmp_path / "app")


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the programs, for a copy with other settings."""
    return PROGRAMS


@pytest.fixture(scope="session")
def run_program() -> Callable[..., ProgramRun]:
    """Run a program by name on an evaluation, as its own process, exactly by its metadata's command."""

    def run(name: str, evaluation: Evaluation, *, python: str = sys.executable, **environment: str) -> ProgramRun:
        root = evaluation.write()
        done = subprocess.run(
            [python, "score.py", str(root)],
            cwd=PROGRAMS / name,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return ProgramRun(status=done.returncode, stderr=done.stderr, output=root / "output")

    return run


@pytest.fixture(scope="session")
def scorer_python() -> str:
    """An interpreter that has torch: `GAUNTLET_SCORER_PYTHON`, or that of `var/venv-scorer`, made if need be."""
    named = os.environ.get("GAUNTLET_SCORER_PYTHON")
    if named:
        return named
    command = [sys.executable, str(PROGRAMS / "scorer_environment.py"), str(ROOT / "var" / "venv-scorer")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
