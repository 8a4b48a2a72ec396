"""What a board sorts by is what its submissions' values say, and ranks are those of the whole board on any page."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Leaderboard, Phase
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.leaderboards.scores import TaskScores
from gauntlet.leaderboards.selectors import Board, board
from gauntlet.leaderboards.services import record_result
from gauntlet.submissions.models import Submission

SCORES = (None, 0.0, 0.25, 0.25, 0.5, 1.0)
PAGE = 4


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


def record(submission: Submission, score: float | None, *, steps: float = 1.0) -> None:
    aggregates = {"episodes.steps": steps} | ({} if score is None else {"rubric.score": score})
    record_result(submission, tasks=[TaskScores(aggregates=aggregates)], scenarios=3)


@pytest.mark.parametrize("rule", ["best", "latest"])
@pytest.mark.parametrize("sorting", ["desc", "asc"])
def test_an_entry_repeats_its_submissions_primary_value_whatever_was_recorded_last(
    phase: Phase, make_submission: Callable[..., Submission], make_user: Callable[..., User], rule: str, sorting: str
) -> None:
    """First results, results of reruns, and such as have no primary score any more, in an order of chance."""
    board = phase.competition.leaderboards.get()
    phase.competition.leaderboards.update(submission_rule=rule)
    board.columns.filter(primary=True).update(sorting=sorting)
    chance = random.Random(f"{rule} {sorting}")  # noqa: S311 -- an order of events, no secret
    person = make_user()
    submissions = [make_submission(phase, person) for _ in range(4)]
    seen = set()
    for _ in range(60):
        record(chance.choice(submissions), chance.choice(SCORES))
        entry = Entry.objects.get()
        value = ColumnValue.objects.filter(submission=entry.submission, column__primary=True).first()
        assert entry.primary_value == (value.value if value else None)
        seen.add((entry.submission_id, entry.primary_value))
    assert len(seen) > 2  # the events moved the entry and changed its value


@pytest.fixture
def crowd(phase: Phase, make_submission: Callable[..., Submission], make_user: Callable[..., User]) -> list[User]:
    """Participants and baselines in an order of chance, with ties and missing scores among both."""
    chance = random.Random(7)  # noqa: S311 -- rows of a board, no secret
    people = [make_user(f"p{n}") for n in range(15)]
    for number, person in enumerate(people):
        submission = make_submission(phase, person, baseline=number % 5 == 0)
        record(submission, chance.choice(SCORES), steps=chance.choice([1.0, 2.0, 3.0]))
    # One of them is a baseline and a participant: two rows.
    record(make_submission(phase, people[0]), 0.25)
    return people


def read(phase: Phase, **options: Any) -> Board:
    leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)
    return board(leaderboard=leaderboard, phase=phase, page_size=PAGE, **options)


def expected_ranks(phase: Phase, sorting: str) -> dict[tuple[str, bool], int | None]:
    """By definition: one more than the participants with a better value; no value is worse than any."""
    rows = {}
    for entry in Entry.objects.filter(phase=phase).select_related("participant"):
        value = ColumnValue.objects.filter(submission=entry.submission, column__primary=True).first()
        merit = float("-inf") if value is None else -value.value if sorting == "asc" else value.value
        rows[entry.participant.username, entry.baseline] = merit
    merits = [merit for (_, baseline), merit in rows.items() if not baseline]
    return {
        key: None if key[1] else 1 + sum(other > merit for other in merits)  # a baseline has none and takes none
        for key, merit in rows.items()
    }


@pytest.mark.parametrize("sorting", ["desc", "asc"])
@pytest.mark.parametrize("sort", ["", "-score", "steps", "-steps"])
def test_every_page_in_every_order_shows_the_ranks_of_the_whole_board(
    phase: Phase, crowd: list[User], sorting: str, sort: str
) -> None:
    phase.competition.leaderboards.get().columns.filter(primary=True).update(sorting=sorting)
    pages = [read(phase, sort=sort, page=number) for number in range(1, 5)]
    rows = [row for page in pages for row in page.rows]
    assert (pages[0].pages, len(rows)) == (4, 16)
    assert {(row.participant, row.baseline): row.rank for row in rows} == expected_ranks(phase, sorting)
    key = sort.removeprefix("-") or "score"
    values = [row.cells[key].value for row in rows if key in row.cells]
    highest_first = ((sorting if key == "score" else "asc") == "desc") != sort.startswith("-")
    assert values == sorted(values, reverse=highest_first)
    assert all(key not in row.cells for row in rows[len(values) :])  # what is missing stands last in both directions
    assert (len(values) < len(rows)) == (key == "score")


@pytest.mark.parametrize("sorting", ["desc", "asc"])
def test_a_search_and_the_own_row_show_the_ranks_of_the_whole_board(
    phase: Phase, crowd: list[User], sorting: str
) -> None:
    phase.competition.leaderboards.get().columns.filter(primary=True).update(sorting=sorting)
    expected = expected_ranks(phase, sorting)
    for person in crowd:
        found = read(phase, search=person.username)
        assert found.total == sum(person.username in name for name, _ in expected)
        assert [row.rank for row in found.rows] == [expected[row.participant, row.baseline] for row in found.rows]
        own = read(phase, reader_id=person.pk).own_row
        assert (own.rank if own else None) == expected.get((person.username, False))
