"""The whole, in a browser: an organizer imports, a participant uploads and sees a score, the public reads the board.

Web server, worker, beat, sandboxes, scorers and database are the real ones.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

ROOT = Path(__file__).resolve().parents[2]
PASSPHRASE = "correct horse battery staple"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quickstart competition as an organizer's zip."""
    from gauntlet.storage.folders import write_zip

    folder = tmp_path_factory.mktemp("quickstart")
    secret = folder / "secret"
    secret.write_text("a secret of this test's installation, long enough")
    generator = ROOT / "competitions" / "quickstart" / "generator" / "make.py"
    made = folder / "bundle"
    subprocess.run([sys.executable, str(generator), "--secret-file", str(secret), "--out", str(made)], check=True)
    packed = folder / "quickstart.zip"
    with packed.open("wb") as out:
        write_zip(made, out)
    return packed


def zipped(folder: Path, target: Path) -> Path:
    """A folder as a zip."""
    from gauntlet.storage.folders import write_zip

    with target.open("wb") as out:
        write_zip(folder, out)
    return target


@pytest.fixture
def organizer(in_database: Any) -> Any:
    """Somebody whom the operator lets import competitions."""

    def make() -> Any:
        from django.contrib.auth.models import Permission

        from gauntlet.accounts.models import User

        user = User.objects.create_user("olga", "olga@people.example", PASSPHRASE)
        user.user_permissions.add(Permission.objects.get(codename="add_competition"))
        return user

    return in_database(make)


def sign_up(page: Page, name: str) -> None:
    """Make an account through the form."""
    page.goto("/accounts/signup/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("E-mail").fill(f"{name}@people.example")
    page.get_by_label("Password", exact=True).fill(PASSPHRASE)
    page.get_by_label("Password (again)").fill(PASSPHRASE)
    page.get_by_role("button", name="Sign up").click()


def submit(page: Page, archive: Path, name: str) -> None:
    """Upload to the development phase."""
    page.get_by_role("link", name="Submit", exact=True).click()
    page.get_by_label("Phase", exact=True).select_option("0")
    page.get_by_label("File", exact=True).set_input_files(archive)
    page.get_by_label("Name", exact=False).last.fill(name)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name, timeout=20_000)


@pytest.mark.timeout(600)
def test_import_submit_score_and_read(
    base: str,
    processes: Any,
    browser: Browser,
    page: Page,
    log_in: Any,
    organizer: Any,
    in_database: Any,
    bundle: Path,
    tmp_path: Path,
) -> None:
    from gauntlet.competitions.models import Phase

    processes.start_worker()
    processes.start_beat()

    log_in(organizer)
    page.goto("/import/")
    page.get_by_label("Competition bundle").set_input_files(bundle)
    page.get_by_role("button", name="Check and import").click()
    expect(page.get_by_text("was imported")).to_be_visible(timeout=60_000)
    address = page.url
    page.get_by_role("link", name="Organizer").click()
    page.get_by_role("button", name="Publish it").click()
    expect(page.get_by_text("everybody sees it now")).to_be_visible()

    in_database(lambda: Phase.objects.filter(index=0).update(end=None))  # development goes on beside the test

    participant = browser.new_context(base_url=base).new_page()
    sign_up(participant, "paula")
    participant.goto(address)
    participant.get_by_label("I accept the terms").check()
    participant.get_by_role("button", name="Join").click()
    expect(participant.get_by_text("You can submit now")).to_be_visible()
    submit(participant, zipped(ROOT / "starter_kits" / "minimal", tmp_path / "minimal.zip"), "first try")
    crash = participant.context.new_page()
    crash.goto(address)
    submit(
        crash, zipped(ROOT / "competitions" / "quickstart" / "demo_agents" / "crashing", tmp_path / "c.zip"), "crash"
    )

    # Nobody reloads: the pages follow by themselves.
    expect(participant.locator("[data-live]")).to_have_attribute("data-final", "true", timeout=300_000)
    expect(participant.get_by_role("heading", name="Scores")).to_be_visible()
    expect(participant.get_by_text("20 of 20 episodes ended with an answer")).to_be_visible()
    expect(crash.locator("[data-live]")).to_have_attribute("data-final", "true", timeout=120_000)
    expect(crash.locator(".chip").first).to_contain_text("Failed: agent’s fault")
    expect(crash.get_by_text("The cause lies in the agent.")).to_be_visible()
    participant.locator("a[href^='/episodes/']").first.click()
    expect(participant.get_by_text("Tool call").first).to_be_visible()

    page.get_by_role("link", name="Organizer").click()
    expect(page.get_by_role("row", name="first try")).to_contain_text("Finished")
    page.get_by_label("State").select_option("failed")
    expect(page.get_by_role("row", name="crash")).to_be_visible()
    expect(page.get_by_role("row", name="first try")).to_have_count(0)

    public = browser.new_context(base_url=base).new_page()
    public.goto(f"{address}leaderboard/0/")
    expect(public.locator(".board tbody tr")).to_have_count(1)
    expect(public.locator(".board tbody tr")).to_contain_text("paula")
    for opened in (participant, public):
        opened.context.close()
