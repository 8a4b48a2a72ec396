"""The competition.yaml of the bundle and of the starting kit (Codabench version 2 with Gauntlet's keys)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

PROGRAMS: Final = ("rubric", "rouge", "bertscore")
LIMITS: Final = {
    "episode_seconds": 60,
    "turns": 60,
    "tool_calls": 40,
    "parallel_tool_calls": 4,
    "answer_bytes": 16384,
}


@dataclass(frozen=True)
class Calendar:
    """When the phases begin, UTC, as Codabench writes times. The development phase ends when the test phase begins."""

    development_start: str = "2026-01-01 00:00:00"
    test_start: str = "2026-11-01 00:00:00"
    test_end: str | None = None


@dataclass(frozen=True)
class TaskEntry:
    """A task and where its parts lie below the bundle."""

    index: int
    name: str
    data: str
    scenarios: str
    reference: str


def competition_manifest(tasks: Sequence[TaskEntry], calendar: Calendar) -> dict[str, Any]:
    """The manifest of the competition: a development phase with the first task, a test phase with the second."""
    development, test = tasks
    return {
        **_head("A plant asks", "Questions about a plant's equipment, work orders, alerts and anomalies."),
        "tasks": [_task(development, "Twenty public questions."), _task(test, "Sixty hidden questions.")],
        "phases": [
            {
                "index": 0,
                "name": "Development",
                "description": "Twenty public questions about a small plant. You see everything that your agent did.",
                "start": calendar.development_start,
                "end": _second_before(calendar.test_start),
                "tasks": [development.index],
                "max_submissions_per_day": 20,
                "max_submissions": 500,
                "execution_time_limit": 600,
                "visibility": "full",
                "starting_kit": "starting_kit",
            },
            {
                "index": 1,
                "name": "Test",
                "description": "Sixty hidden questions about another plant. You see your scores.",
                "start": calendar.test_start,
                **({"end": calendar.test_end} if calendar.test_end else {}),
                "tasks": [test.index],
                "max_submissions_per_day": 5,
                "max_submissions": 100,
                "execution_time_limit": 900,
                "visibility": "scores",
                "starting_kit": "starting_kit",
            },
        ],
        "leaderboards": [_leaderboard()],
    }


def single_task_manifest(task: TaskEntry, *, title: str, description: str) -> dict[str, Any]:
    """The manifest of a competition with one public task, complete in itself."""
    return {
        **_head(title, description),
        "tasks": [_task(task, description)],
        "phases": [
            {
                "index": 0,
                "name": "Open",
                "description": description,
                "start": "2026-01-01 00:00:00",
                "tasks": [task.index],
                "max_submissions_per_day": 50,
                "max_submissions": 1000,
                "execution_time_limit": 600,
                "visibility": "full",
            }
        ],
        "leaderboards": [_leaderboard()],
    }


def _head(title: str, description: str) -> dict[str, Any]:
    return {
        "version": 2,
        "title": title,
        "description": description,
        "terms": "terms.md",
        "registration_auto_approve": True,
        "pages": [
            {"title": "Overview", "file": "pages/overview.md"},
            {"title": "Data", "file": "pages/data.md"},
            {"title": "Scoring", "file": "pages/scoring.md"},
        ],
    }


def _task(task: TaskEntry, description: str) -> dict[str, Any]:
    return {
        "index": task.index,
        "name": task.name,
        "description": description,
        "environment": "environment",
        "input_data": task.data,
        "scenarios": task.scenarios,
        "reference_data": task.reference,
        "scoring_programs": [{"name": name, "version": "1"} for name in PROGRAMS],
        "limits": dict(LIMITS),
    }


def _leaderboard() -> dict[str, Any]:
    unit = [0, 1]
    rows: list[tuple[str, str, str, dict[str, Any]]] = [
        ("rubric", "Rubric", "rubric.score", {"precision": 3, "scale": unit, "interval": "bootstrap"}),
        ("y1", "Task", "rubric.task_completion", {"precision": 3, "scale": unit}),
        ("y2", "Retrieval", "rubric.data_retrieval_accuracy", {"precision": 3, "scale": unit}),
        ("y3", "Verification", "rubric.result_verification", {"precision": 3, "scale": unit}),
        ("rouge_l", "ROUGE-L", "rouge.plan_rougeL", {"precision": 3, "scale": unit}),
        ("bertscore", "BERTScore", "bertscore.plan_f1", {"precision": 3}),
        ("s", "S", "bertscore.s_combined", {"precision": 3}),
        ("steps", "Steps", "episodes.steps", {"precision": 1, "sorting": "asc"}),
        ("seconds", "Seconds", "episodes.seconds", {"precision": 2, "sorting": "asc"}),
    ]
    columns = [
        {"index": index, "key": key, "title": title, "sorting": "desc", "from": source, "over": "mean", **more}
        for index, (key, title, source, more) in enumerate(rows)
    ]
    return {
        "index": 0,
        "title": "Results",
        "key": "results",
        "submission_rule": "Force_Best",
        "primary_index": 0,
        "columns": columns,
    }


def _second_before(moment: str) -> str:
    return (datetime.fromisoformat(moment) - timedelta(seconds=1)).strftime("%Y-%m-%d %H:%M:%S")
