"""What a run may meet: trials and models, several tasks, an own queue, container images, results, and every fault."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Column, Competition, Phase, Takes, Task, Visibility
from gauntlet.evaluation.models import Episode, Evaluation, Job, ScenarioScore, Score
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.queues.services import create_queue
from gauntlet.submissions.models import Submission
from gauntlet.web.showcase import texts
from gauntlet.web.showcase.submissions import evaluated, submitted
from gauntlet_scoring.failures import FailureCode, Owner

TRIALS: Final = 3
_PASS_AT: Final = 0.7
#: The sentence of a fault, as the platform says it.
FAULTS: Final[Mapping[FailureCode, str]] = {
    FailureCode.PROTOCOL_ERROR: "The agent did not speak the platform's protocol: it answered an episode twice.",
    FailureCode.MEMORY_LIMIT: "The agent needed more than the 512 MiB of memory allowed (peak 512 MiB). "
    "Keep less in memory at once, or work in smaller pieces.",
    FailureCode.PROCESS_LIMIT: "The agent was refused 40 new processes or threads; 64 may run at once. Start fewer.",
    FailureCode.DISK_LIMIT: "The agent filled its disk: 64 MiB in /tmp and 64 MiB of output are allowed. "
    "Write less, or delete what is no longer needed.",
    FailureCode.OUTPUT_LIMIT: "The agent printed more than the 1024 KiB allowed. Print less.",
    FailureCode.BUDGET_EXCEEDED: "The model budget of this evaluation was used up: 200,000 tokens.",
    FailureCode.ENVIRONMENT_ERROR: "The environment ended with exit code 1, twice in one episode.",
    FailureCode.IMAGE_UNAVAILABLE: "This worker lacks an image: gauntlet/agent.",
}
_IMAGE: Final = {
    "name": "planner",
    "command": ["python", "-m", "planner", "--mode", "night shift", *["--verbose"] * 20],
    "container": {
        "id": f"sha256:{'c3' * 32}",
        "size": 412_000_000,
        "layers": 7,
        "entries": 9_400,
        "architecture": "amd64",
        "user": "",
        "working_directory": "/app",
        "environment": {},
    },
}


def in_every_ending(
    competition: Competition, person: User, *, tasks: list[Task], now: datetime, rng: random.Random
) -> dict[str, Submission]:
    """Submissions to a competition of three phases: with trials and models, on an own queue, and of results."""
    trials = competition.phases.get()
    trials.name, trials.visibility, trials.trials = "Night", Visibility.FULL, TRIALS
    trials.llm = {"provider": "night", "models": ["small"], "per_evaluation": {"tokens": 200_000}}
    trials.save()
    trials.tasks.set(tasks)
    for key, title, source, over in (
        ("pass3", "pass^3", "rubric.mean", f"pass^{TRIALS}"),
        ("spread", "Spread", "rubric.mean", "std"),
        ("cost", "Cost", "episodes.total_cost", "sum"),
    ):
        _column(competition, key=key, title=title, source=source, over=over)
    made = _with_trials(trials, person, now=now, rng=rng)
    made |= _faults(trials, person, now=now)
    made |= _images(trials, person, now=now)
    made |= _unserved(_phase(trials, 1, "On own machines", queue="night-gpu"), trials, person, now=now)
    return made | _results(_phase(trials, 2, "Results", takes=Takes.RESULTS), person, now=now)


def _column(competition: Competition, *, key: str, title: str, source: str, over: str) -> None:
    board = competition.leaderboards.get()
    Column.objects.create(
        leaderboard=board,
        index=board.columns.count(),
        key=key,
        title=title,
        source=source,
        over=over,
        pass_at=_PASS_AT if over.startswith("pass^") else None,
        sorting="desc" if over.startswith("pass^") else "asc",
        precision=3,
    )


def _phase(like: Phase, index: int, name: str, **fields: Any) -> Phase:
    if queue := fields.get("queue"):
        create_queue(queue, owner=like.competition.organizer)
    phase = Phase.objects.create(
        competition=like.competition, index=index, name=name, start=like.start, end=like.end, **fields
    )
    phase.tasks.add(like.tasks.order_by("index")[0])
    return phase


def _sent(phase: Phase, person: User, name: str, *, now: datetime, age: int = 40, **fields: Any) -> Submission:
    return submitted(phase, person, name=f"night {name}", age=age, now=now, **({"state": "accepted"} | fields))


def _with_trials(phase: Phase, person: User, *, now: datetime, rng: random.Random) -> dict[str, Submission]:
    first, second = phase.tasks.order_by("index")
    running = _sent(phase, person, "two tasks", now=now, age=12)
    ahead = evaluated(running, state="running", now=now, task=first)
    Evaluation.objects.filter(pk=ahead.pk).update(episodes_done=5)
    evaluated(running, state="queued", now=now, task=second)
    finished = _sent(phase, person, "trials", now=now, age=90)
    for task in (first, second):
        _played(evaluated(finished, state="finished", now=now, task=task), rng=rng)
    board = phase.competition.leaderboards.get()
    for column in board.columns.all():
        value = 12.5 if column.key == "seconds" else 0.61
        ColumnValue.objects.create(
            submission=finished, column=column, value=value, unverified=2 if column.key == "pass3" else 0
        )
    Entry.objects.create(
        leaderboard=board, phase=phase, participant=person, submission=finished, primary_value=0.61, scenarios=12
    )
    return {"two_tasks": running, "trials": finished}


def _played(evaluation: Evaluation, *, rng: random.Random) -> None:
    """Episodes in trials, with what models they called: passed, failed, blocked and not verified."""
    scores = []
    episodes = [
        Episode(evaluation=evaluation, scenario=scenario, trial=trial, position=0, seed=trial)
        for scenario in evaluation.task.scenarios.all()
        for trial in range(1, TRIALS + 1)
    ]
    for number, episode in enumerate(episodes):
        code = {4: FailureCode.TIME_LIMIT, 7: FailureCode.BUDGET_EXCEEDED, 10: FailureCode.ENVIRONMENT_ERROR}.get(
            number
        )
        episode.position = number
        episode.outcome, episode.failure_code = ("failed", code) if code else ("answered", "")
        episode.failure_message = FAULTS.get(code, "The agent did not answer within 60 seconds.") if code else ""
        episode.seconds, episode.tool_calls = rng.uniform(1, 9), rng.randint(2, 9)
        episode.model_calls, episode.tokens = rng.randint(1, 12), rng.randint(900, 60_000)
        episode.cost = Decimal(episode.tokens) * Decimal("0.0000015")
        if code is FailureCode.ENVIRONMENT_ERROR or number % 6 == 5:  # of the sixth the judge gave no verdict
            continue
        value = 0.0 if code else rng.choice([0.333, 0.667, 1.0])
        scores.append(ScenarioScore(episode=episode, key="rubric.mean", value=value))
    Episode.objects.bulk_create(episodes)
    ScenarioScore.objects.bulk_create(scores)
    Score.objects.create(evaluation=evaluation, key="rubric.mean", value=0.61)
    evaluation.record["scoring"]["rubric"]["unverified"] = "2"
    evaluation.episodes_done = len(episodes)
    evaluation.save(update_fields=["record", "episodes_done"])


def _faults(phase: Phase, person: User, *, now: datetime) -> dict[str, Submission]:
    made = {}
    first, second = phase.tasks.order_by("index")
    for code, message in FAULTS.items():
        refunded = code.owner is not Owner.PARTICIPANT
        sent = _sent(phase, person, code, now=now, age=200, counts_as="nothing" if refunded else "attempt")
        evaluated(sent, state="failed", now=now, code=code, message=message, task=first)
        evaluated(sent, state="finished", now=now, task=second)
        made[f"fault_{code}"] = sent
    Job.objects.filter(evaluation__submission=made["fault_output_limit"]).update(log="=" * 30_000 + "\n")
    late = _sent(phase, person, "cancelled late", now=now, age=220)
    for task in (first, second):
        one = evaluated(late, state="cancelled", now=now, task=task)
        Evaluation.objects.filter(pk=one.pk).update(started_at=one.queued_at + timedelta(seconds=2), episodes_done=4)
        Job.objects.filter(evaluation=one).update(log=texts.LOG.partition("Traceback")[0])
    early = _sent(phase, person, "cancelled early", now=now, age=221, state="cancelled")
    lost = {"failure_code": "infrastructure", "failure_message": texts.LOST_CHECK, "counts_as": "nothing"}
    unchecked = _sent(phase, person, "unchecked", now=now, age=222, state="rejected", **lost)
    return made | {"cancelled_late": late, "cancelled_early": early, "unchecked": unchecked}


def _images(phase: Phase, person: User, *, now: datetime) -> dict[str, Submission]:
    note = {"file": "night.tar", "line": None, "level": "warning", "message": texts.IMAGE_NOTE}
    image = _sent(phase, person, "image", now=now, age=230, file_name="night.tar", agent=_IMAGE, findings=[note])
    evaluated(image, state="scoring", now=now, task=phase.tasks.order_by("index")[0])
    refused = _sent(
        phase,
        person,
        "image refused",
        now=now,
        age=231,
        state="rejected",
        file_name="planner-" + "very-" * 30 + "long.tar.zst",
        failure_code="invalid_bundle",
        failure_message="The image was not accepted: 1 point needs your attention.",
        findings=[{**note, "file": "planner-" + "very-" * 30 + "long.tar.zst", "level": "error"}],
        counts_as="failed_start",
    )
    return {"image": image, "image_refused": refused}


def _unserved(phase: Phase, moved: Phase, person: User, *, now: datetime) -> dict[str, Submission]:
    """On a queue of the organizer's own whose workers are away; one is of a phase that has another queue by now."""
    made = {}
    for key, of, state in (
        ("unserved", phase, "queued"),
        ("stranded", phase, "running"),
        ("stranded_moved", moved, "running"),
    ):
        sent = _sent(of, person, key.replace("_", " "), now=now, age=300)
        one = evaluated(sent, state=state, now=now, task=of.tasks.order_by("index")[0])
        Job.objects.filter(evaluation=one).update(queue=phase.queue)
        if state == "running":
            Evaluation.objects.filter(pk=one.pk).update(episodes_done=2)
        made[key] = sent
    return made


def _results(phase: Phase, person: User, *, now: datetime) -> dict[str, Submission]:
    made = {}
    for name, state, code in (("scored", "finished", ""), ("unscored", "failed", FailureCode.SCORING_ERROR)):
        sent = _sent(phase, person, f"results {name}", now=now, age=400, file_name="results.zip", agent={})
        if code:
            Submission.objects.filter(pk=sent.pk).update(counts_as="failed_start")
        message = "The scoring program rubric ended with exit code 2." if code else ""
        one = evaluated(sent, state=state, now=now, code=code, message=message)
        Evaluation.objects.filter(pk=one.pk).update(
            episodes_total=0, started_at=None, agent_seconds=0, scoring_at=one.queued_at + timedelta(seconds=1)
        )
        Job.objects.filter(evaluation=one).update(kind="score")
        made[f"results_{name}"] = sent
    return made
