"""Every page holds axe-core's rules of WCAG 2.2 AA and of good practice; forms lead to what is wrong in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

PLANT = "/competitions/plant-floor-questions"

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "rules": {"color-contrast": {"enabled": False}},  # measured in both themes by test_public_walk.py
    "resultTypes": ["violations"],
}


def faults(page: Page) -> list[str]:
    """What axe-core finds wrong with the page as it is now."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{page.url}: {one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("role", ["visitor", "participant", "organizer", "expert", "operator"])
def test_every_page_holds_the_rules(page: Page, pages_of: Any, role: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})  # where tables and tabs are scrolled
    page.emulate_media(reduced_motion="reduce")
    found = []
    for path in pages_of(role):
        page.goto(path)
        found += faults(page)
    assert found == []


def test_a_refused_form_leads_to_its_first_wrong_field(world: Any, page: Page, log_in: Any) -> None:
    log_in(world.participant)
    page.goto("/accounts/profile/")
    page.evaluate("document.querySelectorAll('[required]').forEach((node) => { node.required = false; })")
    page.get_by_label("Upload and cancel submissions").uncheck()
    page.get_by_label("Read what its owner may read").uncheck()
    page.get_by_role("button", name="Make the token").click()
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    expect(name).to_have_attribute("aria-describedby", "id_name-hint id_name-problem")
    expect(page.locator("#id_name-problem")).to_have_text("This field is required.")
    expect(page.locator("fieldset")).to_have_attribute("aria-describedby", "scopes-problem")
    assert faults(page) == []


def test_an_organizer_reads_what_is_wrong_with_a_bundle_with_a_script_too(
    world: Any, page: Page, log_in: Any, tmp_path: Path
) -> None:
    log_in(world.organizer)
    bundle = tmp_path / "broken.zip"
    spoil(bundle, "version: 2\ntitle: Broken\ntreshold: 3\n")
    page.goto("/import/")
    for _ in range(2):  # the page that says what is wrong takes the next try
        page.get_by_label("Competition bundle").set_input_files(bundle)
        page.get_by_role("button", name="Check and import").click()
        expect(page.get_by_role("alert").filter(has_text="Nothing was created")).to_be_visible()
        expect(page.locator("[data-focus]")).to_be_focused()
        expect(page.get_by_role("table", name="Findings")).to_contain_text("competition.yaml")
        assert faults(page) == []
        page.evaluate("document.querySelector('[data-focus]').textContent = ''")


def spoil(path: Path, manifest: str) -> None:
    """A bundle of this manifest and nothing else."""
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("competition.yaml", manifest)


def test_a_table_that_is_too_wide_is_scrolled_by_keyboard(world: Any, page: Page) -> None:
    page.set_viewport_size({"width": 900, "height": 800})
    page.goto(f"{PLANT}/leaderboard/0/")
    board = page.locator(".fit")
    expect(board).to_have_attribute("tabindex", "0")
    page.set_viewport_size({"width": 1400, "height": 800})
    expect(board).not_to_have_attribute("tabindex", "0")
