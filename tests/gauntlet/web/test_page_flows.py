"""What people do on the pages, and what they are told."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.test import Client

PLANT = "/competitions/plant-floor-questions"


def agent_zip() -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("agent.yaml", "name: planner\ncommand: python agent.py\n")
        archive.writestr("agent.py", "print('hello')\n")
    packed.seek(0)
    packed.name = "agent.zip"
    return packed


def body(answer) -> str:
    return answer.content.decode()


class TestJoining:
    def test_needs_the_terms(self, world, stranger):
        answer = stranger.post(f"{PLANT}/join")
        assert answer.status_code == 400
        assert "Accept the terms" in body(answer)
        assert 'aria-invalid="true"' in body(answer)
        assert not world.plant.participations.filter(user=world.newcomer).exists()

    def test_an_open_competition_takes_at_once(self, world, stranger):
        answer = stranger.post(f"{PLANT}/join", {"terms": "accepted"}, follow=True)
        assert "You can submit now" in body(answer)
        assert world.plant.participations.get(user=world.newcomer).state == "approved"

    def test_another_asks_its_organizer(self, world, stranger, organizer):
        address = "/competitions/fault-trees"
        answer = stranger.post(f"{address}/join", {"terms": "accepted"}, follow=True)
        assert "Waiting for approval" in body(answer)
        who = world.approval.participations.get(user=world.newcomer)
        answer = organizer.post(
            f"{address}/organizer/participants/", {"who": who.pk, "decision": "approved"}, follow=True
        )
        assert "Approved: newcomer." in body(answer)
        assert "You take part" in body(stranger.get(f"{address}/"))

    def test_bulk_decisions_reach_the_selected_and_nobody_else(self, world, organizer):
        waiting = list(world.approval.participations.filter(state="pending"))
        chosen = waiting[:3]
        organizer.post(
            "/competitions/fault-trees/organizer/participants/",
            {"who": [one.pk for one in chosen], "decision": "denied", "state": "pending"},
        )
        denied = set(world.approval.participations.filter(state="denied").values_list("pk", flat=True))
        assert {one.pk for one in chosen} <= denied
        assert not denied & {one.pk for one in waiting[3:]}

    def test_of_several_decisions_either_all_are_made_or_none(self, world, organizer):
        mine = world.approval.participations.filter(state="pending").first()
        foreign = world.plant.participations.first()
        answer = organizer.post(
            "/competitions/fault-trees/organizer/participants/", {"who": [mine.pk, foreign.pk], "decision": "approved"}
        )
        assert answer.status_code in {403, 404}
        mine.refresh_from_db()
        assert mine.state == "pending"

    def test_a_decision_about_another_competition_is_refused(self, world, organizer):
        other = world.plant.participations.all()[0]
        answer = organizer.post(
            "/competitions/fault-trees/organizer/participants/", {"who": other.pk, "decision": "denied"}
        )
        assert answer.status_code in {403, 404}
        other.refresh_from_db()
        assert other.state == "approved"

    def test_a_denied_person_is_told_and_stays_out(self, world, stranger):
        from django.utils import timezone

        world.plant.participations.create(user=world.newcomer, state="denied", terms_accepted_at=timezone.now())
        assert "Your request was denied" in body(stranger.get(f"{PLANT}/"))
        assert stranger.post(f"{PLANT}/join", {"terms": "accepted"}).status_code == 403


class TestSubmitting:
    def test_the_limits_stand_before_the_form(self, participant):
        html = body(participant.get(f"{PLANT}/submit/"))
        assert "At most <b>1.07 GB</b>" in html
        assert "of 5" in html  # a day, development
        assert "of 20" in html  # in all, test
        assert "Europe/Vienna" in html

    def test_a_bundle_becomes_a_submission(self, world, participant):
        answer = participant.post(
            f"{PLANT}/submit/", {"phase": 1, "bundle": agent_zip(), "name": "my first"}, follow=True
        )
        assert "my first" in body(answer)
        assert world.participant.submissions.get(name="my first").source == "web"

    def test_a_script_gets_the_address(self, world, participant):
        answer = participant.post(
            f"{PLANT}/submit/", {"phase": 1, "bundle": agent_zip()}, headers={"accept": "application/json"}
        )
        newest = world.participant.submissions.order_by("-created_at")[0]
        assert answer.json() == {"location": f"/submissions/{newest.pk}/"}

    def test_a_missing_file_is_named_beside_its_field(self, participant):
        answer = participant.post(f"{PLANT}/submit/", {"phase": 1})
        assert answer.status_code == 422
        assert "Choose the .zip file" in body(answer)
        assert 'aria-describedby="id_bundle-problem"' in body(answer) or "id_bundle-problem" in body(answer)

    def test_a_used_quota_says_when_the_next_is_allowed_and_keeps_nothing(self, world, participant):
        world.by_state["hidden"].phase.max_submissions_per_day = 1
        world.by_state["hidden"].phase.save()
        send = {"phase": 1, "name": "one too many"}
        participant.post(f"{PLANT}/submit/", {**send, "bundle": agent_zip(), "name": "the last"})
        answer = participant.post(
            f"{PLANT}/submit/", {**send, "bundle": agent_zip()}, headers={"accept": "application/json"}
        )
        assert answer.status_code == 429
        (problem,) = answer.json()["errors"]["__all__"]
        assert "The next is allowed at" in problem
        assert not world.participant.submissions.filter(name="one too many").exists()
        assert " UTC" in body(participant.get(f"{PLANT}/submit/"))

    def test_a_closed_phase_has_no_form(self, participant):
        html = body(participant.get("/competitions/shift-handover/submit/"))
        assert "This competition is closed" in html
        assert "data-upload" not in html

    def test_nobody_is_told_how_to_come_in_where_everything_is_over(self, visitor, stranger, participant):
        for reader in (visitor, stranger, participant):
            html = body(reader.get("/competitions/shift-handover/submit/"))
            assert "This competition is closed" in html
            for invitation in ("What to send", "gauntlet submit", "You can submit", "Log in to join", "accept-terms"):
                assert invitation not in html, invitation
        assert "nobody can join any more" in body(visitor.get("/competitions/shift-handover/"))

    def test_somebody_who_has_not_joined_cannot_submit(self, world, stranger):
        assert "data-upload" not in body(stranger.get(f"{PLANT}/submit/"))
        answer = stranger.post(f"{PLANT}/submit/", {"phase": 1, "bundle": agent_zip()})
        assert answer.status_code == 403
        assert not world.newcomer.submissions.exists()

    def test_too_large_a_request_is_turned_away_with_a_page(self, participant, settings):
        settings.MAX_BUNDLE_BYTES = 1000
        answer = participant.post(
            f"{PLANT}/submit/", b"x" * ((1 << 20) + 2000), content_type="application/octet-stream"
        )
        assert answer.status_code == 413
        assert "too large" in body(answer)

    def test_cancelling_ends_a_submission_once(self, world, participant):
        running = world.by_state["running"]
        page = body(participant.post(f"/submissions/{running.pk}/cancel", follow=True))
        assert "The submission was cancelled" in page
        assert running.evaluations.get().state == "cancelled"
        page = body(participant.post(f"/submissions/{running.pk}/cancel", follow=True))
        assert "nothing was changed" in page


class TestStory:
    @pytest.mark.parametrize(
        ("state", "sentence"),
        [
            ("received", "waits for the check"),
            ("checking", "unpacked and checked"),
            ("rejected", "agent.yaml:4"),
            ("waiting", "approves each run"),
            ("queued", "in the queue"),
            ("running", "7 of 20 episodes are done"),
            ("scoring", "being scored"),
            ("finished", "The agent ran for 44 s, the scorers for 2.6 s"),
            ("failed", "KeyError: &#x27;rows&#x27;"),
            ("failed_platform", "The cause lies in the platform, not in your agent"),
            ("failed_organizer", "The cause lies in the competition, not in your agent"),
            ("cancelled", "was cancelled"),
        ],
    )
    def test_each_state_is_told_in_words(self, world, participant, state, sentence):
        assert sentence in body(participant.get(f"/submissions/{world.by_state[state].pk}/"))

    @pytest.mark.parametrize(
        ("state", "sentence"),
        [
            ("failed", "The cause lies in the participant’s agent"),
            ("failed_platform", "The cause lies in the platform, not in the competition"),
            ("failed_organizer", "read what its programs printed"),
        ],
    )
    def test_an_organizer_is_told_what_an_organizer_can_do(self, world, organizer, state, sentence):
        html = body(organizer.get(f"/submissions/{world.by_state[state].pk}/"))
        assert sentence in html
        assert "your agent" not in html

    def test_a_failure_comes_before_everything_else(self, world, participant):
        html = body(participant.get(f"/submissions/{world.by_state['failed'].pk}/"))
        failure = html.index("ended with exit code 1 before")
        assert failure < html.index('class="steps"') < html.index("What was sent")

    def test_scores_stand_beside_the_own_best_and_the_leader(self, world, participant):
        html = body(participant.get(f"/submissions/{world.by_state['finished'].pk}/"))
        assert "0.812" in html
        assert "0.743" in html
        assert "this one is 0.069 better" in html

    def test_the_fragment_is_the_pages_own_part_and_is_never_cached(self, world, participant):
        address = f"/submissions/{world.by_state['running'].pk}/"
        fragment = participant.get(f"{address}story")
        assert "no-store" in fragment.headers["Cache-Control"]
        assert "<html" not in body(fragment)
        assert 'data-final="false"' in body(fragment)
        assert 'data-final="true"' in body(participant.get(f"/submissions/{world.by_state['failed'].pk}/story"))

    def test_a_record_is_told_event_by_event(self, world, participant):
        from gauntlet.evaluation.models import Episode

        done = Episode.objects.filter(evaluation__submission=world.by_state["finished"], trajectory__isnull=False)[0]
        html = body(participant.get(f"/episodes/{done.pk}/"))
        told = ["Plan", "Note", "Tool call", "Tool error", "Agent says", "User says", "Model call", "Answer", "End"]
        places = [html.index(f"<b>{title}</b>") for title in told]
        assert places == sorted(places)
        assert "no such equipment" in html
        assert participant.get(f"/episodes/{done.pk}/?download=1").headers["Content-Disposition"].endswith('.zip"')


class TestAccount:
    def test_a_token_is_shown_once_and_works(self, world, participant):
        answer = participant.post("/accounts/tokens/", {"name": "laptop", "scopes": ["read"], "days": "30"})
        plain = body(answer).partition('id="new-token">')[2].partition("<")[0]
        me = Client().get("/api/v1/me", headers={"authorization": f"Bearer {plain}"})
        assert me.json()["username"] == "ada"
        later = body(participant.get("/accounts/profile/"))
        assert "laptop" in later
        assert plain not in later
        token = world.participant.api_tokens.get()
        participant.post(f"/accounts/tokens/{token.pk}/revoke")
        assert Client().get("/api/v1/me", headers={"authorization": f"Bearer {plain}"}).status_code == 401

    def test_a_token_needs_a_scope(self, world, participant):
        answer = participant.post("/accounts/tokens/", {"name": "laptop", "days": "30"})
        assert answer.status_code == 422
        assert "Choose at least one thing" in body(answer)
        assert not world.participant.api_tokens.exists()

    def test_nobody_revokes_another_persons_token(self, world, participant, stranger):
        participant.post("/accounts/tokens/", {"name": "laptop", "scopes": ["read"], "days": "0"})
        token = world.participant.api_tokens.get()
        assert stranger.post(f"/accounts/tokens/{token.pk}/revoke").status_code == 404
        token.refresh_from_db()
        assert token.revoked_at is None

    def test_colours_are_remembered_and_only_known_ones(self, visitor):
        answer = visitor.post("/theme", {"theme": "dark", "next": f"{PLANT}/"})
        assert answer.headers["Location"] == f"{PLANT}/"
        assert '<html lang="en" data-theme="dark"' in body(visitor.get("/"))
        assert "theme" not in visitor.post("/theme", {"theme": "neon"}).cookies

    @pytest.mark.parametrize("away", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
    def test_the_switch_does_not_lead_off_the_site(self, visitor, away):
        assert visitor.post("/theme", {"theme": "dark", "next": away}).headers["Location"] == "/"


class TestImporting:
    def test_findings_name_file_and_line_and_nothing_is_created(self, world, organizer):
        from gauntlet.competitions.models import Competition

        before = Competition.objects.count()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("competition.yaml", "version: 2\ntitle: Broken\ntreshold: 3\n")
        packed.seek(0)
        packed.name = "broken.zip"
        answer = organizer.post("/import/", {"bundle": packed})
        assert answer.status_code == 422
        assert "Nothing was created" in body(answer)
        assert "competition.yaml:" in body(answer)
        assert Competition.objects.count() == before

    def test_what_is_no_archive_is_refused_beside_the_field(self, organizer):
        junk = io.BytesIO(b"this is no zip")
        junk.name = "junk.zip"
        answer = organizer.post("/import/", {"bundle": junk})
        assert answer.status_code == 422
        assert "Server Error" not in body(answer)

    def test_a_draft_is_published_by_its_organizer_only(self, world, organizer, participant):
        world.plant.published = False
        world.plant.save()
        assert participant.post(f"{PLANT}/organizer/publish").status_code == 404
        assert "everybody sees it now" in body(organizer.post(f"{PLANT}/organizer/publish", follow=True))
        assert participant.get(f"{PLANT}/").status_code == 200


def test_a_fault_of_ours_gives_a_page_that_needs_nothing_to_work(world, monkeypatch):
    from gauntlet.web.views import home

    def broken(*_):
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(home, "home_rows", broken)
    answer = Client(raise_request_exception=False).get("/")
    assert answer.status_code == 500
    assert "Something broke on our side" in body(answer)
    assert "secret detail" not in body(answer)
