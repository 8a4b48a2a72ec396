"""What holds for every page: small, self-contained, in order, and usable by everyone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import Client

PLANT = "/competitions/plant-floor-questions"
TELEMETRY = "/competitions/district-heating-telemetry"
PUBLIC = [
    "/",
    "/terms/",
    f"{PLANT}/",
    f"{PLANT}/pages/1/",
    f"{PLANT}/terms/",
    f"{PLANT}/leaderboard/",
    f"{PLANT}/leaderboard/0/",
    f"{TELEMETRY}/leaderboard/",
    f"{TELEMETRY}/leaderboard/?page=2",
    f"{TELEMETRY}/leaderboard/?q=nobody-at-all",
    "/competitions/fault-trees/leaderboard/",
    f"{PLANT}/submit/",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
]
PARTICIPANT = [
    *PUBLIC[:-4],
    f"{PLANT}/submissions/",
    "/competitions/fault-trees/",
    "/competitions/fault-trees/submissions/",
    "/competitions/shift-handover/submit/",
    "/submissions/",
    "/accounts/profile/",
    "/accounts/logout/",
    "/accounts/password/change/",
    "/accounts/email/",
    "/accounts/2fa/",
]
ORGANIZER = [
    f"{PLANT}/organizer/",
    f"{PLANT}/organizer/?state=failed&participant=ada",
    "/competitions/fault-trees/organizer/participants/",
    f"{TELEMETRY}/organizer/participants/?state=denied",
    f"{PLANT}/organizer/models/",
    f"{PLANT}/organizer/reviews/",
    "/competitions/shift-handover/organizer/reviews/",
    "/reviews/",
    "/validate/",
    "/import/",
]
WEB = Path(__file__).resolve().parents[3] / "platform" / "gauntlet" / "web"


class Outline(HTMLParser):
    """What the checks need of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.landmarks: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.labelled: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.attributes.append((tag, given))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag in {"main", "header", "footer"}:
            self.landmarks.append(tag)
        if tag == "label" and given.get("for"):
            self.labelled.add(given["for"] or "")


def all_pages(
    visitor: Client, participant: Client, organizer: Client, expert: Client, *, states: list[str], studies: list[str]
) -> dict[str, str]:
    """The HTML of every page, by role and address."""
    found = {}
    for role, client, paths in (
        ("visitor", visitor, PUBLIC),
        ("participant", participant, [*PARTICIPANT, *states]),
        ("organizer", organizer, [*ORGANIZER, *states, *(f"{PLANT}/organizer{path}" for path in studies)]),
        ("expert", expert, ["/", "/reviews/", *studies[1:], *(f"{path}1/" for path in studies[1:])]),
    ):
        for path in paths:
            answer = client.get(path)
            assert answer.status_code == 200, (role, path, answer.status_code)
            found[f"{role} {path}"] = answer.content.decode()
    return found


@pytest.fixture
def pages(world, visitor, participant, organizer, expert):
    from gauntlet.evaluation.models import Episode

    states = [f"/submissions/{submission.pk}/" for submission in world.by_state.values()]
    finished = Episode.objects.filter(evaluation__submission=world.by_state["finished"], trajectory__isnull=False)
    states.append(f"/episodes/{finished[0].pk}/")
    studies = [f"/reviews/{world.studies[kind].pk}/" for kind in ("drawn", "judge", "survey")]
    return all_pages(visitor, participant, organizer, expert, states=states, studies=studies)


def test_every_page_is_small_ordered_labelled_and_self_contained(pages):
    faults = []
    for name, html in pages.items():
        outline = Outline(html)
        if len(html.encode()) > 60_000:
            faults.append(f"{name}: {len(html.encode())} bytes")
        if outline.headings.count(1) != 1 or any(
            after > before + 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False)
        ):
            faults.append(f"{name}: headings {outline.headings}")
        if sorted(outline.landmarks) != ["footer", "header", "main"]:
            faults.append(f"{name}: landmarks {outline.landmarks}")
        faults += [f"{name}: {fault}" for fault in _faults(outline)]
    assert faults == []


def _faults(outline: Outline) -> list[str]:
    faults = []
    ids = [given["id"] for _, given in outline.attributes if given.get("id")]
    faults += [f"id {one} twice" for one in set(ids) if ids.count(one) > 1]
    for tag, given in outline.attributes:
        if "style" in given or any(name.startswith("on") for name in given):
            faults.append(f"inline style or handler in <{tag}>")
        if tag in {"script", "img", "link", "iframe"}:
            address = given.get("src") or given.get("href") or ""
            if not address.startswith(("/", "data:")) or address.startswith("//"):
                faults.append(f"<{tag}> from {address!r}")
        named = (
            given.get("id") in outline.labelled or given.get("aria-label") or given.get("type") in {"hidden", "submit"}
        )
        if tag in {"input", "select", "textarea"} and not named:
            faults.append(f"<{tag} name={given.get('name')}> without a label")
        if tag == "style" and not given.get("nonce"):
            faults.append("style element without a nonce")
        if tag == "form" and given.get("method") == "post" and not given.get("action", "/").startswith(("/", "")):
            faults.append("form that leaves the site")
    return faults


def test_no_two_pages_of_a_reader_have_one_title(pages):
    titles: dict[tuple[str, str], list[str]] = {}
    for name, html in pages.items():
        role, path = name.split(" ", 1)
        found = re.search("<title>(.*?)</title>", html, re.DOTALL)
        assert found, name
        titles.setdefault((role, found[1]), []).append(path.partition("?")[0])
    assert [paths for paths in titles.values() if len(set(paths)) > 1] == []


def test_every_table_has_a_caption_and_its_heads_a_scope(pages):
    faults = []
    for name, html in pages.items():
        for table in re.findall(
            r"<table class=.*?</table>", html, re.DOTALL
        ):  # those of organizers' texts have no class
            if "<caption" not in table:
                faults.append(f"{name}: no caption: {table[:60]}")
            heads = re.findall(r"<th(?![^>]*scope=)[ >].{0,30}", table.partition("<tbody")[0])
            faults += [f"{name}: no scope: {head}" for head in heads]
    assert faults == []


def test_the_sheet_and_the_script_are_small():
    files = WEB / "static" / "gauntlet"
    assert sum(path.stat().st_size for path in files.glob("*.css")) < 32_000  # one page has both
    assert (files / "gauntlet.css").stat().st_size < 30_000
    assert sum(path.stat().st_size for path in files.glob("*.js")) < 40_000


def test_sheet_and_icons_ask_no_other_site_for_anything():
    for path in (WEB / "static" / "gauntlet").iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path.name
        assert "@import" not in text


def test_a_board_of_200_rows_on_one_page_stays_under_60_kb(visitor):
    html = visitor.get(f"{TELEMETRY}/leaderboard/").content.decode()
    assert html.count("<details>") == 201  # one of them a published result
    assert len(html.encode()) < 60_000


def test_the_policy_allows_nothing_inline_without_a_nonce(visitor):
    answer = visitor.get(f"{PLANT}/leaderboard/")
    policy = answer.headers["Content-Security-Policy"]
    nonce = re.search(r'<style nonce="([^"]+)">', answer.content.decode())
    assert nonce
    assert f"'nonce-{nonce[1]}'" in policy
    assert "unsafe" not in policy
    assert "default-src 'self'" in policy


def test_every_post_form_carries_a_token_against_forgery(pages):
    for name, html in pages.items():
        posts = len(re.findall(r'<form[^>]*method="post"', html))
        assert html.count('name="csrfmiddlewaretoken"') >= posts, name
