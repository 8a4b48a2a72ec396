"""Rows that the apps' tests share: a competition with a phase, a task with scenarios, a board; participants.

Models are imported inside the fixtures: pytest loads this file before it has set Django up.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Competition, Phase, Team
    from gauntlet.storage.models import Artifact
    from gauntlet.submissions.models import Submission

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def own_storage(settings: Any, tmp_path: Path) -> None:
    """Artifacts and uploads of a test go to a folder of its own; passwords are hashed quickly, in tests only."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR = str(uploads)
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "artifacts")},
        },
    }


@pytest.fixture
def numbers() -> Iterator[int]:
    """Numbers that make names unique within a test."""
    return count(1)


@pytest.fixture
def until_somebody_waits(db: None) -> Callable[[], None]:
    """Wait until another connection to the database waits for a lock."""

    def wait() -> None:
        give_up = time.monotonic() + 60
        while not _somebody_waits():
            assert time.monotonic() < give_up, "nobody waits for a lock"
            time.sleep(0.01)

    return wait


def _somebody_waits() -> bool:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


@pytest.fixture
def overlapping(db: None) -> Callable[[Callable[[], Any], Callable[[], Any]], Any]:
    """Do one thing, and before it is committed begin another in another thread, which may have to wait for it.

    Returns what the second gave, or raised.
    """
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection, transaction

    def do(second: Callable[[], Any]) -> Any:
        try:
            return second()
        except Exception as error:  # noqa: BLE001 - what it is, the test looks at
            return error
        finally:
            connection.close()

    def overlapping(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                first()
                later = pool.submit(do, second)
                give_up = time.monotonic() + 60
                while not later.done() and not _somebody_waits():
                    assert time.monotonic() < give_up, "it neither ends nor waits"
                    time.sleep(0.01)
            return later.result(timeout=60)

    return overlapping


@pytest.fixture
def make_user(db: None, numbers: Iterator[int]) -> Callable[..., User]:
    """Make a person."""

    from gauntlet.accounts.models import User

    def make(username: str = "", **fields: Any) -> User:
        username = username or f"user{next(numbers)}"
        return User.objects.create_user(username, f"{username}@example.org", "a long pass phrase", **fields)

    return make


@pytest.fixture
def make_artifact(db: None, numbers: Iterator[int]) -> Callable[..., Artifact]:
    """Keep some bytes."""

    from gauntlet.storage.services import store

    def make(content: bytes | None = None, form: str = "file") -> Artifact:
        return store(io.BytesIO(content if content is not None else b"%d" % next(numbers)), form=form)

    return make


@pytest.fixture
def make_phase(make_user: Callable[..., User], make_artifact: Callable[..., Artifact], numbers: Iterator[int]) -> Any:
    """Make a published competition with one open phase, one task with scenarios, and a board with two columns.

    Columns: ``score`` (primary, from rubric.score, higher is better) and ``steps`` (from episodes.steps, lower is).
    """

    from gauntlet.competitions.models import (
        Column,
        Competition,
        Leaderboard,
        Phase,
        Scenario,
        Task,
        TaskScoringProgram,
    )

    def make(
        *, scenarios: int = 3, public: bool = False, competition: Competition | None = None, **fields: Any
    ) -> Phase:
        number = next(numbers)
        if competition is None:
            competition = Competition.objects.create(
                slug=f"competition{number}",
                title=f"Competition {number}",
                organizer=make_user(),
                terms="Be fair.",
                registration_auto_approve=True,
                published=True,
            )
        task = Task.objects.create(
            competition=competition,
            index=number,
            name=f"Task {number}",
            environment=make_artifact(form="zip"),
            environment_command=["python", "server.py"],
            reference_data=make_artifact(form="zip"),
            hidden=not public,
        )
        TaskScoringProgram.objects.create(task=task, index=0, key="rubric", program=make_artifact(form="zip"))
        Scenario.objects.bulk_create(
            Scenario(
                task=task,
                index=index,
                key=f"key-{index}",
                opaque_id=f"opaque-{number}-{index}",
                text=f"Question {number}.{index}?",
                category="Data Query",
                public=public,
            )
            for index in range(scenarios)
        )
        phase = Phase.objects.create(
            **{"competition": competition, "index": number, "name": f"Phase {number}", "start": LONG_AGO, **fields}
        )
        phase.tasks.add(task)
        if not competition.leaderboards.exists():
            board = Leaderboard.objects.create(competition=competition, key="results", title="Results")
            Column.objects.create(
                leaderboard=board,
                index=0,
                key="score",
                title="Score",
                precision=3,
                primary=True,
                source="rubric.score",
                interval="bootstrap",
                low=0.0,
                high=1.0,
            )
            Column.objects.create(
                leaderboard=board, index=1, key="steps", title="Steps", sorting="asc", source="episodes.steps"
            )
        return phase

    return make


@pytest.fixture
def make_people(make_user: Callable[..., User]) -> Callable[..., dict[str, User]]:
    """Make people who take part in a phase's competition, by their names."""
    from gauntlet.competitions.services import join

    def make(phase: Phase, *names: str) -> dict[str, User]:
        made = {name: make_user(name) for name in names}
        for user in made.values():
            join(phase.competition, user=user, terms_accepted=True)
        return made

    return make


@pytest.fixture
def make_team(db: None) -> Callable[..., Team]:
    """Make a team of those who take part: of a captain, and of whoever joins."""
    from gauntlet.submissions.teams import create_team, join_team

    def make(phase: Phase, name: str, captain: User, *others: User) -> Team:
        made = create_team(phase.competition, captain=captain, name=name)
        for user in others:
            join_team(phase.competition, user=user, code=made.code)
        return made

    return make


@pytest.fixture
def make_submission(make_user: Callable[..., User], make_artifact: Callable[..., Artifact]) -> Any:
    """Make a submission of a participant of the phase's competition, accepted unless said otherwise."""

    from django.utils import timezone

    from gauntlet.competitions.models import Participation
    from gauntlet.submissions.models import Submission

    def make(phase: Phase, participant: User | None = None, **fields: Any) -> Submission:
        participant = participant or make_user()
        Participation.objects.get_or_create(
            competition=phase.competition,
            user=participant,
            defaults={"state": "approved", "terms_accepted_at": timezone.now()},
        )
        return Submission.objects.create(
            **{
                "phase": phase,
                "participant": participant,
                "name": "agent",
                "file_name": "agent.zip",
                "bundle": make_artifact(form="zip"),
                "agent_bundle": make_artifact(form="zip"),
                "agent": {"name": "agent", "command": ["python", "agent.py"]},
                "state": "accepted",
                "checked_at": timezone.now(),
                **fields,
            }
        )

    return make


@pytest.fixture
def at_once() -> Callable[[int, Callable[[], Any]], list[Any]]:
    """Do something in several threads at once, each with a database connection of its own; what each gave."""
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    def do(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            connection.close()

    def at_once(count: int, work: Callable[[], Any]) -> list[Any]:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(do, [work] * count))

    return at_once
