"""The leaderboard's API with 100, 1,000 and 5,000 rows, beside a board read row by row through the ORM.

The plain way takes two queries a row, so it reads no more than `PLAIN_ROWS` entries; its time and its queries for a
larger board are that many times as much, which is what they are shown as.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

SIZES = (100, 1_000, 5_000)
REPEATS = 15
PLAIN_ROWS = 100
PLAIN_IS = f"each row and its values read through the ORM, one after the other (beyond {PLAIN_ROWS} rows: scaled up)"


def rows() -> list[dict[str, Any]]:
    """One row a measure; needs Django set up on an empty installation of its own."""
    from django.test import Client

    table = []
    client = Client()
    for size in SIZES:
        with _board(size) as slug:
            address = f"/api/v1/competitions/{slug}/phases/0/leaderboard"
            page, queries = _measure(lambda address=address: client.get(address))
            plain, plain_queries = (
                each * size / PLAIN_ROWS for each in _measure(lambda slug=slug: _plain_page(slug), repeats=1)
            )
            table.append(_row(f"board of {size}: page of 100", page * 1000, plain * 1000, goal=50.0, unit="ms"))
            table.append(_row(f"board of {size}: queries", queries, plain_queries, goal=10, unit=""))
            if size == max(SIZES):
                whole, _ = _measure(lambda address=address: b"".join(client.get(f"{address}.csv").streaming_content))
                table.append(_row(f"board of {size}: all as CSV", whole, plain, goal=0.5, unit="s"))
    return table


def _row(name: str, ours: float, plain: float, *, goal: float, unit: str) -> dict[str, Any]:
    return {
        "name": name,
        "ours": ours,
        "plain": plain,
        "goal": goal,
        "unit": unit,
        "ok": ours <= goal,
        "plain_is": PLAIN_IS,
    }


def _measure(call: Callable[[], Any], *, repeats: int = REPEATS) -> tuple[float, int]:
    """Median seconds and the number of queries of a call."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        call()
        queries = len(captured)  # here: the next request empties the list
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds), queries


def _plain_page(slug: str) -> list[tuple[str, list[float]]]:
    """The obvious way: every entry, its participant and its values read one after the other, sorted in Python."""
    from gauntlet.leaderboards.models import Entry

    table = []
    for entry in Entry.objects.filter(phase__competition__slug=slug)[:PLAIN_ROWS]:
        values = {value.column.key: value.value for value in entry.submission.column_values.all()}
        table.append((entry.participant.username, values))
    return sorted(table, key=lambda row: -row[1]["c0"])[:100]


@contextmanager
def _board(size: int, columns: int = 9) -> Iterator[str]:
    """A competition whose board has this many entries; gone afterwards.

    With the statistics that a database gathers of itself within a minute of such a change.
    """
    from django.db import connection, transaction

    with transaction.atomic():
        slug = _make_board(size, columns)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        yield slug
        transaction.set_rollback(True)


def _make_board(size: int, columns: int) -> str:
    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Column, Competition, Leaderboard, Phase
    from gauntlet.leaderboards.models import ColumnValue, Entry
    from gauntlet.storage.models import Artifact
    from gauntlet.submissions.models import Submission

    people = User.objects.bulk_create(
        User(username=f"p{size}-{n}", email=f"p{size}-{n}@example.org", password="!")  # cannot log in
        for n in range(size)
    )
    competition = Competition.objects.create(
        slug=f"bench{size}", title="Bench", organizer=people[0], terms="-", published=True
    )
    phase = Phase.objects.create(competition=competition, index=0, name="Test", start=datetime(2020, 1, 1, tzinfo=UTC))
    board = Leaderboard.objects.create(competition=competition, key="results", title="Results")
    made = Column.objects.bulk_create(
        Column(leaderboard=board, index=n, key=f"c{n}", title=f"C{n}", primary=n == 0, source=f"p.c{n}")
        for n in range(columns)
    )
    artifact = Artifact.objects.create(digest="sha256:" + f"{size:064x}", size=1)
    submissions = Submission.objects.bulk_create(
        Submission(phase=phase, participant=person, name="agent", file_name="a.zip", bundle=artifact, state="accepted")
        for person in people
    )
    values = ColumnValue.objects.bulk_create(
        ColumnValue(submission=one, column=column, value=(7919 * n + column.index) % 1000 / 1000)
        for n, one in enumerate(submissions)
        for column in made
    )
    Entry.objects.bulk_create(
        Entry(
            leaderboard=board,
            phase=phase,
            participant=value.submission.participant,
            submission=value.submission,
            primary_value=value.value,  # as gauntlet.leaderboards.services stores it
            scenarios=60,
        )
        for value in values
        if value.column.primary
    )
    return competition.slug
