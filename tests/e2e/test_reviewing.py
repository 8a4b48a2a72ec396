"""An expert judges by keyboard: keys, saving on the way, on to the next; and the validator with a file."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

KEYS = (
    *("task_completion", "data_retrieval_accuracy", "generalized_result_verification"),
    *("agent_sequence_correct", "clarity_and_justification", "hallucinations"),
)


@pytest.fixture
def place(world: Any, in_database: Any, log_in: Any) -> str:
    """A study in which a newcomer who is logged in has answered nothing."""
    from gauntlet.reviews import services
    from gauntlet.reviews.models import Judgement

    study = world.studies["judge"]

    def invite() -> None:
        services.invite(study, names=["newcomer"], actor=world.organizer)
        Judgement.objects.filter(reviewer__user=world.newcomer).delete()

    in_database(invite)
    log_in(world.newcomer)
    return f"/reviews/{study.pk}/"


def answers(in_database: Any, number: int) -> dict[str, Any] | None:
    """What the newcomer has answered about a trajectory, as it is stored."""
    from gauntlet.reviews.models import Judgement

    found = Judgement.objects.filter(reviewer__user__username="newcomer", item__number=number)
    return in_database(lambda: found.values(*KEYS, "comment").first())


def test_six_keys_and_enter_judge_a_trajectory(place: str, page: Page, in_database: Any) -> None:
    page.goto(place)
    page.keyboard.press("Enter")  # on "Begin", which has the focus
    expect(page.get_by_role("heading", level=1)).to_have_text("Trajectory 1 of 12")
    page.wait_for_load_state()  # until then nothing listens to the keys
    saved = page.locator("[data-told]")
    for key in "yynyyn":
        page.keyboard.press(key)
    expect(page.locator("input:checked")).to_have_count(6)
    expect(saved).to_have_text(re.compile(r"Saved at .* 1 of 12 answered"))
    assert answers(in_database, 1) == dict(zip(KEYS, (True, True, False, True, True, False), strict=True)) | {
        "comment": ""
    }
    page.keyboard.press("3")
    expect(page.locator("[data-question]").nth(2).locator("input:checked")).to_be_focused()
    page.keyboard.press("y")
    expect(page.locator("[data-question]").nth(3).locator("input:checked")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Trajectory 2 of 12")
    corrected = answers(in_database, 1)
    assert corrected is not None
    assert corrected["generalized_result_verification"] is True


def test_a_comment_takes_letters_and_a_half_answer_is_there_after_a_reload(
    place: str, page: Page, in_database: Any
) -> None:
    page.goto(f"{place}4/")
    page.keyboard.press("2")
    page.keyboard.press("n")
    comment = page.get_by_label("Comment")
    comment.click()
    page.keyboard.type("yn 1 2 no key here")
    expect(page.locator("input:checked")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("[data-told]")).to_have_text(re.compile("Saved at"))
    page.reload()
    expect(comment).to_have_value("yn 1 2 no key here")
    expect(page.locator("input:checked")).to_have_value("no")
    stored = answers(in_database, 4)
    assert stored is not None
    assert stored["data_retrieval_accuracy"] is False
    page.goto(place)
    expect(page.locator(".numbers .begun")).to_have_text(re.compile("4, begun"))


def test_the_form_works_without_a_script(place: str, browser: Browser, base: str, page: Page, in_database: Any) -> None:
    context = browser.new_context(base_url=base, java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{place}12/")
    for number in range(1, 7):
        plain.locator(f"label[for=q{number}y]").click()
    plain.get_by_role("button", name="Save and go on").click()
    expect(plain.get_by_role("heading", level=1)).to_have_text(re.compile(r"Trajectory \d+ of 12"))
    assert answers(in_database, 12) == dict.fromkeys(KEYS, True) | {"comment": ""}
    context.close()


def test_findings_are_shown_by_class_and_the_steps_as_a_drawing(world: Any, log_in: Any, page: Page) -> None:
    log_in(world.newcomer)
    row = {
        "id": 1,
        "text": "Which pump was overhauled?",
        "type": "WO",
        "category": "Knowledge Query",
        "deterministic": True,
        "characteristic_form": "P2, once.",
        "planning_steps": [{"agent": "WOAgent", "instruction": "Look."}],
        "execution_steps": [
            {"name": "look", "action": "list_workorders", "agent": "WOAgent"},
            {"name": "finish", "action": "Finish", "agent": "WOAgent"},
        ],
        "execution_links": [{"source": "look", "target": "nowhere"}],
    }
    page.goto("/validate/")
    page.get_by_label("File").set_input_files(
        {"name": "one.jsonl", "mimeType": "application/json", "buffer": json.dumps(row).encode()}
    )
    page.get_by_role("button", name="Check it").click()
    expect(page.get_by_role("alert").first).to_contain_text("in one.jsonl")
    rows = page.locator(".findings tbody tr")
    everything = rows.count()
    page.locator("label[for=only-structural]").click()
    shown = rows.filter(visible=True)
    expect(shown.first).to_contain_text("nowhere")
    assert 0 < shown.count() < everything
    expect(page.locator(".graph svg text", has_text="look").first).to_be_visible()
