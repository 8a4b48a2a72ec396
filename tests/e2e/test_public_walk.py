"""The public reads the board and cannot see what is hidden; every page can be used by keyboard and by everyone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

PLANT = "/competitions/plant-floor-questions"
TELEMETRY = "/competitions/district-heating-telemetry"

# Every text's colour against the colour behind it, as the browser computed them: WCAG 2's ratio.
CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return rgba("white");
  };
  const faults = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest(".sr, :disabled, .skip")) continue;
    const ink = rgba(getComputedStyle(node).color), paper = behind(node);
    const [a, b] = [light(ink), light(paper)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const words = walker.currentNode.data.trim().slice(0, 30);
    if (ratio < 4.5) faults.add(`${node.tagName}.${node.className}: ${ratio.toFixed(2)}: ${words}`);
  }
  return [...faults];
}
"""


@pytest.mark.visibility
def test_the_public_reads_the_board_and_nothing_that_is_hidden(world: Any, page: Page, in_database: Any) -> None:
    page.goto("/")
    page.get_by_role("link", name="Plant floor questions").click()
    page.get_by_role("navigation", name="Plant floor questions").get_by_role("link", name="Leaderboard").click()
    expect(page.get_by_text("measured on 60 hidden scenarios")).to_be_visible()
    rows = page.locator(".board tbody:not(.published) tr")
    expect(rows).to_have_count(9)
    lines = page.locator(".board tbody:not(.published)").inner_text().splitlines()
    ranks = [row.split("\t")[0] for row in lines if "\t" in row]
    assert ranks[:8] == [str(number) for number in range(1, 9)]
    expect(rows.filter(has_text="baseline")).to_have_count(1)
    html = page.content()
    hidden = in_database(lambda: list(world.plant.tasks.get(index=1).scenarios.values_list("opaque_id", flat=True)))
    assert len(hidden) == 60
    assert not [name for name in hidden if name in html]
    for path in (f"/submissions/{world.by_state['hidden'].pk}/", f"/submissions/{world.by_state['finished'].pk}/story"):
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 401
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in first")


def test_the_board_sorts_and_finds_without_a_script(world: Any, browser: Any, base: str) -> None:
    context = browser.new_context(base_url=base, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{TELEMETRY}/leaderboard/")
    page.get_by_role("link", name="Seconds").click()
    seconds = [float(text) for text in page.locator(".board tbody:not(.published) td:nth-child(9)").all_inner_texts()]
    assert seconds == sorted(seconds)
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Seconds")
    page.get_by_role("searchbox").fill("amber-")
    page.get_by_role("button", name="Find").click()
    names = page.locator(".board tbody:not(.published) th").all_inner_texts()
    assert names
    assert all("amber-" in name for name in names)
    page.goto(f"{TELEMETRY}/leaderboard/")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    context.close()


def test_on_a_phone_a_row_keeps_its_score_and_opens_the_rest(world: Any, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{PLANT}/leaderboard/1/")
    first = page.locator(".board tbody:not(.published) tr").first
    expect(first.locator("td").nth(1)).to_be_visible()
    expect(first.locator("td").nth(2)).to_be_hidden()
    first.get_by_text("More").click()
    expect(first.locator("td").nth(2)).to_be_visible()
    label = first.locator("td").nth(2).evaluate("node => getComputedStyle(node, '::before').content")
    assert label == '"Completion"'
    page.goto("/competitions/shift-handover/leaderboard/")  # of people with long names
    overlaps = """() => [...document.querySelectorAll(".board tbody:not(.published) tr")].filter((row) =>
        row.children[1].getBoundingClientRect().right > row.children[2].getBoundingClientRect().left).length"""
    assert page.evaluate(overlaps) == 0


def test_the_readers_own_row_is_always_within_reach(world: Any, page: Page, log_in: Any) -> None:
    log_in(world.participant)
    page.goto(f"{TELEMETRY}/leaderboard/")
    mine = page.locator("[data-own]")
    expect(mine).to_contain_text("You: rank")
    expect(mine).to_be_in_viewport()
    mine.get_by_role("link", name="your row").click()
    expect(page.locator("#me")).to_be_in_viewport()
    expect(page.locator("#me")).to_contain_text("ada")


def test_the_theme_is_remembered_and_follows_the_system_at_first(world: Any, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto("/")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.locator("form.theme button").click()
    assert page.evaluate(paper) != dark
    page.reload()
    assert page.evaluate(paper) != dark
    page.locator("form.theme button").click()
    assert page.evaluate(paper) == dark


@pytest.mark.parametrize("role", ["visitor", "participant", "organizer", "expert", "operator"])
def test_every_page_fits_a_phone_and_has_contrast_in_both_themes(
    world: Any, page: Page, pages_of: Any, role: str
) -> None:
    faults = []
    for path in pages_of(role):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            page.set_viewport_size({"width": 1280, "height": 900})
            page.goto(path)
            faults += [f"{path} {scheme}: {fault}" for fault in page.evaluate(CONTRAST)]
            if page.evaluate("document.documentElement.scrollWidth") > 1280:
                faults.append(f"{path} is wider than 1280 pixels")
        for width in (1024, 768, 390):
            page.set_viewport_size({"width": width, "height": 844})
            if page.evaluate("document.documentElement.scrollWidth") > width:
                faults.append(f"{path} is wider than {width} pixels")
    assert faults == []


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(world: Any, page: Page) -> None:
    page.goto(f"{PLANT}/leaderboard/1/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        one = page.evaluate(
            """() => { const at = document.activeElement, style = getComputedStyle(at), words = at.textContent.trim();
                 return [at.tagName, words.slice(0, 20), style.outlineStyle, parseFloat(style.outlineWidth)]; }"""
        )
        if one[0] == "BODY":
            break
        assert one[2] != "none", one
        assert one[3] >= 2, one
        seen.append(one[1])
    for name in ("Overview", "Leaderboard", "Submit", "Find", "Completion", "CSV", "JSON", "Terms and privacy"):
        assert name in seen, seen
