"""The competition.yaml of a track (Codabench version 2 with Gauntlet's keys)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from assetops_scenarios.board import execution_board, planning_board
from assetops_scenarios.question import Question

TRACKS: Final = ("planning", "execution")
_TITLES: Final = {"planning": "AssetOps: planning", "execution": "AssetOps: execution"}
_ABOUT: Final = {
    "planning": "Plan how four agents answer questions about industrial assets.",
    "execution": "Answer questions about industrial assets with the tools of four agents.",
}
_PROGRAMS: Final = {
    "planning": ("rouge", "bertscore", "execution"),
    "execution": ("rubric", "execution", "hybrid"),
}
_LIMITS: Final = {
    "planning": {"episode_seconds": 60, "turns": 30, "tool_calls": 10, "answer_bytes": 16384},
    "execution": {
        "episode_seconds": 180,
        "turns": 100,
        "tool_calls": 80,
        "parallel_tool_calls": 4,
        "answer_bytes": 32768,
    },
}


@dataclass(frozen=True)
class Calendar:
    """When the phases begin, UTC, as Codabench writes times. The development phase ends when the test phase begins."""

    development_start: str = "2026-01-01 00:00:00"
    test_start: str = "2026-11-01 00:00:00"
    test_end: str | None = None


@dataclass(frozen=True)
class Task:
    """A task and where its parts lie below the bundle; ``public`` is whether everybody may read it."""

    index: int
    name: str
    data: str
    scenarios: str
    reference: str
    questions: int
    public: bool


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What an organizer chooses of a track: the models that the door offers, the judge, and how often each runs.

    ``provider`` is where models and judge come from; an installation that knows one alone needs none named.
    """

    models: tuple[str, ...] = ()
    judge: str | None = None
    provider: str | None = None
    trials: int = 1
    calendar: Calendar = field(default_factory=Calendar)


def track_manifest(track: str, tasks: Sequence[Task], asked: Sequence[Question], rules: Rules) -> dict[str, Any]:
    """The manifest of a track: its first task makes the development phase, each further one a hidden test phase."""
    public, *hidden = tasks
    return {
        **_head(_TITLES[track], _ABOUT[track], track),
        "tasks": [_task(track, one, rules) for one in tasks],
        "phases": [_development(public, rules), *[_test(one, rules) for one in hidden]],
        "leaderboards": [_board(track, asked, rules)],
    }


def kit_manifest(track: str, task: Task, asked: Sequence[Question]) -> dict[str, Any]:
    """The manifest of the starting kit: the public task alone, complete in itself."""
    title, rules = f"{_TITLES[track]}, starting kit", Rules()
    phase = _development(task, rules)
    phase.update(end=None, starting_kit=None)
    return {
        **_head(title, _ABOUT[track], track),
        "tasks": [_task(track, task, rules)],
        "phases": [{key: value for key, value in phase.items() if value is not None}],
        "leaderboards": [_board(track, asked, rules)],
    }


def _head(title: str, description: str, track: str) -> dict[str, Any]:
    pages = [("Overview", f"{track}_overview"), ("Data", "data"), ("Scoring", f"{track}_scoring"), ("Tracks", "tracks")]
    return {
        "version": 2,
        "title": title,
        "description": description,
        "terms": "terms.md",
        "registration_auto_approve": True,
        "pages": [{"title": said, "file": f"pages/{name}.md"} for said, name in pages],
    }


def _task(track: str, task: Task, rules: Rules) -> dict[str, Any]:
    return {
        "index": task.index,
        "name": task.name,
        "description": f"{task.questions} {'public' if task.public else 'hidden'} questions.",
        "environment": "environment",
        "input_data": task.data,
        "scenarios": task.scenarios,
        "reference_data": task.reference,
        "scoring_programs": [{"name": name, "version": "1"} for name in _PROGRAMS[track]],
        "limits": dict(_LIMITS[track]),
        **(_judge(rules) if track == "execution" else {}),
    }


def _judge(rules: Rules) -> dict[str, Any]:
    """The language model that judges, where the declared checks do not."""
    if not rules.judge:
        return {}
    return {"judge": {"model": rules.judge, **_provider(rules), "token_budget": 20_000_000}}


def _provider(rules: Rules) -> dict[str, str]:
    return {"provider": rules.provider} if rules.provider else {}


def _development(task: Task, rules: Rules) -> dict[str, Any]:
    return {
        "index": 0,
        "name": "Development",
        "description": f"{task.questions} public questions about one site. You see everything that your agent did.",
        "start": rules.calendar.development_start,
        "end": _second_before(rules.calendar.test_start),
        "tasks": [task.index],
        "max_submissions_per_day": 20,
        "max_submissions": 500,
        "execution_time_limit": 7200,
        "visibility": "full",
        "max_parallel_episodes": 2,
        "starting_kit": "starting_kit",
        **_models(rules),
    }


def _test(task: Task, rules: Rules) -> dict[str, Any]:
    return {
        "index": task.index,
        "name": task.name,
        "description": f"{task.questions} hidden questions about another site. You see your scores.",
        "start": rules.calendar.test_start,
        **({"end": rules.calendar.test_end} if rules.calendar.test_end else {}),
        "tasks": [task.index],
        "max_submissions_per_day": 5,
        "max_submissions": 100,
        "execution_time_limit": 21600,
        "visibility": "scores",
        "trials": rules.trials,
        "max_parallel_episodes": 2,
        "starting_kit": "starting_kit",
        **_models(rules),
    }


def _models(rules: Rules) -> dict[str, Any]:
    """The language models that an agent of the phase may call, and how much of them for a question."""
    if not rules.models:
        return {}
    return {"llm": {"models": list(rules.models), **_provider(rules), "per_episode": {"tokens": 200_000}}}


def _board(track: str, asked: Sequence[Question], rules: Rules) -> dict[str, Any]:
    make = planning_board if track == "planning" else execution_board
    return make(asked, trials=rules.trials, judged=rules.judge is not None)


def _second_before(moment: str) -> str:
    return (datetime.fromisoformat(moment) - timedelta(seconds=1)).strftime("%Y-%m-%d %H:%M:%S")
