"""The upload form: its limits, its progress, its errors beside their fields, and without a script."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from image_archives import Layer, saved
from playwright.sync_api import Browser, Page, Route, expect

PLANT = "/competitions/plant-floor-questions"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A small agent."""
    packed = tmp_path / "agent.zip"
    with zipfile.ZipFile(packed, "w") as out:
        out.writestr("agent.yaml", "name: planner\ncommand: python agent.py\n")
        out.writestr("agent.py", "print('hello')\n")
    return packed


def test_progress_is_told_in_bytes_and_seconds(world: Any, page: Page, log_in: Any, archive: Path) -> None:
    log_in(world.participant)
    page.goto(f"{PLANT}/submit/")
    page.evaluate(
        """() => { window.told = []; const box = document.querySelector("[data-words]");
             new MutationObserver(() => window.told.push(box.textContent)).observe(box, { childList: true });
             addEventListener("pagehide", () => sessionStorage.setItem("told", JSON.stringify(window.told))); }"""
    )
    page.get_by_label("File", exact=True).set_input_files(archive)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/submissions/*/")
    told = page.evaluate("sessionStorage.getItem('told')")
    assert " bytes of " in told
    assert re.search(r" in \d+ s", told)


def test_a_refusal_stands_in_the_form_and_the_name_survives_a_reload(
    world: Any, page: Page, log_in: Any, archive: Path, in_database: Any
) -> None:
    phases = world.plant.phases
    in_database(lambda: phases.update(max_submissions=0))
    log_in(world.participant)
    page.goto(f"{PLANT}/submit/")
    page.get_by_label("Name", exact=False).last.fill("my careful planner")
    page.reload()
    expect(page.get_by_label("Name", exact=False).last).to_have_value("my careful planner")
    page.get_by_label("File", exact=True).set_input_files(archive)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("[data-problem=__all__]")).to_contain_text("All 0 submissions of this phase are used.")
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_enabled()
    in_database(lambda: phases.update(max_submissions=100))


def test_too_large_a_file_is_named_before_a_byte_is_sent(world: Any, page: Page, log_in: Any, archive: Path) -> None:
    log_in(world.participant)
    page.goto(f"{PLANT}/submit/")
    page.locator("form[data-upload]").evaluate("form => { form.dataset.upload = '100'; }")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    page.get_by_label("File", exact=True).set_input_files(archive)
    expect(page.locator("[data-problem=bundle]")).to_contain_text("the limit is 100 bytes")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_label("File", exact=True)).to_be_focused()
    assert "POST" not in sent


def test_a_problem_that_is_mended_describes_its_field_no_longer(
    world: Any, page: Page, log_in: Any, archive: Path
) -> None:
    log_in(world.participant)
    page.goto(f"{PLANT}/submit/")
    form, field = page.locator("form[data-upload]"), page.get_by_label("File", exact=True)
    form.evaluate("form => { form.dataset.upload = '100'; }")
    field.set_input_files(archive)
    expect(field).to_have_accessible_description(re.compile("the limit is 100 bytes"))
    form.evaluate("form => { form.dataset.upload = '10000'; }")
    field.set_input_files(archive.rename(archive.with_name("smaller.zip")))
    expect(field).not_to_have_accessible_description(re.compile("the limit is"))
    expect(field).not_to_have_attribute("aria-invalid", "true")


def test_of_several_problems_each_stands_beside_its_field_and_the_first_is_gone_to(
    world: Any, page: Page, log_in: Any
) -> None:
    log_in(world.participant)
    page.goto(f"{PLANT}/submit/")
    file, name = page.locator("[name=bundle]"), page.locator("[name=name]")
    for field in (file, name):
        field.evaluate("node => { node.required = false; node.removeAttribute('maxlength'); }")
    name.fill("x" * 201)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.locator("[data-problem=bundle]")).to_contain_text("Choose the .zip file")
    expect(page.locator("[data-problem=name]")).to_contain_text("at most 200 characters")
    expect(file).to_be_focused()


def test_a_large_file_goes_in_parts_and_a_broken_connection_is_gone_on_with(
    world: Any, page: Page, log_in: Any, tmp_path: Path, in_database: Any
) -> None:
    from gauntlet.storage.services import open_artifact
    from gauntlet.submissions.models import Submission, Upload, UploadPart

    in_database(lambda: world.plant.phases.update(max_submissions_per_day=100))  # others submit after this
    image = tmp_path / "planner.tar"
    image.write_bytes(saved([Layer().file("agent", "#!/bin/sh\n", 0o755).file("more", bytes(20 << 20)).tar]))
    log_in(world.participant)
    page.goto(f"{PLANT}/submit/")
    parts: list[str] = []

    def meddle(route: Route) -> None:
        parts.append(route.request.method)
        if parts.count("PATCH") == 2 and route.request.method == "PATCH":
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/api/v1/uploads/*", meddle)
    page.locator("input[type=file]").set_input_files(image)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/submissions/*/")
    assert parts == ["PATCH", "PATCH", "HEAD", "PATCH", "PATCH"]

    def stored() -> bytes:
        submission = Submission.objects.get(file_name="planner.tar")
        with open_artifact(submission.bundle) as file:
            return file.read()

    assert in_database(stored) == image.read_bytes()
    # Its parts are gone; the row says what became of it, to whoever asks again.
    assert in_database(lambda: [one.submission and one.submission.file_name for one in Upload.objects.all()]) == [
        "planner.tar"
    ]
    assert in_database(UploadPart.objects.count) == 0


def test_it_works_without_a_script(
    world: Any, browser: Browser, base: str, context: Any, log_in: Any, archive: Path
) -> None:
    log_in(world.participant)
    plain = browser.new_context(base_url=base, java_script_enabled=False)
    plain.add_cookies(context.cookies())
    page = plain.new_page()
    page.goto(f"{PLANT}/submit/")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_label("File", exact=True).set_input_files(archive)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("agent")
    plain.close()


def test_a_lost_connection_is_said_quietly_and_the_page_goes_on_by_asking(
    world: Any, page: Page, log_in: Any, in_database: Any
) -> None:
    from gauntlet.evaluation.models import Evaluation

    log_in(world.participant)
    running = world.by_state["running"]
    page.route("**/events", lambda route: route.abort())
    page.goto(f"/submissions/{running.pk}/")
    expect(page.locator("[data-quiet]")).to_contain_text("Checking every 5 seconds")
    in_database(lambda: Evaluation.objects.filter(submission=running).update(episodes_done=9))
    expect(page.locator("[data-live]")).to_contain_text("9 of 20 episodes", timeout=15_000)


def test_live_changes_arrive_by_themselves_and_keep_what_was_opened(
    world: Any, page: Page, log_in: Any, in_database: Any
) -> None:
    from gauntlet.evaluation.models import Evaluation

    log_in(world.participant)
    running = world.by_state["running"]
    page.goto(f"/submissions/{running.pk}/")
    page.get_by_text("What the agent printed").click()
    in_database(lambda: Evaluation.objects.filter(submission=running).update(episodes_done=15))
    expect(page.locator("[data-live]")).to_contain_text("15 of 20 episodes", timeout=15_000)
    expect(page.locator("details#log")).to_have_attribute("open", "")
    expect(page.locator("[data-quiet]")).to_be_empty()
    in_database(lambda: Evaluation.objects.filter(submission=running).update(state="scoring", episodes_done=20))
    expect(page.locator("[data-said]")).to_contain_text("being scored", timeout=15_000)
    expect(page).to_have_title(re.compile(r"^Being scored: planner 13 \(running\) · Plant floor questions"))
