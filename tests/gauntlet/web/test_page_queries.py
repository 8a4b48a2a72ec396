"""A list page asks the same number of queries however long the list is."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

PLANT = "/competitions/plant-floor-questions"
TELEMETRY = "/competitions/district-heating-telemetry"


def queries(client, path):
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert client.get(path).status_code == 200
    return len(asked)


def test_board(visitor):
    assert queries(visitor, f"{PLANT}/leaderboard/1/") == queries(visitor, f"{TELEMETRY}/leaderboard/") <= 14


def test_board_for_a_participant(participant):
    assert queries(participant, f"{PLANT}/leaderboard/1/") == queries(participant, f"{TELEMETRY}/leaderboard/") <= 18


def test_home(world, participant):
    from gauntlet.competitions.models import Competition

    before = queries(participant, "/")
    for number in range(20):
        Competition.objects.create(
            slug=f"more-{number}", title=f"More {number}", organizer=world.organizer, terms="", published=True
        )
    assert queries(participant, "/") == before <= 12


@pytest.mark.parametrize("path", ["/submissions/", f"{PLANT}/submissions/"])
def test_own_submissions(world, participant, path):
    before = queries(participant, path)
    _more_submissions(world)
    assert queries(participant, path) == before <= 12


def test_organizers_submissions(world, organizer):
    before = queries(organizer, f"{PLANT}/organizer/")
    _more_submissions(world)
    assert queries(organizer, f"{PLANT}/organizer/") == before <= 16


def test_participants(organizer):
    few = queries(organizer, "/competitions/shift-handover/organizer/participants/")
    assert queries(organizer, f"{TELEMETRY}/organizer/participants/") == few <= 14


def test_a_submission_page_does_not_ask_per_scenario(world, participant):
    few = queries(participant, f"/submissions/{world.by_state['failed_time'].pk}/")
    assert queries(participant, f"/submissions/{world.by_state['hidden'].pk}/") <= few + 12


def _more_submissions(world):
    from gauntlet.evaluation.models import Evaluation
    from gauntlet.submissions.models import Submission

    old = world.by_state["finished"]
    for number in range(10):
        copy = Submission.objects.create(
            phase=old.phase, participant=old.participant, name=f"more {number}", file_name="a.zip", bundle=old.bundle,
            state="accepted",
        )  # fmt: skip
        Evaluation.objects.create(
            submission=copy, task=old.phase.tasks.get(), state="queued", seed=1, queued_at=copy.created_at
        )
