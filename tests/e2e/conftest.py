"""A browser, a live server of the test's own, and checks that hold for every page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from gauntlet.processes import Processes, free_port, platform_processes

if TYPE_CHECKING:
    from gauntlet.web.showcase import Showcase

T = TypeVar("T")
InDatabase = Callable[[Callable[[], T]], T]
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
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
HANDOVER = "/competitions/shift-handover"  # of people with awkward names
DISPATCH = "/competitions/night-dispatch"  # of trials and models, an own queue, and results
PAGES = {
    "visitor": [
        "/",
        f"{PLANT}/",
        f"{PLANT}/leaderboard/1/",
        f"{TELEMETRY}/leaderboard/",
        f"{HANDOVER}/leaderboard/",
        f"{DISPATCH}/",
        f"{DISPATCH}/leaderboard/",
        "/competitions/fault-trees/leaderboard/",
        f"{PLANT}/terms/",
        f"{PLANT}/submit/",
        "/accounts/login/",
        "/accounts/signup/",
        "/accounts/password/reset/",
        "/terms/",
        "/nothing-here/",
    ],
    "participant": [
        "/",
        f"{PLANT}/submit/",
        f"{DISPATCH}/submit/",
        f"{DISPATCH}/submissions/",
        f"{PLANT}/submissions/",
        f"{PLANT}/leaderboard/0/",
        f"{PLANT}/team/",
        f"{PLANT}/organizer/",
        f"{HANDOVER}/submit/",
        f"{HANDOVER}/submissions/",
        "/competitions/fault-trees/",
        "/competitions/fault-trees/submissions/",
        "/submissions/",
        "/accounts/profile/",
        "/queues/",
        "/accounts/email/",
        "/accounts/password/change/",
        "/accounts/2fa/",
    ],
    "organizer": [
        f"{PLANT}/organizer/",
        "/competitions/fault-trees/organizer/participants/",
        f"{HANDOVER}/organizer/",
        f"{HANDOVER}/organizer/participants/",
        f"{PLANT}/organizer/models/",
        f"{PLANT}/organizer/workers/",
        f"{DISPATCH}/organizer/",
        f"{DISPATCH}/organizer/models/",
        f"{DISPATCH}/organizer/workers/",
        "/queues/",
        "/queues/plant-gpu/",
        "/queues/night-gpu/",
        f"{PLANT}/organizer/reviews/",
        "/import/",
        "/validate/",
    ],
    "expert": ["/", "/reviews/", "/queues/", "/queues/plant-gpu/"],
    "operator": ["/operators/workers/"],
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder needs a browser, and the test database to be made."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.django_db)


@pytest.fixture
def _django_db_helper() -> None:
    """Instead of pytest-django's: no transaction around a test, since other processes must see its rows."""


@pytest.fixture(scope="module")
def browser(django_db_setup: None) -> Iterator[Browser]:
    """Debian's Chromium, with a fresh profile.

    It is closed with the module: while it runs, Playwright's event loop is in the way of every other test's queries.
    """
    with sync_playwright() as play, tempfile.TemporaryDirectory() as cache:
        expect.set_options(timeout=30_000)  # in ms: a busy machine takes longer than Playwright's own five seconds
        started = play.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, f"--disk-cache-dir={cache}"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def in_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[InDatabase]:
    """Runs a function on rows that other processes see; the tables are emptied after the module.

    In a thread of its own: Playwright keeps an event loop in the test's, where Django allows no queries.
    """
    from django.core.management import call_command
    from django.db import connection

    with django_db_blocker.unblock(), ThreadPoolExecutor(1) as thread:
        yield lambda ask: thread.submit(ask).result()
        thread.submit(call_command, "flush", interactive=False, verbosity=0).result()
        thread.submit(lambda: connection.close()).result()


@pytest.fixture(scope="module")
def processes(in_database: InDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """The platform's processes, on the test's own database."""
    from django.conf import settings

    address = urlsplit(os.environ["DATABASE_URL"])
    environment = {
        "DATABASE_URL": urlunsplit(address._replace(path=f"/{settings.DATABASES['default']['NAME']}")),
        "GAUNTLET_VAR": str(settings.VAR),
    }
    with platform_processes(tmp_path_factory.mktemp("logs"), environment=environment) as started:
        yield started


@pytest.fixture(scope="module")
def base(processes: Processes) -> str:
    """The address of a running web server."""
    port = free_port(0)
    processes.start_web(port)
    return f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def world(in_database: InDatabase) -> Showcase:
    """The showcase's competitions, for a browser to look at."""
    from gauntlet.web.showcase import build

    return in_database(build)


@pytest.fixture
def context(browser: Browser, base: str) -> Iterator[BrowserContext]:
    """A visitor's browser. Any request that leaves the site, and any error of a script, fails the test."""
    opened = browser.new_context(base_url=base, viewport={"width": 1280, "height": 900})
    left: list[str] = []
    broken: list[str] = []
    opened.on(
        "request",
        lambda request: None if request.url.startswith((base, "data:", "blob:")) else left.append(request.url),
    )
    opened.on("weberror", lambda error: broken.append(str(error.error)))
    opened.on(
        "console",
        lambda message: broken.append(message.text) if "Content Security Policy" in message.text else None,
    )
    yield opened
    opened.close()
    assert left == []
    assert broken == []


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A visitor's page."""
    return context.new_page()


@pytest.fixture
def log_in(context: BrowserContext, base: str, in_database: InDatabase) -> Any:
    """Log a person in without the form, which a test of its own walks."""

    def enter(user: Any) -> None:
        from django.test import Client

        client = Client()
        in_database(lambda: client.force_login(user))
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": base}])

    return enter


@pytest.fixture
def pages_of(world: Showcase, log_in: Any, in_database: InDatabase) -> Callable[[str], list[str]]:
    """Logs a role in and gives the address of every page that it opens."""
    people = {role: getattr(world, role) for role in ("participant", "organizer", "expert", "operator")}

    def enter(role: str) -> list[str]:
        if role in people:
            log_in(people[role])
        return [*PAGES[role], *in_database(lambda: _pages_with_ids(role, world))]

    return enter


def _pages_with_ids(role: str, world: Showcase) -> list[str]:
    states = {name: f"/submissions/{submission.pk}/" for name, submission in world.by_state.items()}
    studies = {kind: f"/reviews/{study.pk}/" for kind, study in world.studies.items()}
    if role == "participant":
        finished, earlier = world.by_state["finished"], world.by_state["earlier"]
        episode = finished.evaluations.get().episodes.filter(trajectory__isnull=False)[0]
        return [*states.values(), f"{states['finished']}compare/?with={earlier.pk}", f"/episodes/{episode.pk}/"]
    if role == "organizer":
        told = [states[name] for name in ("trials", "failed", "fault_output_limit", "results_unscored")]
        return [*told, *(f"{PLANT}/organizer{path}" for path in studies.values())]
    if role == "expert":
        return [f"{studies[kind]}{part}" for kind in ("judge", "survey") for part in ("", "1/")]
    return []
