"""Pictures of every page at 1280 and 390 pixels, light and dark, into var/screenshots.

Start a development server on an empty database that was filled by ``manage.py showcase``, then::

    python tests/e2e/screenshots.py http://localhost:8000 [part of a page's name ...]
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

OUT = Path(__file__).resolve().parents[2] / "var" / "screenshots"
PASSWORD = "showcase-only-7"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PLANT = "/competitions/plant-floor-questions"
TELEMETRY = "/competitions/district-heating-telemetry"
DISPATCH = "/competitions/night-dispatch"

PUBLIC = {
    "home-public": "/",
    "overview-public": f"{PLANT}/",
    "terms": f"{PLANT}/terms/",
    "board-public": f"{PLANT}/leaderboard/1/",
    "board-250-public": f"{TELEMETRY}/leaderboard/",
    "submit-public": f"{PLANT}/submit/",
    "board-empty": "/competitions/fault-trees/leaderboard/",
    "login": "/accounts/login/",
    "signup": "/accounts/signup/",
    "reset": "/accounts/password/reset/",
    "site-terms": "/terms/",
    "missing": "/competitions/nothing/",
}
PARTICIPANT = {
    "home": "/",
    "overview": f"{PLANT}/",
    "overview-pending": "/competitions/fault-trees/",
    "board-8": f"{PLANT}/leaderboard/1/",
    "board-40": f"{PLANT}/leaderboard/0/",
    "board-250": f"{TELEMETRY}/leaderboard/",
    "board-search": f"{TELEMETRY}/leaderboard/?q=amber&sort=seconds",
    "board-search-none": f"{TELEMETRY}/leaderboard/?q=nobody-of-that-name",
    "submit": f"{PLANT}/submit/",
    "submit-results": f"{DISPATCH}/submit/",
    "board-trials": f"{DISPATCH}/leaderboard/0/",
    "overview-trials": f"{DISPATCH}/",
    "submit-closed": "/competitions/shift-handover/submit/",
    "mine": "/submissions/",
    "mine-here": f"{PLANT}/submissions/",
    "mine-none": "/competitions/fault-trees/submissions/",
    "profile": "/accounts/profile/",
    "queues-none": "/queues/",
    "mfa": "/accounts/2fa/",
    "logout": "/accounts/logout/",
}
ORGANIZER = {
    "organizer": f"{PLANT}/organizer/",
    "organizer-filtered": f"{PLANT}/organizer/?state=failed",
    "organizer-participants": "/competitions/fault-trees/organizer/participants/",
    "organizer-import": "/import/",
    "organizer-reviews": f"{PLANT}/organizer/reviews/",
    "organizer-reviews-none": "/competitions/shift-handover/organizer/reviews/",
    "validate": "/validate/",
    "queues": "/queues/",
    "queue": "/queues/plant-gpu/",
    "organizer-workers": "/competitions/fault-trees/organizer/workers/",
    "organizer-workers-own": f"{DISPATCH}/organizer/workers/",
    "organizer-models": f"{DISPATCH}/organizer/models/",
    "organizer-dispatch": f"{DISPATCH}/organizer/",
}
OPERATOR = {"operators-workers": "/operators/workers/"}
EXPERT = {"reviews": "/reviews/", "home-invited": "/"}


def log_in(page: Page, base: str, name: str) -> None:
    """Log in through the form."""
    page.goto(f"{base}/accounts/login/")
    page.fill("[name=login]", name)
    page.fill("[name=password]", PASSWORD)
    page.click("main button[type=submit], main button:not([type])")
    page.wait_for_url(f"{base}/")


def submissions(page: Page, base: str) -> dict[str, str]:
    """The participant's submissions, one a state, and an episode of the finished one."""
    page.goto(f"{base}{PLANT}/submissions/")
    found: dict[str, str] = {}
    for link in page.locator("main th a").all():
        text, address = link.inner_text(), link.get_attribute("href") or ""
        state = re.search(r"\((\w+)\)", text)
        found[f"submission-{state.group(1) if state else 'earlier' if 'planner 12' in text else 'hidden'}"] = address
    page.goto(f"{base}{DISPATCH}/submissions/")
    for link in page.locator("main th a").all():
        found[f"night-{link.inner_text()[6:].replace(' ', '-')}"] = link.get_attribute("href") or ""
    page.goto(f"{base}{found['submission-finished']}")
    first = page.locator("main th a[href^='/episodes/']").first
    found["episode"] = first.get_attribute("href") or ""
    return found


def studies(page: Page, base: str) -> dict[str, str]:
    """The organizer's page of each study, by name."""
    page.goto(f"{base}{PLANT}/organizer/reviews/")
    links = {link.inner_text(): link.get_attribute("href") or "" for link in page.locator("main th a").all()}
    return {f"study-{name.replace(', ', '-').replace(' ', '-').lower()}": path for name, path in links.items()}


def reviews(page: Page, base: str) -> dict[str, str]:
    """An expert's pages: each study's own, and its eighth item."""
    page.goto(f"{base}/reviews/")
    places = [link.get_attribute("href") or "" for link in page.locator("main th a").all()]
    found = {f"review-{number}": place for number, place in enumerate(places)}
    return {**found, **{f"{name}-item": f"{place}8/" for name, place in found.items()}}


def main(base: str, wanted: list[str]) -> None:
    """Take the pictures whose names contain one of the words; all without words."""
    OUT.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play, tempfile.TemporaryDirectory() as profile:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, f"--disk-cache-dir={profile}"])
        more = {"ada": submissions, "plantops": studies, "h.lindgren": reviews}
        roles = (
            ("", PUBLIC),
            ("ada", PARTICIPANT),
            ("plantops", ORGANIZER),
            ("h.lindgren", EXPERT),
            ("operator", OPERATOR),
        )
        for who, pages in roles:
            context = browser.new_context()
            page = context.new_page()
            if who:
                log_in(page, base, who)
            shown = {**pages, **(more[who](page, base) if who in more else {})}
            for name, path in shown.items():
                if not wanted or any(word in name for word in wanted):
                    shoot(page, f"{base}{path}", name)
            context.close()
        browser.close()


def shoot(page: Page, address: str, name: str) -> None:
    """Four pictures of a page, and a word where it is wider than a phone."""
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of two constants
            page.goto(address, wait_until="load")
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                sys.stdout.write(f"{name} at {width}: {wide} pixels wide\n")
            long = page.evaluate("document.documentElement.scrollHeight") > 3000
            page.screenshot(path=OUT / f"{name}-{width}-{scheme}.png", full_page=not long)


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), sys.argv[2:])
