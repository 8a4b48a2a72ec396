"""Who gets which page, and what no page tells whom."""

from __future__ import annotations

import pytest
from django.test import Client

PLANT = "/competitions/plant-floor-questions"
LOGIN = 302  # to the log-in page

# Address, then the status for: a visitor, somebody with an account, a participant, the organizer.
MATRIX = [
    ("/", 200, 200, 200, 200),
    (f"{PLANT}/", 200, 200, 200, 200),
    (f"{PLANT}/leaderboard/", 200, 200, 200, 200),
    (f"{PLANT}/leaderboard/7/", 404, 404, 404, 404),
    (f"{PLANT}/submit/", 200, 200, 200, 200),
    (f"{PLANT}/submissions/", LOGIN, 200, 200, 200),
    ("/submissions/", LOGIN, 200, 200, 200),
    ("/accounts/profile/", LOGIN, 200, 200, 200),
    (f"{PLANT}/organizer/", LOGIN, 403, 403, 200),
    (f"{PLANT}/organizer/participants/", LOGIN, 403, 403, 200),
    (f"{PLANT}/organizer/workers/", LOGIN, 403, 403, 200),
    (f"{PLANT}/organizer/models/", LOGIN, 403, 403, 200),
    (f"{PLANT}/organizer/reviews/", LOGIN, 403, 403, 200),
    (f"{PLANT}/organizer/reviews/{{judge}}/", LOGIN, 404, 404, 200),
    (f"{PLANT}/organizer/reviews/{{survey}}/", LOGIN, 404, 404, 200),
    (f"{PLANT}/organizer/reviews/{{judge}}/answers.csv", LOGIN, 404, 404, 200),
    ("/competitions/shift-handover/organizer/reviews/{judge}/", LOGIN, 404, 404, 404),
    ("/reviews/", LOGIN, 200, 200, 200),
    ("/reviews/{judge}/", LOGIN, 404, 404, 404),
    ("/reviews/{judge}/1/", LOGIN, 404, 404, 404),
    ("/reviews/{survey}/1/", LOGIN, 404, 404, 404),
    ("/validate/", LOGIN, 200, 200, 200),
    ("/operators/workers/", LOGIN, 403, 403, 403),
    ("/queues/", LOGIN, 200, 200, 200),
    ("/queues/plant-gpu/", LOGIN, 404, 404, 200),
    ("/queues/nothing/", LOGIN, 404, 404, 404),
    ("/import/", LOGIN, 403, 403, 200),
    ("/competitions/nothing/", 404, 404, 404, 404),
    ("{finished}", 401, 404, 200, 200),
    ("{finished}story", 401, 404, 200, 200),
    ("{hidden}", 401, 404, 200, 200),
    ("{open_episode}", 401, 404, 200, 200),
    ("{hidden_episode}", 401, 404, 404, 200),
    ("{hidden_episode}?download=1", 401, 404, 404, 200),
]
POST_ONLY = [
    "/theme",
    f"{PLANT}/join",
    f"{PLANT}/organizer/publish",
    f"{PLANT}/organizer/models/mine/remove",
    "/queues/plant-gpu/tokens",
    "/queues/plant-gpu/tokens/1b8f0dfa-7fe6-4b1f-8d1b-1f2f3a4b5c6d/revoke",
    "/queues/plant-gpu/share",
    "/queues/plant-gpu/unshare",
    "/queues/plant-gpu/phases/1/send-back",
    "/queues/plant-gpu/delete",
    "/accounts/tokens/",
    "{finished}cancel",
    f"{PLANT}/organizer/reviews/{{judge}}/invite",
    f"{PLANT}/organizer/reviews/{{judge}}/state",
    f"{PLANT}/organizer/reviews/{{judge}}/reviewers/1/withdraw",
]


@pytest.fixture
def addresses(world):
    from gauntlet.evaluation.models import Episode

    def episode(state):
        return Episode.objects.filter(evaluation__submission=world.by_state[state], trajectory__isnull=False)[0]

    return {
        "finished": f"/submissions/{world.by_state['finished'].pk}/",
        "hidden": f"/submissions/{world.by_state['hidden'].pk}/",
        "open_episode": f"/episodes/{episode('finished').pk}/",
        "hidden_episode": f"/episodes/{episode('hidden').pk}/",
        "judge": world.studies["judge"].pk,
        "survey": world.studies["survey"].pk,
    }


