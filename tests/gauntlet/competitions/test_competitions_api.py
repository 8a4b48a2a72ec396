"""The API of competitions: what is listed to whom, joining, kits, and the number of queries."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.accounts.services import create_token
from gauntlet.competitions.models import Participation
from gauntlet.competitions.services import import_bundle, join
from gauntlet.queues.models import Queue

pytestmark = pytest.mark.django_db


def bearer(user: User, *scopes: str) -> dict[str, str]:
    """A header with a token of the user's."""
    _, plain = create_token(user, name="test", scopes=scopes or ("read", "submit"))
    return {"Authorization": f"Bearer {plain}"}


def test_the_list_shows_published_ones_and_ones_own_drafts(
    client: Client, make_phase: Callable[..., Any], make_user: Callable[..., User]
) -> None:
    shown, draft = make_phase().competition, make_phase().competition
    draft.published = False
    draft.save()
    collaborator = make_user()
    draft.collaborators.add(collaborator)

    def slugs(**headers: Any) -> set[str]:
        return {row["slug"] for row in client.get("/api/v1/competitions", **headers).json()["results"]}

    assert slugs() == {shown.slug}
    assert slugs(headers=bearer(make_user())) == {shown.slug}
    for reader in (draft.organizer, collaborator, make_user(is_superuser=True)):
        assert slugs(headers=bearer(reader)) == {shown.slug, draft.slug}


@pytest.mark.parametrize("many", [1, 12])
def test_the_list_takes_the_same_few_queries_however_long_it_is(
    many: int, client: Client, make_phase: Callable[..., Any], django_assert_num_queries: Any
) -> None:
    for _ in range(many):
        make_phase()
        make_phase(competition=make_phase().competition)
    with django_assert_num_queries(3):  # count, competitions with organizers, phases
        rows = client.get("/api/v1/competitions").json()["results"]
    assert len(rows) == 2 * many
    assert {len(row["phases"]) for row in rows} == {1, 2}


def test_a_phase_names_whose_workers_run_what_is_submitted(
    client: Client, make_phase: Callable[..., Any], make_user: Callable[..., User]
) -> None:
    Queue.objects.create(name="lab", owner=make_user("kim"))
    phase = make_phase(queue="lab")
    make_phase(competition=phase.competition)
    (listed,) = client.get("/api/v1/competitions").json()["results"]
    alone = client.get(f"/api/v1/competitions/{phase.competition.slug}").json()
    for told in (listed, alone):
        assert [one["queue_owner"] for one in told["phases"]] == ["kim", ""]


@pytest.mark.parametrize("phases", [1, 6])
def test_one_competition_takes_the_same_few_queries_however_many_phases_it_has(
    phases: int,
    client: Client,
    make_phase: Callable[..., Any],
    make_user: Callable[..., User],
    django_assert_num_queries: Any,
) -> None:
    competition = make_phase().competition
    for _ in range(phases - 1):
        make_phase(competition=competition)
    user = make_user()
    join(competition, user=user, terms_accepted=True)
    client.force_login(user)
    with django_assert_num_queries(7):  # session, user, competition, participation, phases, participants, quotas
        body = client.get(f"/api/v1/competitions/{competition.slug}").json()
    assert len(body["phases"]) == phases


def test_a_phase_tells_its_state_and_a_participant_what_is_left(
    client: Client, make_phase: Callable[..., Any], make_user: Callable[..., User], make_submission: Any
) -> None:
    phase = make_phase(max_submissions_per_day=3, max_submissions=None)
    competition = phase.competition
    later = timezone.now() + timedelta(days=1)
    make_phase(competition=competition, start=later)
    make_phase(competition=competition, end=datetime(2020, 2, 1, tzinfo=UTC))
    user = make_user()
    address = f"/api/v1/competitions/{competition.slug}"
    states = [one["state"] for one in client.get(address).json()["phases"]]
    assert states == ["open", "future", "closed"]
    assert client.get(address).json()["phases"][0]["limits"]["left_today"] is None
    make_submission(phase, user)
    body = client.get(address, headers=bearer(user)).json()
    assert body["participation"] == "approved"
    limits = body["phases"][0]["limits"]
    assert (limits["per_day"], limits["left_today"], limits["total"], limits["left_total"]) == (3, 2, None, None)
    assert limits["max_bundle_bytes"] > 0
    assert body["phases"][1]["limits"]["next_allowed_at"] == later.isoformat().replace("+00:00", "Z")


def test_joining_over_the_api(client: Client, make_phase: Callable[..., Any], make_user: Callable[..., User]) -> None:
    competition = make_phase().competition
    address, user = f"/api/v1/competitions/{competition.slug}/join", make_user()
    accepted = {"terms_accepted": True}
    assert client.post(address, accepted, "application/json").status_code == 401
    refused = client.post(address, {}, "application/json", headers=bearer(user))
    assert (refused.status_code, refused.json()["code"]) == (400, "terms_not_accepted")
    read_only = client.post(address, accepted, "application/json", headers=bearer(user, "read"))
    assert (read_only.status_code, read_only.json()["code"]) == (403, "forbidden")
    assert not Participation.objects.exists()
    joined = client.post(address, accepted, "application/json", headers=bearer(user))
    assert (joined.status_code, joined.json()) == (200, {"state": "approved"})


def test_a_session_joins_only_with_the_csrf_token(
    make_phase: Callable[..., Any], make_user: Callable[..., User]
) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user())
    address = f"/api/v1/competitions/{make_phase().competition.slug}/join"
    assert client.post(address, {"terms_accepted": True}, "application/json").status_code == 403
    assert not Participation.objects.exists()


def test_the_kit_is_streamed_to_whoever_sees_the_competition(
    client: Client, bundle: Any, make_user: Callable[..., User]
) -> None:
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True, slug="small")
    answer = client.get("/api/v1/competitions/small/phases/0/kit")
    assert answer.status_code == 200
    assert answer.streaming
    assert answer["Content-Type"] == "application/zip"
    assert "small-0-kit.zip" in answer["Content-Disposition"]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer)))  # type: ignore[arg-type]
    assert archive.namelist() == ["README.md"]
    for missing in ("1/kit", "9/kit", "0/public_data"):
        refused = client.get(f"/api/v1/competitions/small/phases/{missing}")
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    competition.published = False
    competition.save()
    assert client.get("/api/v1/competitions/small/phases/0/kit").status_code == 404


@pytest.mark.visibility
def test_no_route_of_competitions_gives_a_hidden_scenario_or_an_answer_away(
    client: Client, bundle: Any, make_user: Callable[..., User]
) -> None:
    competition = import_bundle(bundle.root, organizer=make_user(), publish=True, slug="small")
    user = make_user()
    join(competition, user=user, terms_accepted=True)
    for path in ("", "/small", "/small/phases/0/kit"):
        answer = client.get(f"/api/v1/competitions{path}", headers=bearer(user))
        body = b"".join(answer) if answer.streaming else answer.content  # type: ignore[arg-type]
        for secret in (b"Question s-2", b"characteristic_form", b"s-2"):
            assert secret not in body


@pytest.mark.parametrize("path", ["competitions/none", "competitions/none/phases/0/kit", "nothing/here"])
def test_what_is_not_there_is_a_404(path: str, client: Client) -> None:
    assert client.get(f"/api/v1/{path}").status_code == 404
