"""Requests that no client of ours sends: each gets a refusal that it can read, and none an error of the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.core.cache import cache
from django.test import Client

from gauntlet.accounts.services import create_token
from gauntlet.competitions.models import Phase

# Of the hostile texts a database, a number's parser or an encoder stumbles over at least one.
TEXTS = ["\0", "9" * 40, "-1", "%", "' OR 1=1--", "<script>", "a" * 5000]


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


@pytest.fixture
def reader(make_user: Callable[..., Any], make_submission: Callable[..., Any], phase: Phase, client: Client) -> Client:
    """Somebody with a submission, by whose session both the pages and the API are read."""
    participant = make_user()
    make_submission(phase, participant)
    client.force_login(participant)
    return client


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "address",
    [
        "/api/v1/competitions/{slug}/phases/{phase}/leaderboard?search={text}",
        "/api/v1/competitions/{slug}/phases/{phase}/leaderboard?sort={text}",
        "/api/v1/competitions/{slug}/phases/{phase}/leaderboard?page={text}",
        "/api/v1/competitions/{slug}/phases/{text}/leaderboard.csv",
        "/api/v1/competitions/{text}",
        "/api/v1/competitions?limit={text}",
        "/api/v1/competitions?offset={text}",
        "/api/v1/submissions?competition={text}",
        "/api/v1/submissions?limit={text}",
        "/competitions/{slug}/leaderboard/?q={text}",
        "/competitions/{slug}/leaderboard/{text}/",
        "/submissions/?page={text}",
    ],
)
def test_an_address(reader: Client, phase: Phase, address: str, text: str) -> None:
    asked = address.format(slug=phase.competition.slug, phase=phase.index, text=quote(text, safe=""))
    response = reader.get(asked)
    assert response.status_code in (200, 400, 404)
    if text == "\0":
        assert response.status_code != 200
        assert asked.startswith("/api/") == (response["Content-Type"] == "application/json")


def test_nobody_gets_more_rows_at_once_than_the_api_gives(reader: Client) -> None:
    assert reader.get("/api/v1/competitions?limit=100000000").json()["count"] == 1
    from gauntlet.api_requests import Pages

    assert Pages.max_limit == 1000


@pytest.mark.parametrize(
    "body",
    [
        '{"username": "\\ud800", "password": "x"}',
        '{"username": "\\u0000", "password": "x"}',
        '{"username": {}, "password": []}',
        '{"username": "a", "password": "b", "scopes": {"a": 1}}',
        '{"username": "a", "password": "b", "scopes": ["\\ud800"]}',
        "[" * 100_000,
        "[]",
        "{",
        "",
    ],
)
def test_the_body_of_a_log_in(db: None, client: Client, body: str) -> None:
    cache.clear()  # the limit on log-ins, which other tests use too
    response = client.post("/api/v1/tokens", body, content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize("path", ["/", "/submissions/", "/api/v1/me", "/api/v1/submissions"])
@pytest.mark.parametrize("name", ["sessionid", "csrftoken", "theme", "messages"])
def test_a_cookie_that_nobody_can_have_is_none(reader: Client, path: str, name: str) -> None:
    whole = reader.cookies["sessionid"].value
    others = "" if name == "sessionid" else f"; sessionid={whole}"
    answer = Client().get(path, headers={"cookie": f'{name}="aaaaaaaa\\000"{others}'})
    assert answer.status_code == (200 if others or path == "/" else 401 if path.startswith("/api/") else 302)


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ("accounts/login/", "login"),
        ("accounts/tokens/", "name"),
        ("competitions/{slug}/team/join", "code"),
        ("competitions/{slug}/organizer/workers/", "queue"),
        ("submissions/{submission}/exclusion", "reason"),
    ],
)
def test_a_field_of_a_form(reader: Client, phase: Phase, place: str, field: str) -> None:
    submission = phase.submissions.get()
    reader.force_login(phase.competition.organizer)
    address = "/" + place.format(slug=phase.competition.slug, submission=submission.pk)
    answer = reader.post(address, {field: "a\0b", "stranded": "again", "phase": "0"})
    assert answer.status_code == 400
    assert "A field of the form holds a character that no text here can have (NUL)." in answer.content.decode()


@pytest.mark.parametrize("accept", ["text/csv", "application/zip", "text/html", "nonsense"])
def test_a_file_is_sent_whatever_type_was_asked_for(reader: Client, phase: Phase, accept: str) -> None:
    address = f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}"
    assert reader.get(f"{address}/leaderboard.csv", headers={"accept": accept})["Content-Type"].startswith("text/csv")
    refused = reader.get(f"{address}/kit", headers={"accept": accept})
    assert (refused.status_code, refused["Content-Type"]) == (404, "application/json")


def test_a_token_opens_the_csv_of_a_competition_that_is_not_published(client: Client, phase: Phase) -> None:
    competition = phase.competition
    type(competition).objects.update(published=False)
    address = f"/api/v1/competitions/{competition.slug}/phases/{phase.index}/leaderboard.csv"
    _, token = create_token(competition.organizer, name="test")
    assert client.get(address, headers={"authorization": f"Bearer {token}"}).status_code == 200
    refused = client.get(address)
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "address",
    [
        "submissions",
        "submissions/{submission}",
        "submissions/{submission}/log",
        "submissions/{submission}/events",
        "competitions/{slug}/phases/{phase}/leaderboard",
        "competitions/{slug}/phases/{phase}/leaderboard.csv",
    ],
)
def test_a_token_that_may_not_read_reads_nothing(
    client: Client, phase: Phase, make_submission: Callable[..., Any], address: str
) -> None:
    submission = make_submission(phase)
    _, token = create_token(submission.participant, name="test", scopes=["submit"])
    asked = address.format(submission=submission.pk, slug=phase.competition.slug, phase=phase.index)
    refused = client.get(f"/api/v1/{asked}", headers={"authorization": f"Bearer {token}"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert "scope" in refused.json()["message"]
