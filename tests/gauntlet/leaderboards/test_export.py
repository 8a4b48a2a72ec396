"""The whole board as CSV: every row once, best first, unrounded, in the same few queries however long it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Leaderboard, Phase
from gauntlet.leaderboards.export import board_csv
from gauntlet.leaderboards.models import ColumnValue, Entry
from gauntlet.leaderboards.scores import TaskScores
from gauntlet.leaderboards.services import record_result
from gauntlet.submissions.models import Submission

HEAD = (
    "rank,participant,baseline,score,score_low,score_high,score_unverified,steps,steps_low,steps_high,steps_unverified,"
    "scenarios,submitted_at,source"
)
EXACT = 0.1 + 0.2  # shows all its digits when it is written unrounded


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


def pieces(phase: Phase) -> list[str]:
    leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)
    return list(board_csv(leaderboard=leaderboard, phase=phase))


def lines(phase: Phase) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(pieces(phase)), newline="")))


def fill(phase: Phase, make_submission: Callable[..., Submission], *, rows: int) -> list[str]:
    """As many participants as said, each better than the one before; their names."""
    leaderboard = phase.competition.leaderboards.get()
    primary = leaderboard.columns.get(primary=True)
    pattern = make_submission(phase)
    people = User.objects.bulk_create(User(username=f"p{n}", email=f"p{n}@example.org") for n in range(rows))
    submissions = Submission.objects.bulk_create(
        Submission(phase=phase, participant=one, name="agent", file_name="a.zip", bundle=pattern.bundle)
        for one in people
    )
    ColumnValue.objects.bulk_create(
        ColumnValue(submission=one, column=primary, value=n) for n, one in enumerate(submissions)
    )
    Entry.objects.bulk_create(
        Entry(
            leaderboard=leaderboard,
            phase=phase,
            participant=one.participant,
            submission=one,
            primary_value=n,
            scenarios=3,
        )
        for n, one in enumerate(submissions)
    )
    return [one.username for one in people]


def test_values_are_unrounded_intervals_beside_them_and_what_is_missing_is_empty(
    phase: Phase, make_user: Callable[..., User], make_submission: Callable[..., Submission]
) -> None:
    scored = make_submission(phase, make_user("ada"))
    record_result(scored, tasks=[TaskScores(aggregates={"rubric.score": 0.5, "episodes.steps": EXACT})], scenarios=3)
    ColumnValue.objects.filter(submission=scored, column__key="score").update(low=1 / 3, high=2 / 3, unverified=4)
    unscored = make_submission(phase, make_user("bob"))
    record_result(unscored, tasks=[TaskScores(aggregates={})], scenarios=2)
    ada, bob = lines(phase)
    assert [ada[key] for key in ("score", "score_low", "score_high")] == ["0.5", repr(1 / 3), repr(2 / 3)]
    assert (ada["steps"], ada["steps_low"], ada["steps_high"]) == ("0.30000000000000004", "", "")
    assert (ada["score_unverified"], ada["steps_unverified"]) == ("4", "0")
    assert (ada["rank"], ada["scenarios"], ada["submitted_at"]) == ("1", "3", scored.created_at.isoformat())
    assert list(bob.values()) == ["2", "bob", "False", *[""] * 8, "2", unscored.created_at.isoformat(), ""]


def test_ties_share_a_rank_and_a_baseline_has_none(
    phase: Phase, make_user: Callable[..., User], make_submission: Callable[..., Submission]
) -> None:
    for name, score, baseline in [("ada", 0.5, False), ("bob", 0.9, False), ("eve", 0.9, False), ("joe", 0.7, True)]:
        submission = make_submission(phase, make_user(name), baseline=baseline)
        record_result(submission, tasks=[TaskScores(aggregates={"rubric.score": score})], scenarios=3)
    assert [(line["rank"], line["participant"], line["baseline"]) for line in lines(phase)] == [
        ("1", "bob", "False"),
        ("1", "eve", "False"),
        ("", "joe", "True"),
        ("3", "ada", "False"),
    ]


def test_published_results_come_last_without_rank_and_with_their_source(
    phase: Phase, make_user: Callable[..., User], make_submission: Callable[..., Submission]
) -> None:
    board = phase.competition.leaderboards.get()
    board.baselines.create(index=0, name="=weak", source="A paper", scores={"score": 0.2})
    board.baselines.create(index=1, name="strong", source="A paper", scores={"score": 0.65, "gone": 1})
    record_result(
        make_submission(phase, make_user("ada")), tasks=[TaskScores(aggregates={"rubric.score": 0.5})], scenarios=3
    )
    told = [
        (line["rank"], line["participant"], line["baseline"], line["score"], line["source"]) for line in lines(phase)
    ]
    assert told == [
        ("1", "ada", "False", "0.5", ""),
        ("", "strong", "True", "0.65", "A paper"),
        ("", "'=weak", "True", "0.2", "A paper"),
    ]


def test_no_two_columns_have_one_head_whatever_the_boards_columns_are_called(
    phase: Phase, make_user: Callable[..., User], make_submission: Callable[..., Submission]
) -> None:
    board = phase.competition.leaderboards.get()
    board.columns.filter(key="steps").update(key="rank")
    for index, key in enumerate(["score_low", "column_rank", "source"], start=2):
        board.columns.create(index=index, key=key, title=key, source=f"rubric.{key}")
    scores = {"rubric.score": 0.5, "episodes.steps": 7.0}
    scores |= {"rubric.score_low": 2.0, "rubric.column_rank": 3.0, "rubric.source": 4.0}
    record_result(make_submission(phase, make_user("ada")), tasks=[TaskScores(aggregates=scores)], scenarios=3)
    (head, *_) = csv.reader(io.StringIO("".join(pieces(phase)), newline=""))
    assert len(set(head)) == len(head)
    (ada,) = lines(phase)
    assert (ada["rank"], ada["score"], ada["score_low"], ada["source"]) == ("1", "0.5", "", "")
    own = [ada[key] for key in ("column_rank", "column_score_low", "column_column_rank", "column_source")]
    assert own == ["7.0", "2.0", "3.0", "4.0"]


def test_a_board_without_rows_is_its_head(phase: Phase) -> None:
    assert pieces(phase) == [HEAD + "\r\n"]


@pytest.mark.parametrize("rows", [500, 501])
def test_a_long_board_comes_in_few_pieces_each_row_once(
    phase: Phase, make_submission: Callable[..., Submission], rows: int
) -> None:
    names = fill(phase, make_submission, rows=rows)
    assert [(line["rank"], line["participant"]) for line in lines(phase)] == [
        (str(place), name) for place, name in enumerate(reversed(names), start=1)
    ]
    assert len(pieces(phase)) == (1 if rows == 500 else 2)


def test_other_phases_and_hidden_columns_stay_out(
    phase: Phase, make_phase: Callable[..., Phase], make_submission: Callable[..., Submission], make_user: Any
) -> None:
    other = make_phase(competition=phase.competition)
    ada = make_user("ada")
    for where, score in ((phase, 0.25), (other, 0.75)):
        aggregates = {"rubric.score": score, "episodes.steps": 4.0}
        record_result(make_submission(where, ada), tasks=[TaskScores(aggregates=aggregates)], scenarios=3)
    phase.competition.leaderboards.get().columns.filter(key="steps").update(hidden=True)
    (line,) = lines(phase)
    assert (line["score"], "steps" in line) == ("0.25", False)


def test_the_number_of_queries_does_not_grow_with_the_board(
    phase: Phase, make_submission: Callable[..., Submission], client: Client
) -> None:
    address = f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/leaderboard.csv"
    with CaptureQueriesContext(connection) as few:
        assert HEAD in client.get(address).getvalue().decode()
    fill(phase, make_submission, rows=120)
    with CaptureQueriesContext(connection) as many:
        assert client.get(address).getvalue().count(b"\r\n") == 121
    assert len(many) == len(few) <= 7