@pytest.mark.visibility
def test_every_page_answers_each_role_as_the_matrix_says(addresses, visitor, stranger, participant, organizer):
    wrong = []
    for template, *expected in MATRIX:
        path = template.format(**addresses)
        for name, client, status in zip(
            ("visitor", "stranger", "participant", "organizer"),
            (visitor, stranger, participant, organizer),
            expected,
            strict=True,
        ):
            got = client.get(path).status_code
            if got != status:
                wrong.append(f"{name} {path}: {got}, not {status}")
    assert wrong == []


def test_no_state_changes_on_get_and_none_without_a_token_against_forgery(addresses, world):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.participant)
    for template in POST_ONLY:
        path = template.format(**addresses)
        assert strict.get(path).status_code == 405, path
        answer = strict.post(path)
        assert answer.status_code == 403, path
        assert "no longer valid" in answer.content.decode()


@pytest.mark.visibility
def test_a_drafts_pages_are_there_for_organizers_only(world, visitor, participant, organizer):
    world.plant.published = False
    world.plant.save()
    for path in (f"{PLANT}/", f"{PLANT}/leaderboard/", f"{PLANT}/submit/", f"{PLANT}/terms/"):
        assert visitor.get(path).status_code == 404
        assert participant.get(path).status_code == 404
        assert organizer.get(path).status_code == 200
    assert "Plant floor" not in visitor.get("/").content.decode()
    assert "draft" in organizer.get("/").content.decode()


@pytest.mark.visibility
def test_a_phase_of_scores_shows_its_participant_scores_and_nothing_that_was_said(world, participant, organizer):
    submission = world.by_state["hidden"]
    scenario = submission.phase.tasks.get().scenarios.all()[0]
    for suffix in ("", "story"):
        html = participant.get(f"/submissions/{submission.pk}/{suffix}").content.decode()
        assert scenario.opaque_id in html
        for secret in (scenario.text, "Traceback", "get_work_orders was called", "/episodes/", f">{scenario.key}<"):
            assert secret not in html, secret
    assert scenario.text in organizer.get(f"/submissions/{submission.pk}/").content.decode()


@pytest.mark.visibility
def test_a_phase_of_nothing_shows_its_participant_a_state_until_the_reveal(world, visitor, participant):
    from datetime import timedelta

    from django.utils import timezone

    phase = world.by_state["hidden"].phase
    phase.visibility = "none"
    phase.reveal_at = timezone.now() + timedelta(days=1)
    phase.save()
    page = f"/submissions/{world.by_state['hidden'].pk}/"
    html = participant.get(page).content.decode()
    assert "Scored, and not shown yet" in html
    assert "This submission" not in html
    assert "are shown from" in visitor.get(f"{PLANT}/leaderboard/1/").content.decode()
    assert "okonkwo" not in visitor.get(f"{PLANT}/leaderboard/1/").content.decode()
    assert "/leaderboard/1/" not in visitor.get("/").content.decode()
    phase.reveal_at = timezone.now() - timedelta(seconds=1)
    phase.save()
    assert "This submission" in participant.get(page).content.decode()


@pytest.mark.visibility
def test_a_hidden_scenario_stays_hidden_in_a_phase_that_shows_everything(world, participant):
    """The phase says full, but the scenario is not public: its text and its record are the organizer's."""
    submission = world.by_state["finished"]
    episode = submission.evaluations.get().episodes.filter(trajectory__isnull=False)[0]
    text = "Which hidden question is this?"
    type(episode.scenario).objects.filter(pk=episode.scenario_id).update(public=False, text=text)
    assert participant.get(f"/episodes/{episode.pk}/").status_code == 404
    html = participant.get(f"/submissions/{submission.pk}/").content.decode()
    assert text not in html
    assert f"/episodes/{episode.pk}/" not in html


def test_nothing_that_people_wrote_becomes_markup(world, participant, organizer):
    evil = '<script>alert(1)</script>"><img src=x>'
    submission = world.by_state["failed"]
    type(submission).objects.filter(pk=submission.pk).update(name=evil[:200], file_name=evil)
    submission.evaluations.get().jobs.update(log=evil)
    submission.evaluations.update(failure_message=evil)
    world.plant.title = evil
    world.plant.save()
    board = world.plant.leaderboards.get()
    board.columns.filter(key="completion").update(title="</style><b>x")
    world.participant.username = "a<b>c"
    world.participant.save()
    for client, path in (
        (participant, f"/submissions/{submission.pk}/"),
        (participant, f"{PLANT}/submissions/"),
        (participant, f"{PLANT}/leaderboard/1/?q={evil}&sort={evil}"),
        (organizer, f"{PLANT}/organizer/?participant={evil}&state={evil}"),
        (organizer, "/"),
    ):
        html = client.get(path).content.decode()
        for markup in ("<script>alert", "<img", "</style><b>", "a<b>c"):
            assert markup not in html, (path, markup)
