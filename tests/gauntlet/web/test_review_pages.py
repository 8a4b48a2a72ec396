"""The forms of studies without a script, every state's page, and that an expert judges blind."""

from __future__ import annotations

import re

import pytest

from gauntlet.reviews import services
from gauntlet.reviews.criteria import KEYS
from gauntlet.reviews.models import Study

PLANT = "/competitions/plant-floor-questions"
ANSWERS = dict.fromkeys(KEYS, "yes")


def text(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


@pytest.fixture
def fresh(world, db):
    """Somebody who was invited to the half-answered judge validation and the survey and has done nothing yet."""
    from django.test import Client

    for kind in ("judge", "survey"):
        services.invite(world.studies[kind], names=["newcomer"], actor=world.organizer)
    client = Client()
    client.force_login(world.newcomer)
    return client


def test_answering_one_after_another_to_the_end(world, fresh):
    study = world.studies["judge"]
    place = f"/reviews/{study.pk}/"
    assert "Begin" in text(fresh.get(place))
    assert "You are invited to 2 reviews" in text(fresh.get("/"))
    for number in range(1, 13):
        answer = fresh.post(f"{place}{number}/", {**ANSWERS, "comment": f"about {number}"})
        assert answer.status_code == 302
        assert answer.url == (f"{place}{number + 1}/" if number < 12 else place)
    finished = text(fresh.get(place))
    assert "All 12 are answered" in finished
    assert "12 of 12" in finished
    page = fresh.get(f"{place}5/").content.decode()
    assert page.count(" checked") == 6
    assert "about 5" in page


def test_a_half_answered_one_can_be_left_and_comes_back_last(world, fresh):
    place = f"/reviews/{world.studies['judge'].pk}/"
    assert fresh.post(f"{place}1/", {KEYS[0]: "no"}).url == f"{place}2/"
    overview = fresh.get(place).content.decode()
    assert 'class="begun"' in overview
    assert "0 of 12" in text(fresh.get(place))
    for number in range(2, 13):
        fresh.post(f"{place}{number}/", ANSWERS)
    assert fresh.post(f"{place}12/", ANSWERS).url == f"{place}1/"
    again = fresh.post(f"{place}1/", {KEYS[0]: "no"}, follow=True)
    assert "still lacks an answer" in text(again)


@pytest.mark.parametrize("number", [0, 13, 2**31, 10**30])
def test_a_number_that_no_item_has_is_not_there(world, fresh, organizer, number):
    study = world.studies["judge"].pk
    assert fresh.get(f"/reviews/{study}/{number}/").status_code == 404
    assert fresh.post(f"/reviews/{study}/{number}/", ANSWERS).status_code == 404
    page = f"{PLANT}/organizer/reviews/{study}/"
    assert organizer.post(f"{page}reviewers/{number + 10**6}/withdraw").url == page
    assert organizer.get(f"{page}?page={number}").status_code == 200


def test_a_script_saves_on_the_way_and_is_told_how_far_it_is(world, fresh):
    place = f"/reviews/{world.studies['judge'].pk}/"
    answer = fresh.post(f"{place}3/", ANSWERS, headers={"Accept": "application/json"})
    assert answer.json()["done"] == 1
    assert answer.json()["total"] == 12


def test_an_answer_that_is_none_is_no_answer(world, fresh):
    place = f"/reviews/{world.studies['judge'].pk}/"
    fresh.post(f"{place}1/", {KEYS[0]: "maybe", KEYS[1]: "yes", "made_up": "yes"})
    page = fresh.get(f"{place}1/").content.decode()
    assert page.count(" checked") == 1


@pytest.mark.visibility
def test_an_expert_reads_neither_whose_run_it_is_nor_what_the_judge_said(world, fresh):
    from gauntlet.reviews.models import Item

    study = world.studies["judge"]
    participant = "canary-of-the-participant"  # the three letters of the real name are in many a token by chance
    type(world.participant).objects.filter(pk=world.participant.pk).update(username=participant)
    names = {participant, "planner 13", "planner.zip", "small", "rubric", "verdict"}
    for item in Item.objects.filter(study=study).select_related("episode"):
        html = fresh.get(f"/reviews/{study.pk}/{item.number}/").content.decode()
        assert item.scenario.text in html
        for secret in (*names - {"small"}, str(item.episode_id), item.scenario.opaque_id, ">small"):
            assert secret not in html, secret
        assert '"small"' not in html
        assert "&quot;small&quot;" not in html
    for address in (f"/reviews/{study.pk}/", "/reviews/"):
        html = fresh.get(address).content.decode()
        assert not [secret for secret in names - {"small"} if secret in html]


def test_a_long_record_is_begun_and_shown_whole_when_asked_for_with_large_results_in_their_place(world, fresh):
    import hashlib
    import io
    import json
    import zipfile

    from gauntlet.storage.services import store

    large = b"the first rows of a large result " * 900
    digest = hashlib.sha256(large).hexdigest()
    beside = {
        "kind": "tool_result",
        "call": "c",
        "tool": "t",
        "is_error": False,
        "seconds": 1,
        "blob": f"sha256:{digest}",
    }
    rows = [beside, *({"kind": "note", "text": f"note number {n}."} for n in range(300))]
    lines = [{"seq": n, "at": "2026-11-01T00:00:00Z", "episode": "e", "turn": 0, **row} for n, row in enumerate(rows)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("trajectory.jsonl", "\n".join(map(json.dumps, lines)))
        archive.writestr(f"blobs/{digest}", large)
    item = world.studies["judge"].items.get(number=1)
    packed.seek(0)
    item.episode.trajectory = store(packed, form="zip")
    item.episode.save()
    place = f"/reviews/{world.studies['judge'].pk}/1/"
    begun, whole = fresh.get(place).content.decode(), fresh.get(f"{place}?whole=1").content.decode()
    assert "the first rows of a large result" in begun
    assert "note number 198." in begun
    assert "note number 199." not in begun
    assert "?whole=1" in begun
    assert "note number 299." in whole
    assert "there are more" not in whole


def test_nobody_sees_what_others_have_answered(world, fresh):
    study = world.studies["judge"]
    services.save_judgement(
        study.reviewers.first(), study.items.get(number=1), answers={}, comment="an opinion of my own"
    )
    assert "an opinion of my own" not in fresh.get(f"/reviews/{study.pk}/1/").content.decode()


def test_a_survey_asks_for_the_background_first(world, fresh):
    place = f"/reviews/{world.studies['survey'].pk}/"
    assert fresh.get(f"{place}1/").url == place
    assert "About you" in text(fresh.get(place))
    wrong = fresh.post(place, {"role": "", "years": "-1", "familiarity": "x"})
    assert wrong.status_code == 422
    right = {"role": "planner", "years": "3", "familiarity": "some"}
    assert fresh.post(place, right).url == f"{place}1/"
    page = fresh.get(f"{place}1/").content.decode()
    for word in ("Not realistic", "Realistic", "Highly realistic"):
        assert word in page
    assert fresh.post(f"{place}1/", {"value": "2", "comment": "so"}).url == f"{place}2/"
    assert fresh.post(f"{place}2/", {"value": "9"}).url == f"{place}3/"
    assert "1 of 10" in text(fresh.get(place))


def test_a_closed_study_can_be_read_and_no_longer_changed(world, fresh, organizer):
    study = world.studies["judge"]
    place = f"/reviews/{study.pk}/"
    fresh.post(f"{place}1/", ANSWERS)
    page = f"{PLANT}/organizer/reviews/{study.pk}/"
    assert "closed" in text(organizer.post(f"{page}state", {"state": "closed"}, follow=True))
    assert fresh.post(f"{place}1/", dict.fromkeys(KEYS, "no")).status_code == 409
    shown = fresh.get(f"{place}1/").content.decode()
    assert "The study is closed" in shown
    assert "Save and go on" not in shown
    assert "<fieldset disabled>" in shown
    assert "This study is closed" in text(fresh.get(place))
    assert "You are invited to 1 review that is open" in text(fresh.get("/"))  # the survey
    reopened = organizer.post(f"{page}state", {"state": "open"}, follow=True)
    assert "The study is open" in text(reopened)
    assert fresh.post(f"{place}1/", ANSWERS).status_code == 302


def test_every_state_of_a_study_has_its_page(world, organizer):
    empty = text(organizer.get("/competitions/shift-handover/organizer/reviews/"))
    assert "No study yet" in empty
    assert "No phase has judged episodes yet" in empty
    page = f"{PLANT}/organizer/reviews/{world.studies['drawn'].pk}/"
    drawn = text(organizer.get(page))
    assert "Nobody invited yet" in drawn
    assert "Nothing to compare yet" not in drawn
    invited = text(organizer.post(f"{page}invite", {"names": "newcomer, m.weber"}, follow=True))
    assert "Invited: newcomer, m.weber" in invited
    assert "Not begun" in invited
    assert "Nothing to compare yet" in invited
    half = text(organizer.get(f"{PLANT}/organizer/reviews/{world.studies['judge'].pk}/"))
    assert "Being answered" in half
    assert "22 of 36" in half
    survey = text(organizer.get(f"{PLANT}/organizer/reviews/{world.studies['survey'].pk}/"))
    assert "of whom 3 have rated every scenario" in survey
    assert "Cronbach" in survey


def test_an_organizer_draws_a_sample_and_is_told_why_not(world, organizer):
    place = f"{PLANT}/organizer/reviews/"
    before = Study.objects.count()
    for wrong in (
        {}, {"kind": "other"}, {"kind": "judge", "source": "0:nothing", "size": "4"},
        {"kind": "judge", "source": "0:rubric", "size": "0"}, {"kind": "realism", "source": "9", "size": "4"},
        {"kind": "realism", "source": "0", "size": "many"},
    ):  # fmt: skip
        assert organizer.post(place, wrong).status_code == 422
    assert Study.objects.count() == before
    made = organizer.post(place, {"kind": "judge", "source": "0:rubric", "size": "5", "seed": "4"})
    study = Study.objects.get(seed=4)
    assert made.url == f"{place}{study.pk}/"
    assert study.items.count() == 5
    organizer.post(place, {"kind": "realism", "source": "1", "size": "6"})
    assert Study.objects.filter(kind="realism").count() == 2


def test_participants_cannot_be_invited_and_one_who_joins_is_marked(world, organizer, fresh):
    from gauntlet.competitions.services import join

    study = world.studies["judge"]
    page = f"{PLANT}/organizer/reviews/{study.pk}/"
    refused = organizer.post(f"{page}invite", {"names": world.participant.username})
    assert refused.status_code == 422
    assert "takes part in the competition" in text(refused)
    assert "There is no account" in text(organizer.post(f"{page}invite", {"names": "nobody.at.all"}))
    join(world.plant, user=world.newcomer, terms_accepted=True)
    shut = fresh.get(f"/reviews/{study.pk}/")
    assert shut.status_code == 403
    assert "You take part in this competition" in text(shut)
    assert "shut out" in text(organizer.get(page))


def test_an_invitation_is_taken_back_until_it_is_answered(world, organizer, fresh):
    study = world.studies["judge"]
    page = f"{PLANT}/organizer/reviews/{study.pk}/"
    reviewer = study.reviewers.get(user=world.newcomer)
    fresh.post(f"/reviews/{study.pk}/1/", {KEYS[0]: "yes"})
    kept = organizer.post(f"{page}reviewers/{reviewer.pk}/withdraw", follow=True)
    assert "has answered already" in text(kept)
    study.reviewers.get(user=world.newcomer).judgements.all().delete()
    gone = organizer.post(f"{page}reviewers/{reviewer.pk}/withdraw", follow=True)
    assert "was taken back" in text(gone)
    assert fresh.get(f"/reviews/{study.pk}/").status_code == 404


def test_what_experts_write_becomes_no_markup(world, organizer, fresh):
    evil = '<script>alert(1)</script>"><img src=x>'
    study = world.studies["judge"]
    fresh.post(f"/reviews/{study.pk}/1/", {**dict.fromkeys(KEYS, "no"), "comment": evil})
    fresh.post(f"/reviews/{world.studies['survey'].pk}/", {"role": evil, "years": "1", "familiarity": "new"})
    fresh.post(f"/reviews/{world.studies['survey'].pk}/1/", {"value": "1", "comment": evil})
    study.items.filter(number=1).update(characteristic_form=evil)
    for client, path in (
        (fresh, f"/reviews/{study.pk}/1/"),
        (fresh, f"/reviews/{world.studies['survey'].pk}/1/"),
        (organizer, f"{PLANT}/organizer/reviews/{study.pk}/"),
        (organizer, f"{PLANT}/organizer/reviews/{world.studies['survey'].pk}/"),
    ):
        html = client.get(path).content.decode()
        assert "alert(1)" in html
        assert "<script>alert" not in html
        assert "<img" not in html


def test_staff_see_workers_and_why_one_takes_no_job(world, db):
    from datetime import timedelta

    from django.test import Client
    from django.utils import timezone

    from gauntlet.accounts.models import User
    from gauntlet.evaluation.models import Worker

    client = Client()
    client.force_login(User.objects.create_user("staff", "staff@people.example", is_staff=True))
    Worker.objects.create(name="full:7", host="full", state="draining", reason="3 MB are free.", seen_at=timezone.now())
    Worker.objects.create(name="gone:8", host="gone", state="idle", seen_at=timezone.now() - timedelta(hours=2))
    page = text(client.get("/operators/workers/"))
    for words in ("Takes no job", "3 MB are free.", "Silent", "2 h 0 min ago", "Waits for work"):
        assert words in page, words
    assert "Workers" in text(client.get("/"))
    Worker.objects.all().delete()
    assert "No worker has been heard of" in text(client.get("/operators/workers/"))
