"""What pages say first: who waits, what is left, why nothing can be done, and what became of a form."""

from __future__ import annotations

import re

from django.test import Client

PLANT = "/competitions/plant-floor-questions"
TREES = "/competitions/fault-trees"


def body(answer) -> str:
    return answer.content.decode()


def test_those_who_wait_for_the_organizer_stand_first(organizer):
    page = body(organizer.get(f"{TREES}/organizer/participants/"))
    states = re.findall(r'data-l="State"><span class="chip [^"]*">.*?</svg>([^<]+)', page)
    assert states == ["Waiting for approval"] * 9 + ["Denied"] * 2


def test_the_choice_of_a_phase_says_what_is_left_in_each(world, participant):
    world.plant.phases.filter(name="Development").update(max_submissions_per_day=None, max_submissions=None)
    world.plant.phases.filter(name="Test").update(max_submissions_per_day=3, max_submissions=2)
    page = body(participant.get(f"{PLANT}/submit/"))
    hint = re.search(r'id="id_phase-hint">([^<]*)<', page)
    assert hint
    assert hint[1] == "Development: no limit. Test: 1 left today."
    world.plant.phases.filter(name="Test").update(max_submissions_per_day=None, max_submissions=1)
    page = body(participant.get(f"{PLANT}/submit/"))
    assert 'id="id_phase-hint">Development: no limit. Test: none left.<' in page


def test_who_asked_to_take_part_is_not_told_to_join(participant, stranger):
    assert "as soon as the organizer has approved" in body(participant.get(f"{TREES}/submissions/"))
    assert "Join the competition first" in body(stranger.get(f"{TREES}/submissions/"))


def test_a_form_that_was_open_for_too_long_says_so(world):
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.participant)
    answer = client.post("/accounts/tokens/", {"name": "late"})
    assert answer.status_code == 403
    assert "<h1>This form is no longer valid</h1>" in body(answer)
    assert "Nothing was changed" in body(answer)


def test_what_can_be_done_stands_before_the_text_of_a_competition(stranger):
    page = body(stranger.get(f"{PLANT}/"))
    assert page.index("accept-terms") < page.index('<div class="prose">') < page.index('id="phases"')
