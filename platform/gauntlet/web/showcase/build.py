"""The showcase's competitions, people and boards."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.db import transaction
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.competitions.models import (
    Baseline,
    Column,
    Competition,
    Leaderboard,
    Page,
    Participation,
    ParticipationState,
    Phase,
    Scenario,
    Task,
    Team,
    Visibility,
)
from gauntlet.evaluation.models import Evaluation
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.queues.models import Queue
from gauntlet.reviews.models import Study
from gauntlet.storage.models import Artifact
from gauntlet.submissions.models import Submission
from gauntlet.web.showcase import queues, reviews, runs, submissions, texts

PASSWORD: Final = "showcase-only-7"  # noqa: S105 -- of made-up people in a development database


@dataclass(frozen=True, kw_only=True)
class Showcase:
    """What was made: who to log in as, and where to look."""

    participant: User
    organizer: User
    newcomer: User
    expert: User
    operator: User
    plant: Competition
    telemetry: Competition
    dispatch: Competition
    approval: Competition
    ended: Competition
    by_state: dict[str, Submission]
    studies: dict[str, Study]
    queue: Queue


@transaction.atomic
def build(*, seed: int = 7) -> Showcase:
    """Fill an empty database; the same seed makes the same rows."""
    rng = random.Random(seed)  # noqa: S311 -- made-up scores, nothing secret
    now = timezone.now().replace(microsecond=0)
    password = make_password(PASSWORD)
    crowd = [f"{left}-{right}" for left in texts.LEFT for right in texts.RIGHT][:210]
    names = ["plantops", "newcomer", *texts.PEOPLE, *crowd, *reviews.EXPERTS, *texts.AWKWARD]
    people = User.objects.bulk_create(
        User(username=name, email=f"{name}@people.example", password=password) for name in names
    )
    organizer, newcomer, everyone, experts, awkward = people[0], people[1], people[2:-6], people[-6:-3], people[-3:]
    organizer.user_permissions.add(Permission.objects.get(codename="add_competition"))
    ada = everyone[0]
    plant = _plant(organizer, now=now)
    telemetry = _telemetry(organizer, now=now)
    dispatch = _competition(
        organizer, "night-dispatch", "Night dispatch", now=now, starts=-9, ends=40, hidden_scenarios=8
    )
    approval = _competition(
        organizer, "fault-trees", "Fault trees from manuals", now=now, starts=6, ends=60, auto_approve=False
    )
    ended = _competition(organizer, "shift-handover", "Shift handover notes", now=now, starts=-90, ends=-20)
    for competition, joined in (
        (plant, everyone[:40]),
        (telemetry, everyone),
        (dispatch, [ada]),
        (ended, [*everyone[:3], *awkward]),
    ):
        _join(competition, joined, ParticipationState.APPROVED, now=now)
    _join(approval, everyone[1:9], ParticipationState.PENDING, now=now)
    _join(approval, [ada], ParticipationState.PENDING, now=now)
    _join(approval, everyone[9:11], ParticipationState.DENIED, now=now)
    team = _team(plant, "Night shift", everyone[1:4])
    foxes = _team(ended, texts.AWKWARD_TEAM, awkward[1:])
    development, test = plant.phases.all()
    fill_board(test, [*everyone[1:8], ada], baselines=[organizer], rng=rng, now=now, digits=4)
    fill_board(development, everyone[1:40], baselines=[organizer], rng=rng, now=now, digits=2)
    fill_board(telemetry.phases.get(), everyone[:250], baselines=[organizer], rng=rng, now=now, digits=2)
    then = now - timedelta(days=30)
    fill_board(ended.phases.get(), [*everyone[:3], *awkward[:2]], baselines=[], rng=rng, now=then, digits=3)
    for one in (team, foxes):
        Submission.objects.filter(phase__competition=one.competition, participant=one.captain).update(team=one)
    Submission.objects.filter(phase__competition=ended, participant=ada).update(name=texts.AWKWARD_SUBMISSION)
    by_state = submissions.in_every_state(development, ada, now=now, rng=rng)
    queues.platform_workers(now=now)
    tasks = [dispatch.tasks.get(), _task(dispatch, 1, 4, public=True)]
    by_state |= runs.in_every_ending(dispatch, ada, tasks=tasks, now=now, rng=rng)
    by_state["hidden"] = submissions.finished_hidden(test, ada, now=now, rng=rng)
    studies = reviews.studies(development, test, organizer=organizer, people=[*experts, *everyone[-2:]], seed=seed)
    return Showcase(
        participant=ada,
        organizer=organizer,
        newcomer=newcomer,
        expert=experts[0],
        operator=User.objects.create(username="operator", email=texts.OPERATOR, password=password, is_staff=True),
        plant=plant,
        telemetry=telemetry,
        dispatch=dispatch,
        approval=approval,
        ended=ended,
        by_state=by_state,
        studies=studies,
        queue=queues.own_queue(approval.phases.get(), colleague=experts[0], now=now),
    )


def _competition(
    organizer: User,
    slug: str,
    title: str,
    *,
    now: datetime,
    starts: int,
    ends: int,
    description: str = "An agent reads what people wrote and keeps what matters.",
    auto_approve: bool = True,
    hidden_scenarios: int = 12,
) -> Competition:
    """A competition of one phase with a board; ``starts`` and ``ends`` in days from now."""
    competition = Competition.objects.create(
        slug=slug,
        title=title,
        description=description,
        organizer=organizer,
        terms=texts.TERMS,
        registration_auto_approve=auto_approve,
        published=True,
        contact_email="plantops@people.example",
        reward="",
    )
    Page.objects.create(
        competition=competition, index=0, title="Overview", source=description, html=f"<p>{description}</p>"
    )
    phase = Phase.objects.create(
        competition=competition,
        index=0,
        name="Test",
        start=now + timedelta(days=starts, hours=3),
        end=now + timedelta(days=ends, hours=4),
    )
    phase.tasks.add(_task(competition, 0, hidden_scenarios, public=False))
    _board(competition)
    return competition


def _plant(organizer: User, *, now: datetime) -> Competition:
    import nh3
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("table")
    competition = Competition.objects.create(
        slug="plant-floor-questions",
        title="Plant floor questions",
        description="Answer a maintenance team's questions with tools over untidy records, and say so where the "
        "records cannot answer.",
        organizer=organizer,
        terms=texts.TERMS,
        registration_auto_approve=True,
        time_zone="Europe/Vienna",
        contact_email="plantops@people.example",
        reward="The winners present at the winter workshop",
        published=True,
    )
    for index, (title, source) in enumerate((("Overview", texts.OVERVIEW), ("Data", texts.DATA))):
        html = nh3.clean(markdown.render(source))
        Page.objects.create(competition=competition, index=index, title=title, source=source, html=html)
    development = Phase.objects.create(
        competition=competition,
        index=0,
        name="Development",
        description="Twenty public scenarios; you see everything your agent did.",
        start=now - timedelta(days=40),
        end=now + timedelta(days=12, hours=5),
        visibility=Visibility.FULL,
    )
    development.tasks.add(_task(competition, 0, 20, public=True))
    test = Phase.objects.create(
        competition=competition,
        index=1,
        name="Test",
        description="Sixty hidden scenarios; you see scores.",
        start=now - timedelta(days=3),
        end=now + timedelta(days=12, hours=5),
        visibility=Visibility.SCORES,
        max_submissions_per_day=2,
        max_submissions=20,
    )
    test.tasks.add(_task(competition, 1, 60, public=False))
    _board(competition)
    return competition


def _telemetry(organizer: User, *, now: datetime) -> Competition:
    return _competition(
        organizer,
        "district-heating-telemetry",
        "District heating telemetry",
        now=now,
        starts=-21,
        ends=30,
        description="Find the fault behind a substation's alarm by asking for the right signals in the right order.",
        hidden_scenarios=120,
    )


def _task(competition: Competition, index: int, scenarios: int, *, public: bool) -> Task:
    task = Task.objects.create(
        competition=competition,
        index=index,
        name="Public questions" if public else "Hidden questions",
        hidden=not public,
    )
    Scenario.objects.bulk_create(
        Scenario(
            task=task,
            index=number,
            key=str(400 + number),
            opaque_id=hashlib.sha256(f"{competition.slug}{index}{number}".encode()).hexdigest()[:12],
            text=texts.QUESTIONS[number % len(texts.QUESTIONS)][0],
            category=texts.QUESTIONS[number % len(texts.QUESTIONS)][1],
            public=public,
        )
        for number in range(scenarios)
    )
    return task


def _board(competition: Competition) -> Leaderboard:
    board = Leaderboard.objects.create(competition=competition, key="main", title="Main")
    columns = [
        ("rubric", "Rubric", "rubric.mean", "desc", 3, 0.0, 1.0),
        ("completion", "Completion", "rubric.task_completion", "desc", 3, 0.0, 1.0),
        ("retrieval", "Retrieval", "rubric.data_retrieval_accuracy", "desc", 3, 0.0, 1.0),
        ("verification", "Verification", "rubric.result_verification", "desc", 3, 0.0, 1.0),
        ("rouge_l", "ROUGE-L", "rouge.rougeL", "desc", 3, 0.0, 1.0),
        ("bertscore", "BERTScore", "bertscore.f1", "desc", 3, 0.0, 1.0),
        ("seconds", "Seconds", "episodes.seconds", "asc", 1, None, None),
    ]
    for index, (key, title, source, sorting, precision, low, high) in enumerate(columns):
        Column.objects.create(
            leaderboard=board,
            index=index,
            key=key,
            title=title,
            source=source,
            sorting=sorting,
            precision=precision,
            low=low,
            high=high,
            primary=index == 0,
            interval="bootstrap" if index == 0 else "",
        )
    Baseline.objects.create(
        leaderboard=board,
        index=0,
        name="Lookup table",
        source="Made up, as everything here: what a published result looks like",
        scores={"rubric": 0.412, "completion": 0.45, "retrieval": 0.4, "verification": 0.386},
    )
    return board


def _join(competition: Competition, users: Sequence[User], state: ParticipationState, *, now: datetime) -> None:
    Participation.objects.bulk_create(
        Participation(competition=competition, user=user, state=state, terms_accepted_at=now) for user in users
    )


def _team(competition: Competition, name: str, members: Sequence[User]) -> Team:
    """A team, the first of its members the captain."""
    Competition.objects.filter(pk=competition.pk).update(max_team_size=4)
    code = f"made-up-code-{competition.pk}"
    team = Team.objects.create(competition=competition, name=name, captain=members[0], code=code)
    Participation.objects.filter(competition=competition, user__in=members).update(team=team)
    return team


def artifact(name: str, size: int = 48_213) -> Artifact:
    """A row that stands for a bundle that nobody will open."""
    digest = f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"
    return Artifact.objects.get_or_create(digest=digest, defaults={"size": size})[0]


def _ran(submission: Submission, task: Task) -> Evaluation:
    """That it was run and scored, without a word of how."""
    at = submission.created_at
    return Evaluation(
        submission=submission,
        task=task,
        state="finished",
        in_force=True,
        seed=11,
        queued_at=at + timedelta(seconds=4),
        started_at=at + timedelta(seconds=6),
        scoring_at=at + timedelta(seconds=54),
        ended_at=at + timedelta(seconds=57),
    )


def fill_board(
    phase: Phase, people: Sequence[User], *, baselines: Sequence[User], rng: random.Random, now: datetime, digits: int
) -> None:
    """A finished submission and a row for each person; few ``digits`` make ties."""
    board = phase.competition.leaderboards.get()
    columns = list(board.columns.all())
    bundle = artifact("a small agent")
    rows = [(person, False) for person in people] + [(person, True) for person in baselines]
    made = Submission.objects.bulk_create(
        Submission(
            phase=phase,
            participant=person,
            name="rules only" if baseline else f"{person.username} {rng.randint(1, 30)}",
            file_name="agent.zip",
            bundle=bundle,
            agent_bundle=bundle,
            state="accepted",
            baseline=baseline,
        )
        for person, baseline in rows
    )
    scenarios = Scenario.objects.filter(task__phases=phase).count()
    values, entries = [], []
    for submission in made:
        submission.created_at = now - timedelta(minutes=rng.randint(60, 4000))
        skill = 0.41 if submission.baseline else round(rng.betavariate(5, 2.4), digits)
        half = 0.9 * (skill * (1 - skill) / scenarios) ** 0.5 + 0.01
        for column in columns:
            value = skill if column.primary else min(1.0, max(0.0, skill + rng.uniform(-0.12, 0.12)))
            if column.key == "seconds":
                value = rng.uniform(1.5, 40)
            if column.key == "bertscore" and rng.random() < 0.04:
                continue
            low, high = (max(0.0, value - half), min(1.0, value + half)) if column.interval else (None, None)
            values.append(ColumnValue(submission=submission, column=column, value=value, low=low, high=high))
        entries.append(
            Entry(
                leaderboard=board,
                phase=phase,
                participant=submission.participant,
                baseline=submission.baseline,
                submission=submission,
                primary_value=skill,
                scenarios=scenarios,
            )
        )
        submission.checked_at = submission.created_at + timedelta(seconds=4)
    Submission.objects.bulk_update(made, ["created_at", "checked_at"])
    Evaluation.objects.bulk_create(_ran(submission, phase.tasks.get()) for submission in made)
    ColumnValue.objects.bulk_create(values)
    Entry.objects.bulk_create(entries)
