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
    assert queries(participant, "/") == before <= 13


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


def test_studies(world, organizer):
    page = f"{PLANT}/organizer/reviews/"
    before = queries(organizer, page)
    _more_studies(world)
    assert queries(organizer, page) == before <= 18


@pytest.mark.parametrize("kind", ["judge", "survey"])
def test_a_study_of_more_people(world, organizer, kind):
    page = f"{PLANT}/organizer/reviews/{world.studies[kind].pk}/"
    before = queries(organizer, page)
    _more_answers(world, world.studies[kind])
    assert queries(organizer, page) == before <= 20
    export = f"{page}answers.csv"
    assert queries(organizer, export) <= 6


@pytest.mark.parametrize("kind", ["judge", "survey"])
def test_reviewing(world, expert, kind):
    study = world.studies[kind]
    pages = ["/reviews/", f"/reviews/{study.pk}/", f"/reviews/{study.pk}/1/"]
    before = [queries(expert, page) for page in pages]
    _more_studies(world)
    _more_answers(world, study)
    assert [queries(expert, page) for page in pages] == before
    assert max(before) <= 14


def _more_studies(world):
    from gauntlet.reviews import services

    phase = world.studies["survey"].phase
    for seed in range(4):
        study = services.draw_realism_study(phase, size=5, seed=seed, actor=world.organizer)
        services.invite(study, names=[world.expert.username], actor=world.organizer)


def _more_answers(world, study):
    from gauntlet.accounts.models import User
    from gauntlet.reviews import services

    people = [User.objects.create(username=f"rater{n}", email=f"rater{n}@people.example") for n in range(5)]
    for reviewer in services.invite(study, names=[one.username for one in people], actor=world.organizer):
        for item in study.items.all()[:4]:
            if study.kind == "judge":
                services.save_judgement(reviewer, item, answers={"task_completion": True}, comment="so")
            else:
                services.save_rating(reviewer, item, value=2, comment="so")


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
