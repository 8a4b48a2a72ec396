"""Submissions in every state, with what their pages tell."""

from __future__ import annotations

import hashlib
import random
from datetime import datetime, timedelta
from typing import Any

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Phase, Task
from gauntlet.evaluation.models import Episode, Evaluation, Job, Report, ScenarioDetail, ScenarioScore, Score
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.storage.models import Artifact
from gauntlet.submissions.models import Submission
from gauntlet.web.showcase import texts
from gauntlet.web.showcase.trajectory import store_trajectory
from gauntlet_scoring.failures import FailureCode, Owner

#: What the judge says of a check that was missed, and of one that held, by criterion.
_REASONS = {
    "task_completion": ("missing or null: count", "every field is there"),
    "data_retrieval_accuracy": ("get_work_orders was not called", "get_work_orders was called as expected"),
    "result_verification": ("count: expected the number 6, found 4", "count: the number 6"),
}
_KEYS = tuple(_REASONS)


def in_every_state(phase: Phase, person: User, *, now: datetime, rng: random.Random) -> dict[str, Submission]:
    """One submission a state, the newest first in the order of the states."""
    made: dict[str, Submission] = {}
    intake: dict[str, dict[str, Any]] = {
        "received": {"state": "received"},
        "checking": {"state": "checking"},
        "rejected": {
            "state": "rejected",
            "failure_code": "invalid_bundle",
            "failure_message": "The bundle was not accepted: 2 points need your attention.",
            "findings": [
                {
                    "file": "agent.yaml",
                    "line": 4,
                    "message": "unknown key 'comand'; did you mean 'command'?",
                    "level": "error",
                },
                {"file": "requirements.txt", "line": 2, "message": "anyio is not among the wheels", "level": "error"},
            ],
            "check_log": texts.CHECK_LOG,
        },
    }
    for name, fields in intake.items():
        made[name] = submitted(phase, person, name=f"planner 14 ({name})", age=len(made), now=now, **fields)
    failures = {
        "failed": ("agent_error", "The agent ended with exit code 1 before it had asked for an episode."),
        "failed_time": ("time_limit", "The agent did not answer within 60 seconds."),
        "failed_platform": ("infrastructure", "The worker that ran the agent was lost three times."),
        "failed_organizer": ("scoring_error", "The scoring program rubric ended with exit code 2."),
    }
    for name in ("waiting", "queued", "running", "scoring", "finished", *failures, "cancelled"):
        code, message = failures.get(name, ("", ""))
        submission = submitted(
            phase,
            person,
            name=f"planner 13 ({name})",
            age=len(made) * 19,
            now=now,
            state="accepted",
            counts_as="nothing" if code and FailureCode(code).owner is not Owner.PARTICIPANT else "attempt",
        )
        made[name] = submission
        evaluation = evaluated(submission, state="failed" if code else name, code=code, message=message, now=now)
        done = {"running": 7, "scoring": 20, "finished": 20, "failed_time": 3, "failed_organizer": 20}.get(name, 0)
        _episodes(evaluation, done=done, rng=rng, trajectories=name == "finished")
        if name == "finished":
            _scores(evaluation, value=0.8125, rng=rng)
    earlier = submitted(phase, person, name="planner 12", age=900, now=now, state="accepted")
    made["earlier"] = earlier
    evaluation = evaluated(earlier, state="finished", now=now - timedelta(hours=14))
    _episodes(evaluation, done=20, rng=rng, trajectories=True)
    _scores(evaluation, value=0.7433, rng=rng)
    return made


def finished_hidden(phase: Phase, person: User, *, now: datetime, rng: random.Random) -> Submission:
    """The person's entry in a phase that shows scores only, given its evaluation."""
    submission = Submission.objects.get(phase=phase, participant=person)
    submission.evaluations.all().delete()
    evaluation = evaluated(submission, state="finished", now=now - timedelta(hours=2))
    _episodes(evaluation, done=10**6, rng=rng, trajectories=True)
    _scores(evaluation, value=0.0, rng=rng, enter=False)
    return submission


def submitted(phase: Phase, person: User, *, name: str, age: int, now: datetime, **fields: Any) -> Submission:
    """A submission that was sent ``age`` minutes ago."""
    digest = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
    bundle, _ = Artifact.objects.get_or_create(digest=digest, defaults={"size": 12_480_000 + age})
    usual: dict[str, Any] = {
        "file_name": "planner.zip",
        "agent": {"name": "planner", "command": "python agent.py", "model": "small", "paradigm": "plan and execute"},
    }
    submission = Submission.objects.create(
        phase=phase,
        participant=person,
        name=name,
        bundle=bundle,
        agent_bundle=bundle if fields["state"] == "accepted" else None,
        checked_at=now - timedelta(minutes=age) if fields["state"] in {"accepted", "rejected"} else None,
        **(usual | fields),
    )
    Submission.objects.filter(pk=submission.pk).update(created_at=now - timedelta(minutes=age, seconds=4))
    submission.refresh_from_db()
    return submission


