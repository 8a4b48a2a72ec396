"""A page that changes by itself takes nothing away from who reads it, and says each change once."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, Route, expect

SAID = """() => { window.told = []; for (const place of document.querySelectorAll("[role=status]"))
    new MutationObserver(() => window.told.push(place.textContent)).observe(place, { childList: true }); }"""


def running_at(in_database: Any, submission: Any, **fields: Any) -> None:
    from gauntlet.evaluation.models import Evaluation

    in_database(lambda: Evaluation.objects.filter(submission=submission).update(**fields))


def test_the_focus_stays_where_it_is_and_only_a_state_is_said(
    world: Any, page: Page, log_in: Any, in_database: Any
) -> None:
    log_in(world.participant)
    running = world.by_state["running"]
    page.goto(f"/submissions/{running.pk}/")
    page.evaluate(SAID)
    summary, cancel = page.get_by_text("What the agent printed"), page.get_by_role("button", name="Cancel this")
    for number, focused in enumerate((cancel, summary), start=8):
        focused.focus()
        focused.evaluate("node => { node.wasHere = true; }")
        running_at(in_database, running, episodes_done=number)
        expect(page.locator("[data-live]")).to_contain_text(f"{number} of 20 episodes are done", timeout=15_000)
        expect(focused).to_be_focused()
        assert focused.evaluate("node => node.wasHere")
    assert page.evaluate("window.told") == []
    running_at(in_database, running, state="scoring", episodes_done=20)
    expect(page.locator("[data-said]")).to_have_text("All episodes are over; they are being scored.", timeout=15_000)
    assert page.evaluate("window.told") == ["All episodes are over; they are being scored."]


def test_who_was_at_what_has_gone_goes_on_in_its_neighbourhood_and_can_scroll_what_came(
    world: Any, page: Page, log_in: Any, in_database: Any
) -> None:
    log_in(world.participant)
    waits = world.by_state["queued"]
    page.set_viewport_size({"width": 700, "height": 900})
    page.goto(f"/submissions/{waits.pk}/")
    page.get_by_role("button", name="Cancel this").focus()
    ended = {"failure_code": "memory_limit", "failure_message": "It needed more than 512 MiB."}
    running_at(in_database, waits, state="failed", **ended)
    expect(page.locator("#failure")).to_contain_text("It needed more", timeout=15_000)
    expect(page.locator("[data-said]")).to_have_text("It failed: It needed more than 512 MiB.")
    expect(page.get_by_role("button", name="Cancel this")).to_have_count(0)
    assert page.evaluate("document.querySelector('[data-live]').contains(document.activeElement)")


def test_a_list_keeps_its_rows_and_says_no_longer_that_the_connection_is_lost_once_it_is_not(
    world: Any, page: Page, log_in: Any, in_database: Any
) -> None:
    log_in(world.participant)
    page.clock.install()
    page.goto("/submissions/")
    row = page.locator(f"#s-{world.by_state['running'].pk}")
    row.get_by_role("link").first.focus()
    quiet = page.locator("[data-quiet]")
    answers = {"how": "abort"}

    def meddle(route: Route) -> None:
        if route.request.headers.get("x-fragment") != "1" or answers["how"] == "pass":
            route.continue_()
        elif answers["how"] == "abort":
            route.abort("connectionreset")
        else:
            route.fulfill(status=503, body="away")

    page.route("**/submissions/", meddle)
    page.clock.fast_forward(5_000)
    expect(quiet).to_contain_text("No connection to the server.")
    answers["how"] = "error"
    page.clock.fast_forward(5_000)
    expect(quiet).to_contain_text("The server answered with an error (503).")
    in_database(lambda: again(world.by_state["running"]))
    answers["how"] = "pass"
    page.clock.fast_forward(5_000)
    expect(page.locator("main tbody tr").first).to_contain_text("one more")
    expect(quiet).to_be_empty()
    expect(row.get_by_role("link").first).to_be_focused()


def again(submission: Any) -> None:
    """Another submission, which stands before all others."""
    type(submission).objects.create(
        phase=submission.phase,
        participant=submission.participant,
        name="one more",
        file_name="a.zip",
        bundle=submission.bundle,
    )
