"""A phase in which agents were judged, and people to judge the judge."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Phase
    from gauntlet.evaluation.models import Evaluation
    from gauntlet.reviews.models import Reviewer, Study

AT = datetime(2026, 11, 1, 12, tzinfo=UTC).isoformat()


def record(text: str, answer: str) -> bytes:
    """A stored trajectory: a tool call, a language model's words, an answer."""
    rows: list[dict[str, Any]] = [
        {"kind": "scenario", "scenario": "opaque", "trial": 1, "seed": 1, "text": text, "tools": ["look_up"]},
        {"kind": "tool_call", "call": "c1", "tool": "look_up", "arguments": {"what": "pump"}},
        {"kind": "tool_result", "call": "c1", "tool": "look_up", "seconds": 0.1, "is_error": False, "text": "a pump"},
        {
            "kind": "model_call",
            "call": "m1",
            "model": "telltale-7b",
            "endpoint": "chat/completions",
            "request": {"model": "telltale-7b", "messages": []},
        },
        {
            "kind": "model_result",
            "call": "m1",
            "model": "telltale-7b",
            "status": 200,
            "seconds": 0.2,
            "response": [{"model": "telltale-7b", "choices": []}],
        },
        {"kind": "answer", "text": answer, "data": {"value": 6}},
        {"kind": "end", "outcome": "answered", "seconds": 1.0},
    ]
    lines = [json.dumps({"seq": n, "at": AT, "episode": "e", "turn": 0, **row}) for n, row in enumerate(rows)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("trajectory.jsonl", "\n".join(lines))
    return packed.getvalue()


def ground_truth(keys: list[str]) -> bytes:
    """Reference data with a characteristic form for each of these scenarios, and one line that is none."""
    rows = [json.dumps({"id": key, "characteristic_form": f"What is right about {key}."}) for key in keys]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ground_truth.jsonl", "\n".join([*rows, "not JSON"]))
    return packed.getvalue()


@pytest.fixture
def judged(make_submission: Any, make_artifact: Any) -> Callable[..., Evaluation]:
    """Run an agent on a phase's scenarios and let a program judge it.

    ``verdicts`` holds for each scenario its three scores, or None where the agent gave no answer.
    """
    from django.utils import timezone

    from gauntlet.evaluation.models import Episode, Evaluation, ScenarioScore

    names = ("task_completion", "data_retrieval_accuracy", "result_verification")

    def judge(
        phase: Phase, verdicts: list[tuple[float, float, float] | None], *, program: str = "rubric", **fields: Any
    ) -> Evaluation:
        submission = make_submission(phase, **{"name": "secret-name", **fields})
        evaluation = Evaluation.objects.create(
            submission=submission,
            task=phase.tasks.get(),
            state="finished",
            in_force=True,
            seed=1,
            queued_at=timezone.now(),
        )
        for position, (scenario, scores) in enumerate(zip(phase.tasks.get().scenarios.all(), verdicts, strict=False)):
            stored = make_artifact(record(scenario.text, f"The answer to {scenario.text}"), form="zip")
            episode = Episode.objects.create(
                evaluation=evaluation,
                scenario=scenario,
                position=position,
                seed=1,
                outcome="answered" if scores else "failed",
                trajectory=stored,
            )
            for name, value in zip(names, scores or (0.0, 0.0, 0.0), strict=True):
                ScenarioScore.objects.create(episode=episode, key=f"{program}.{name}", value=value)
        return evaluation

    return judge


@pytest.fixture
def phase(make_phase: Any, make_artifact: Any) -> Phase:
    """Six hidden scenarios of three categories, with reference data."""
    made: Phase = make_phase(scenarios=6)
    task = made.tasks.get()
    for scenario in task.scenarios.all():
        scenario.category = f"category {scenario.index % 3}"
        scenario.save()
    task.reference_data = make_artifact(ground_truth([f"key-{n}" for n in range(6)]), form="zip")
    task.save()
    return made


@pytest.fixture
def organizer(phase: Phase) -> User:
    """Who organizes the phase's competition."""
    return phase.competition.organizer


@pytest.fixture
def study(phase: Phase, judged: Any, organizer: User) -> Study:
    """A judge validation of six trajectories: the judge says yes to the first four in everything, and then no."""
    from gauntlet.reviews import services

    judged(phase, [(1.0, 1.0, 1.0)] * 4 + [(0.0, 0.0, 0.0)] * 2)
    return services.draw_judge_study(phase, program="rubric", size=6, seed=1, actor=organizer)


@pytest.fixture
def survey(phase: Phase, organizer: User) -> Study:
    """A realism survey of all six scenarios."""
    from gauntlet.reviews import services

    return services.draw_realism_study(phase, size=6, seed=1, actor=organizer)


@pytest.fixture
def ask(make_user: Any) -> Callable[..., Reviewer]:
    """Invite a new person, or this one, to a study."""
    from gauntlet.reviews import services

    def invite(study: Study, user: User | None = None) -> Reviewer:
        person = user or make_user()
        (reviewer,) = services.invite(study, names=[person.username], actor=study.phase.competition.organizer)
        return reviewer

    return invite
