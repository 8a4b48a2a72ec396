"""A board that is read while somebody writes is the one before or the one after, and no part of either."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Leaderboard, Phase
from gauntlet.leaderboards.export import board_csv
from gauntlet.leaderboards.models import Entry
from gauntlet.leaderboards.one_moment import one_moment
from gauntlet.leaderboards.scores import TaskScores
from gauntlet.leaderboards.selectors import board
from gauntlet.leaderboards.services import record_result
from gauntlet.submissions.models import Submission

pytestmark = pytest.mark.django_db(transaction=True)

READERS = 8  # more than the statements of a reader: for the last one, the change comes after all of them


class Interruption:
    """Lets somebody else write, once, after a statement that reads a board's rows or values."""

    def __init__(self, write: Callable[[], None], *, after: int) -> None:
        self.write, self.left = write, after

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if "leaderboards_" in sql:
            self.left -= 1
            if self.left == 0:
                with ThreadPoolExecutor(1) as other:  # with a connection of its own
                    other.submit(self._write).result(timeout=60)
        return answer

    def _write(self) -> None:
        try:
            self.write()
        finally:
            connection.close()


def record(submission: Submission, score: float) -> Submission:
    record_result(submission, tasks=[TaskScores(aggregates={"rubric.score": score})], scenarios=3)
    return submission


def as_page(leaderboard: Leaderboard, phase: Phase, reader: User) -> object:
    found = board(leaderboard=leaderboard, phase=phase, reader_id=reader.pk, page_size=2)
    return [found.rows, found.own_row, found.entries, found.updated_at, found.low, found.high]


def as_csv(leaderboard: Leaderboard, phase: Phase, reader: User) -> object:
    return "".join(board_csv(leaderboard=leaderboard, phase=phase))


@pytest.mark.parametrize("read", [as_page, as_csv])
def test_a_reader_sees_no_half_of_a_change(
    make_phase: Callable[..., Phase],
    make_submission: Callable[..., Submission],
    make_user: Callable[..., User],
    read: Callable[[Leaderboard, Phase, User], object],
) -> None:
    """What changes: the leader's rerun makes them the last, and the last one's next submission makes them the first."""
    people = [make_user(name) for name in ("ada", "bob", "eve")]
    written_between = set()
    for after in range(1, READERS + 1):
        phase = make_phase()
        first, _, _ = (record(make_submission(phase, one), 0.9 - n / 5) for n, one in enumerate(people))
        better = make_submission(phase, people[2])
        leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)

        def change(first: Submission = first, better: Submission = better) -> None:
            with transaction.atomic():
                record(first, 0.1)
                record(better, 1.0)

        before = read(leaderboard, phase, people[1])
        interruption = Interruption(change, after=after)
        with connection.execute_wrapper(interruption):
            found = read(leaderboard, phase, people[1])
        written_between.add(interruption.left <= 0)
        if interruption.left > 0:
            change()
        later = read(leaderboard, phase, people[1])
        assert before != later
        assert found in (before, later)
    assert written_between == {True, False}


def test_what_is_read_at_one_moment_is_not_written() -> None:
    with pytest.raises(Exception, match="read-only transaction"), one_moment():
        User.objects.create(username="ada")
    assert not User.objects.exists()


@pytest.mark.parametrize("rule", ["best", "latest"])
def test_results_that_are_recorded_at_once_leave_one_row_and_it_is_the_right_one(
    make_phase: Callable[..., Phase],
    make_submission: Callable[..., Submission],
    make_user: Callable[..., User],
    at_once: Callable[[int, Callable[[], Any]], list[Any]],
    rule: str,
) -> None:
    phase, ada = make_phase(), make_user("ada")
    phase.competition.leaderboards.update(submission_rule=rule)
    scores = [0.2, 0.9, 0.4, 0.9, 0.1]
    submissions = [make_submission(phase, ada) for _ in scores]
    left = list(zip(submissions, scores, strict=True))
    at_once(len(scores), lambda: record(*left.pop()))
    leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)
    (row,) = board(leaderboard=leaderboard, phase=phase).rows
    stands = {"best": (submissions[1], 0.9), "latest": (submissions[4], 0.1)}[rule]
    assert (row.submission, row.cells["score"].value) == (stands[0].pk, stands[1])
    assert Entry.objects.get().primary_value == stands[1]
