"""What a page reads changes between any two of its statements: whoever reads it is told something, and never a 500."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from gauntlet.leaderboards import one_moment

if TYPE_CHECKING:
    from gauntlet.web.showcase import Showcase

SPOILT = ("SAVEPOINT", "RELEASE", "ROLLBACK")


def statements(*lines: str) -> Callable[[], None]:
    """Carries statements out, all checks of theirs at once."""

    def change() -> None:
        with connection.cursor() as cursor:
            for line in ("SET CONSTRAINTS ALL IMMEDIATE", *lines):
                cursor.execute(line)

    return change


CHANGES = {
    "claimed": statements(
        "UPDATE evaluation_job SET state = 'leased', token = gen_random_uuid(), worker = 'worker-1:1', "
        "leased_until = now() + interval '1 minute', started_at = now() WHERE state = 'ready'",
        "UPDATE evaluation_evaluation SET state = 'running', started_at = now() WHERE state = 'queued'",
    ),
    "cancelled": statements(
        "DELETE FROM evaluation_job",
        "UPDATE evaluation_evaluation SET state = 'cancelled', ended_at = now() "
        "WHERE state IN ('queued', 'running', 'scoring')",
        "UPDATE submissions_submission SET state = 'cancelled' WHERE state IN ('received', 'checking')",
    ),
    "deleted": statements("TRUNCATE submissions_submission, competitions_team CASCADE"),
    "closed to readers": statements(
        "UPDATE competitions_competition SET published = false", "DELETE FROM competitions_participation"
    ),
    "without queues and workers": statements("TRUNCATE queues_queue, evaluation_worker CASCADE"),
    "without studies": statements("TRUNCATE reviews_study CASCADE"),
}


class Interruption:
    """Lets something happen before the n-th statement of what is read; within one moment, after it."""

    def __init__(self, at: int, change: Callable[[], None]) -> None:
        self.left = at
        self.change = change
        self.done = self.within = False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not self.done and not sql.startswith(SPOILT):
            if self.left <= 0 and not self.within:
                self.done = True
                self.change()
            self.left -= 1
        return execute(sql, params, many, context)

    # In a test's transaction everything would be read as that one sees it. Here, in the place of `connection` and
    # `transaction` of `gauntlet.leaderboards.one_moment`, it is read as if there was none around.
    in_atomic_block = False

    def cursor(self) -> Any:
        return nullcontext(Mock())

    @contextmanager
    def atomic(self) -> Iterator[None]:
        self.within = True
        try:
            yield
        finally:
            self.within = False


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Client, str, Callable[[], None]], list[int]]:
    """The answers at an address, a change having happened before the first, the second, ... statement."""

    def once(client: Client, path: str, interruption: Interruption) -> int:
        with transaction.atomic(), connection.execute_wrapper(interruption):
            answer: Any = client.get(path)
            if answer.streaming and not answer.is_async:
                b"".join(answer.streaming_content)
            transaction.set_rollback(True)
        return int(answer.status_code)

    def read(client: Client, path: str, change: Callable[[], None]) -> list[int]:
        told: list[int] = []
        while True:
            interruption = Interruption(len(told), change)
            monkeypatch.setattr(one_moment, "connection", interruption)
            monkeypatch.setattr(one_moment, "transaction", interruption)
            told.append(once(client, path, interruption))
            if not interruption.done:  # it has no such statement any more
                return told

    return read


@pytest.fixture
def of_two_queues(world: Showcase, db: None) -> None:
    """Workers that serve one queue, and those that serve two: a place in the queue is looked up for both."""
    from gauntlet.evaluation.models import Worker

    for name, queues in (("both:1", ["default", "gpu"]), ("one:1", ["default"])):
        Worker.objects.create(
            name=name, host=name, queues=queues, state="idle", seen_at=timezone.now() + timedelta(days=1)
        )


def pages(world: Showcase) -> dict[str, tuple[Any, str]]:
    """By what they show: who reads them, and where they are."""
    submission = {state: f"/submissions/{one.pk}/" for state, one in world.by_state.items()}
    api = {state: f"/api/v1/submissions/{one.pk}" for state, one in world.by_state.items()}
    plant = f"/competitions/{world.plant.slug}"
    return {
        "one that waits": (world.participant, submission["queued"]),
        "one that runs": (world.participant, f"{submission['two_tasks']}story"),
        "one that is finished": (world.participant, api["finished"]),
        "one among others": (world.participant, f"{submission['finished']}compare/"),
        "one that nobody serves, to its organizer": (world.organizer, submission["unserved"]),
        "one's own": (world.participant, "/submissions/"),
        "a board": (world.participant, f"{plant}/leaderboard/"),
        "an organizer's": (world.organizer, f"{plant}/organizer/"),
        "a study": (world.organizer, f"{plant}/organizer/reviews/{world.studies['judge'].pk}/"),
        "an own queue": (world.organizer, f"/queues/{world.queue.name}/"),
        "the workers": (world.operator, "/operators/workers/"),
    }


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("one that waits", "claimed"),
        ("one that waits", "cancelled"),
        ("one that waits", "closed to readers"),
        ("one that waits", "without queues and workers"),
        ("one that runs", "cancelled"),
        ("one that is finished", "deleted"),
        ("one among others", "deleted"),
        ("one among others", "closed to readers"),
        ("one that nobody serves, to its organizer", "claimed"),
        ("one that nobody serves, to its organizer", "without queues and workers"),
        ("one's own", "cancelled"),
        ("one's own", "deleted"),
        ("a board", "deleted"),
        ("a board", "closed to readers"),
        ("an organizer's", "cancelled"),
        ("an organizer's", "deleted"),
        ("a study", "without studies"),
        ("a study", "deleted"),
        ("an own queue", "claimed"),
        ("an own queue", "without queues and workers"),
        ("the workers", "claimed"),
        ("the workers", "without queues and workers"),
    ],
)
def test_nothing_that_changes_meanwhile_breaks_a_page(
    name: str, change: str, world: Showcase, of_two_queues: None, read: Any
) -> None:
    reader, path = pages(world)[name]
    client = Client()
    client.force_login(reader)
    told = read(client, path, CHANGES[change])
    assert len(told) > 3  # statements
    assert told[-1] == 200  # nothing happened
    assert set(told) <= {200, 302, 404, 409}
