"""What a board shows: ranks, ties, missing scores, baselines, search, pages, the reader's own row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Leaderboard, Phase
from gauntlet.leaderboards.scores import TaskScores
from gauntlet.leaderboards.selectors import Board, board, compare
from gauntlet.leaderboards.services import record_result
from gauntlet.submissions.models import Submission


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


@pytest.fixture
def enter(phase: Phase, make_submission: Callable[..., Submission]) -> Callable[..., Submission]:
    def enter(participant: User | None, score: float | None, steps: float = 1.0, **fields: Any) -> Submission:
        submission = make_submission(phase, participant, **fields)
        aggregates = {"episodes.steps": steps} | ({} if score is None else {"rubric.score": score})
        record_result(submission, tasks=[TaskScores(aggregates=aggregates)], scenarios=3)
        return submission

    return enter


def read(phase: Phase, **options: Any) -> Board:
    leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)
    return board(leaderboard=leaderboard, phase=phase, **options)


def ranks(found: Board) -> list[tuple[int | None, str]]:
    return [(row.rank, row.participant) for row in found.rows]


@pytest.fixture
def people(make_user: Callable[..., User]) -> dict[str, User]:
    return {name: make_user(name) for name in ("ada", "bob", "eve", "joe")}


def test_equal_scores_share_a_rank_and_the_next_rank_is_skipped(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    for name, score in {"ada": 0.5, "bob": 0.9, "eve": 0.9, "joe": 0.1}.items():
        enter(people[name], score)
    assert ranks(read(phase)) == [(1, "bob"), (1, "eve"), (3, "ada"), (4, "joe")]


def test_published_results_stand_beside_the_rows_in_the_same_order_and_take_no_rank(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    made = phase.competition.leaderboards.get().baselines
    for number, (name, score) in enumerate([("low", 0.1), ("high", 0.9), ("none", None)]):
        made.create(index=number, name=name, source="A paper", scores={} if score is None else {"score": score})
    enter(people["ada"], 0.5)
    found = read(phase)
    assert ranks(found) == [(1, "ada")]
    assert [one.name for one in found.published] == ["high", "low", "none"]
    assert [one.name for one in read(phase, sort="-score").published] == ["low", "high", "none"]
    assert found.published[0].cells["score"].text == "0.900"


def test_unrounded_values_decide_where_the_shown_digits_are_equal(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    enter(people["ada"], 0.50001)
    enter(people["bob"], 0.50002)
    found = read(phase)
    assert ranks(found) == [(1, "bob"), (2, "ada")]
    assert {row.cells["score"].text for row in found.rows} == {"0.500"}


@pytest.mark.parametrize("sorting", ["desc", "asc"])
def test_a_missing_score_ranks_last_in_both_directions(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User], sorting: str
) -> None:
    primary = phase.competition.leaderboards.get().columns.get(primary=True)
    primary.sorting = sorting
    primary.save()
    enter(people["ada"], None)
    enter(people["bob"], 0.0)
    enter(people["eve"], 1.0)
    assert ranks(read(phase))[-1] == (3, "ada")
    assert read(phase).rows[0].participant == ("eve" if sorting == "desc" else "bob")


def test_a_baseline_is_marked_has_no_rank_and_takes_none(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    enter(people["ada"], 0.5)
    enter(people["bob"], 0.9, baseline=True)
    assert [(row.rank, row.participant, row.baseline) for row in read(phase).rows] == [
        (None, "bob", True),
        (1, "ada", False),
    ]


def test_the_best_submission_stands_and_of_equal_ones_the_earlier(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    first = enter(people["ada"], 0.5)
    enter(people["ada"], 0.5)
    enter(people["ada"], 0.2)
    enter(people["ada"], None)
    (row,) = read(phase).rows
    assert row.submission == first.pk


def test_the_latest_stands_where_the_rule_says_so(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    phase.competition.leaderboards.update(submission_rule="latest")
    enter(people["ada"], 0.5)
    second = enter(people["ada"], 0.2)
    (row,) = read(phase).rows
    assert row.submission == second.pk


def test_a_search_narrows_the_rows_but_not_the_ranks(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    for name, score in {"ada": 0.5, "bob": 0.9, "eve": 0.7, "joe": 0.1}.items():
        enter(people[name], score)
    found = read(phase, search="AD")
    assert ranks(found) == [(3, "ada")]
    assert (found.total, found.entries) == (1, 4)


def test_the_readers_own_row_is_there_when_the_page_does_not_hold_it(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    for name, score in {"ada": 0.5, "bob": 0.9, "eve": 0.7, "joe": 0.1}.items():
        enter(people[name], score)
    found = read(phase, reader_id=people["joe"].pk, page_size=2)
    assert ranks(found) == [(1, "bob"), (2, "eve")]
    assert found.own_row is not None
    assert (found.own_row.rank, found.own_row.participant, found.own_row.mine) == (4, "joe", True)
    assert found.own_row.cells["score"].value == 0.1
    assert (found.pages, ranks(read(phase, page=2, page_size=2))) == (2, [(3, "ada"), (4, "joe")])


def test_another_column_sorts_without_changing_ranks(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    enter(people["ada"], 0.5, steps=2.0)
    enter(people["bob"], 0.9, steps=9.0)
    enter(people["eve"], 0.7, steps=5.0)
    assert ranks(read(phase, sort="steps")) == [(3, "ada"), (2, "eve"), (1, "bob")]
    assert ranks(read(phase, sort="-steps")) == [(1, "bob"), (2, "eve"), (3, "ada")]
    assert ranks(read(phase, sort="no such column"))[0] == (1, "bob")


def test_phases_of_one_competition_do_not_mix(
    phase: Phase, enter: Callable[..., Submission], make_phase: Callable[..., Phase], people: dict[str, User]
) -> None:
    enter(people["ada"], 0.5)
    other = make_phase(competition=phase.competition)
    assert read(other).rows == []


def test_numbers_sort_as_numbers(phase: Phase, enter: Callable[..., Submission], people: dict[str, User]) -> None:
    for name, score in {"ada": 9.0, "bob": 10.0, "eve": -3.0, "joe": 1e-3}.items():
        enter(people[name], score)
    assert [row.participant for row in read(phase).rows] == ["bob", "ada", "joe", "eve"]


def test_the_number_of_queries_does_not_grow_with_the_board(
    phase: Phase,
    enter: Callable[..., Submission],
    make_user: Callable[..., User],
    django_assert_max_num_queries: Any,
    django_assert_num_queries: Any,
) -> None:
    reader = make_user()
    leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)
    enter(None, 0.5)
    with django_assert_max_num_queries(7) as few:
        board(leaderboard=leaderboard, phase=phase, reader_id=reader.pk)
    for score in range(30):
        enter(None, score / 30)
    with django_assert_num_queries(len(few)):
        board(leaderboard=leaderboard, phase=phase, reader_id=reader.pk, page_size=10)


def test_a_submission_is_compared_with_the_own_best_and_the_leader(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    enter(people["bob"], 0.9, steps=9.0)
    enter(people["ada"], 0.6, steps=2.0)
    latest = enter(people["ada"], 0.4, steps=7.0)
    score, steps = compare(latest)
    assert score.value is not None
    assert (score.value.value, score.own_best, score.leader) == (0.4, 0.6, 0.9)
    assert (steps.own_best, steps.leader) == (2.0, 9.0)


def test_a_rerun_with_a_worse_result_lets_the_participants_next_best_stand(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    best, other = enter(people["ada"], 0.9), enter(people["ada"], 0.5)
    enter(people["bob"], 0.7)
    record_result(best, tasks=[TaskScores(aggregates={"rubric.score": 0.1})], scenarios=3)
    found = read(phase)
    assert ranks(found) == [(1, "bob"), (2, "ada")]
    assert found.rows[1].submission == other.pk


def test_a_board_is_as_of_the_last_change_of_what_it_shows(
    phase: Phase, enter: Callable[..., Submission], people: dict[str, User]
) -> None:
    best, other = enter(people["ada"], 0.9), enter(people["ada"], 0.5)

    def again(submission: Submission, score: float, steps: float) -> bool:
        before = read(phase).updated_at
        aggregates = {"rubric.score": score, "episodes.steps": steps}
        record_result(submission, tasks=[TaskScores(aggregates=aggregates)], scenarios=3)
        return read(phase).updated_at != before

    assert not again(best, 0.9, 1.0)
    assert again(best, 0.9, 2.0)  # a column that does not rank is shown too
    assert not again(best, 0.9, 2.0)
    assert not again(other, 0.6, 7.0)  # it does not stand there
    assert again(other, 0.95, 7.0)
    assert read(phase).rows[0].cells["steps"].value == 7.0