def evaluated(
    submission: Submission,
    *,
    state: str,
    now: datetime,
    code: str = "",
    message: str = "",
    task: Task | None = None,
) -> Evaluation:
    """An evaluation on the task, or on the only one of its phase, with one run job."""
    task = task or submission.phase.tasks.get()
    ran = state in {"running", "scoring", "finished", "failed"}
    ended = state in {"finished", "failed", "cancelled"}
    began = submission.created_at + timedelta(seconds=6)
    evaluation = Evaluation.objects.create(
        submission=submission,
        task=task,
        state=state,
        failure_code=code,
        failure_message=message,
        in_force=state == "finished",
        seed=11,
        episodes_total=task.scenarios.count() * submission.phase.trials,
        record={
            "platform": "0.1.0",
            "agent": submission.bundle_id,
            "environment": f"sha256:{'5e' * 32}",
            "reference_data": f"sha256:{'b7' * 32}",
            "trials": submission.phase.trials,
            "limits": {"episode_seconds": 60},
            "scoring": {"rubric": {"program": f"sha256:{'91' * 32}", "judge": "checks 1"}},
        },
        queued_at=submission.created_at + timedelta(seconds=4),
        started_at=began if ran else None,
        scoring_at=began + timedelta(seconds=48) if state in {"scoring", "finished"} else None,
        ended_at=began + timedelta(seconds=51) if ended else None,
        agent_seconds=44.2 if ran else 0,
        scorer_seconds=2.6 if state == "finished" else 0,
    )
    Job.objects.create(
        evaluation=evaluation,
        participant=submission.participant,
        kind="run",
        state={"failed": "failed", "cancelled": "failed", "running": "ready", "queued": "ready"}.get(state, "done"),
        attempt=1,
        available_at=now,
        log=(texts.LOG if code == "agent_error" else texts.LOG.partition("Traceback")[0]) if ran else "",
        failure_code=code,
        failure_message=message,
    )
    return evaluation


def _episodes(evaluation: Evaluation, *, done: int, rng: random.Random, trajectories: bool) -> None:
    began = evaluation.started_at or evaluation.queued_at
    scenarios = list(evaluation.task.scenarios.all())
    episodes = [
        Episode(evaluation=evaluation, scenario=scenario, position=n, seed=n) for n, scenario in enumerate(scenarios)
    ]
    for episode in episodes[:done]:
        lost = rng.random() < 0.12
        episode.outcome = "failed" if lost else "answered"
        episode.failure_code = "time_limit" if lost else ""
        episode.failure_message = "The agent did not answer within 60 seconds." if lost else ""
        episode.seconds = 60.0 if lost else rng.uniform(1, 9)
        episode.tool_calls = rng.randint(2, 9)
        episode.steps = episode.tool_calls + 1
        episode.started_at, episode.ended_at = began, began + timedelta(seconds=episode.seconds)
        if trajectories and not lost:
            scenario = episode.scenario
            episode.trajectory = store_trajectory(
                episode=str(episode.pk), scenario=scenario.opaque_id, text=scenario.text, began=began
            )
    Episode.objects.bulk_create(episodes)
    Evaluation.objects.filter(pk=evaluation.pk).update(episodes_done=min(done, len(episodes)))


def _scores(evaluation: Evaluation, *, value: float, rng: random.Random, enter: bool = True) -> None:
    scores, details = [], []
    for episode in evaluation.episodes.all():
        checks = {}
        held: list[bool] = []
        for key in _KEYS:
            right = episode.outcome == "answered" and rng.random() < 0.84
            scores.append(ScenarioScore(episode=episode, key=f"rubric.{key}", value=float(right)))
            held.append(right)
            checks[key] = [{"kind": "number", "holds": right, "reason": _REASONS[key][right]}]
        scores.append(ScenarioScore(episode=episode, key="rubric.mean", value=sum(held) / len(held)))
        details.append(ScenarioDetail(episode=episode, program="rubric", detail=checks))
    ScenarioScore.objects.bulk_create(scores)
    ScenarioDetail.objects.bulk_create(details)
    Score.objects.bulk_create(
        Score(evaluation=evaluation, key=f"rubric.{key}", value=value) for key in ("mean", *_KEYS)
    )
    Report.objects.create(evaluation=evaluation, program="rubric", log="20 scenarios scored\n")
    if not enter:
        return
    submission = evaluation.submission
    board = submission.phase.competition.leaderboards.get()
    for column in board.columns.all():
        near = value if column.primary else 4.2 if column.key == "seconds" else value + rng.uniform(-0.05, 0.05)
        low, high = (near - 0.07, near + 0.06) if column.interval else (None, None)
        ColumnValue.objects.create(submission=submission, column=column, value=near, low=low, high=high)
    Entry.objects.get_or_create(
        leaderboard=board,
        phase=submission.phase,
        participant=submission.participant,
        defaults={
            "submission": submission,
            "primary_value": value,
            "scenarios": evaluation.task.scenarios.count(),
        },
    )
