"""An operator marks a submission as a baseline after it was scored: boards follow at once, and back again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from gauntlet.accounts.models import Event, User
from gauntlet.competitions.errors import NotOrganizer
from gauntlet.competitions.models import Leaderboard, Phase
from gauntlet.evaluation.exclusions import exclude_submission, mark_baseline
from gauntlet.evaluation.scores import record_again
from gauntlet.leaderboards.selectors import board
from gauntlet.submissions.models import Submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


@pytest.fixture
def operator(make_user: Callable[..., User]) -> User:
    return make_user("operator", is_staff=True, is_superuser=True)


@pytest.fixture
def ada(make_user: Callable[..., User]) -> User:
    return make_user("ada")


def rows(phase: Phase) -> list[tuple[int | None, str, float | None]]:
    leaderboard = Leaderboard.objects.prefetch_related("columns").get(competition=phase.competition)
    return [
        (row.rank, row.participant, row.cells["score"].value)
        for row in board(leaderboard=leaderboard, phase=phase).rows
    ]


def mark(operator: User, submission: Submission, *, baseline: bool) -> None:
    client = Client()
    client.force_login(operator)
    data = {"baseline": "on"} if baseline else {}
    answer = client.post(f"/admin/submissions/submission/{submission.pk}/change/", data)
    assert answer.status_code == 302


@pytest.mark.parametrize("rule", ["best", "latest"])
def test_it_has_no_rank_any_more_and_the_participants_other_one_stands(
    phase: Phase, operator: User, ada: User, make_user: Callable[..., User], scored: Any, rule: str
) -> None:
    phase.competition.leaderboards.update(submission_rule=rule)
    scored(ada, 0.4)
    strong = scored(ada, 0.9)
    scored(make_user("bob"), 0.5)
    mark(operator, strong, baseline=True)
    marked = [(None, "ada", 0.9), (1, "bob", 0.5), (2, "ada", 0.4)]
    assert rows(phase) == marked
    assert record_again(Submission.objects.get(pk=strong.pk))
    assert rows(phase) == marked
    mark(operator, strong, baseline=False)
    assert rows(phase) == [(1, "ada", 0.9), (2, "bob", 0.5)]
    names = list(Event.objects.filter(subject_id=str(strong.pk)).order_by("pk").values_list("name", flat=True))
    assert names == ["submission.baseline_marked", "submission.baseline_unmarked"]


def test_an_excluded_one_stays_off_and_one_without_scores_waits_for_them(
    phase: Phase, operator: User, ada: User, make_submission: Callable[..., Submission], scored: Any
) -> None:
    cheat = scored(ada, 0.9)
    exclude_submission(cheat, reason="It reads the answers.", actor=operator)
    mark(operator, cheat, baseline=True)
    fresh = make_submission(phase, ada)
    mark(operator, fresh, baseline=True)
    assert rows(phase) == []
    assert set(Submission.objects.values_list("baseline", flat=True)) == {True}


def test_the_operators_page_changes_nothing_else_of_a_submission_that_moves_on(
    phase: Phase, operator: User, ada: User, make_submission: Callable[..., Submission]
) -> None:
    """What it read may be old by the time that it writes."""
    read = make_submission(phase, ada, state="received")
    Submission.objects.update(state="accepted")
    assert read.state == "received"
    mark_baseline(read, baseline=True, actor=operator)
    assert Submission.objects.get().state == "accepted"
    assert not mark_baseline(read, baseline=True, actor=operator)


def test_nobody_else_marks_one(phase: Phase, ada: User, scored: Any) -> None:
    own = scored(ada, 0.9)
    with pytest.raises(NotOrganizer):
        mark_baseline(own, baseline=True, actor=ada)
    assert rows(phase) == [(1, "ada", 0.9)]
