"""API tokens: made from a password, hashed, scoped, ended."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import ApiToken, Event, User
from gauntlet.accounts.selectors import events_of, tokens_of
from gauntlet.accounts.services import create_token, record_event, revoke_token

pytestmark = pytest.mark.django_db
PASSWORD = "a long pass phrase"


@pytest.fixture(autouse=True)
def fresh_throttles() -> Iterator[None]:
    """Each test begins with no log-in made."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def user(make_user: Callable[..., User]) -> User:
    """Somebody with a password."""
    return make_user("ada")


def ask(client: Client, **fields: Any) -> Any:
    """Ask for a token."""
    body = {"username": "ada", "password": PASSWORD, **fields}
    return client.post("/api/v1/tokens", body, "application/json")


def me(client: Client, token: str) -> Any:
    """Who the token belongs to."""
    return client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("username", ["ada", "ada@example.org", "ADA@example.org"])
def test_a_password_makes_a_token(username: str, client: Client, user: User) -> None:
    answer = ask(client, username=username, name="laptop")
    assert answer.status_code == 201
    body = answer.json()
    assert (body["name"], body["scopes"], body["expires_at"]) == ("laptop", ["read", "submit"], None)
    assert body["token"].startswith("gnt_")
    assert me(client, body["token"]).json() == {
        "username": "ada",
        "email": "ada@example.org",
        "scopes": ["read", "submit"],
    }


def test_only_the_digest_is_kept(user: User) -> None:
    token, plain = create_token(user, name="x")
    row = str(ApiToken.objects.values().get())
    assert plain not in row
    assert token.digest == hashlib.sha256(plain.encode()).hexdigest()
    assert plain not in str(list(Event.objects.values()))


@pytest.mark.parametrize(
    "fields",
    [{"password": "wrong"}, {"username": "nobody"}, {"username": "ada", "password": PASSWORD.upper()}],
    ids=["password", "name", "case"],
)
def test_wrong_credentials_are_a_401_that_does_not_say_which(fields: Any, client: Client, user: User) -> None:
    answer = ask(client, **fields)
    assert (answer.status_code, answer.json()["code"]) == (401, "wrong_credentials")
    assert answer.json()["message"] == "User name and password do not belong together. Check both and try again."
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    "fields", [{"username": ""}, {"password": None}, {"scopes": ["everything"]}, {"scopes": []}, {"name": "x" * 101}]
)
def test_a_wrong_request_names_the_field(fields: Any, client: Client, user: User) -> None:
    answer = ask(client, **fields)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert next(iter(fields)) in answer.json()["errors"][0]["field"]


@pytest.mark.parametrize("body", ["", "{", "[]", '"x"', "null"])
def test_a_body_that_is_no_object(body: str, client: Client, user: User) -> None:
    assert client.post("/api/v1/tokens", body, "application/json").status_code == 400


def test_an_account_that_is_switched_off_gets_none(client: Client, user: User) -> None:
    _, plain = create_token(user, name="before")
    user.is_active = False
    user.save()
    assert ask(client).status_code == 401
    assert me(client, plain).status_code == 401


def test_a_second_factor_cannot_be_gone_around(client: Client, user: User) -> None:
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": "x"})
    answer = ask(client)
    assert (answer.status_code, answer.json()["code"]) == (401, "second_factor_needed")
    assert not ApiToken.objects.exists()


@pytest.mark.security
def test_guessing_is_slowed_down_by_address_and_by_account(client: Client, user: User) -> None:
    codes = [ask(client, password=f"guess {n}").status_code for n in range(12)]
    assert codes == [401] * 10 + [429] * 2
    other_address = Client(REMOTE_ADDR="192.0.2.7")
    assert ask(other_address, username="ADA ").status_code == 429
    last = ask(other_address, username="somebody else")
    assert last.status_code == 401
    refused = ask(client)
    assert refused.json()["code"] == "too_many_requests"
    assert 0 < int(refused["Retry-After"]) <= 60


def test_a_stale_token_does_not_keep_from_a_new_one(client: Client, user: User) -> None:
    body = {"username": "ada", "password": PASSWORD}
    answer = client.post("/api/v1/tokens", body, "application/json", headers={"Authorization": "Bearer gnt_old"})
    assert answer.status_code == 201


def test_scopes_are_enforced(client: Client, user: User, make_phase: Any) -> None:
    address = f"/api/v1/competitions/{make_phase().competition.slug}/join"

    def join(*scopes: str) -> int:
        headers = {"Authorization": f"Bearer {create_token(user, name='x', scopes=scopes)[1]}"}
        status: int = client.post(address, {"terms_accepted": True}, "application/json", headers=headers).status_code
        return status

    assert me(client, create_token(user, name="x", scopes=["submit"])[1]).status_code == 403
    assert join("read") == 403
    assert join("submit") == 200


def test_a_token_ends_at_its_time_and_when_it_is_revoked(client: Client, user: User) -> None:
    token, plain = create_token(user, name="x", ttl=timedelta(hours=1))
    assert me(client, plain).status_code == 200
    assert list(tokens_of(user)) == [token]
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert me(client, plain).status_code == 401
    assert list(tokens_of(user)) == []
    token, plain = create_token(user, name="y")
    revoke_token(token, actor=user)
    revoke_token(token, actor=user)
    answer = me(client, plain)
    assert answer.status_code == 401
    assert "gauntlet login" in answer.json()["message"]
    assert answer["WWW-Authenticate"] == "Bearer"
    assert [event.name for event in events_of(token)] == ["token.created", "token.revoked"]


def test_one_logs_out_with_any_scope(client: Client, user: User) -> None:
    for scope in ("read", "submit"):
        _, plain = create_token(user, name="x", scopes=[scope])
        headers = {"Authorization": f"Bearer {plain}"}
        assert client.delete("/api/v1/tokens/current", headers=headers).status_code == 204
        assert client.get("/api/v1/me", headers=headers).status_code == 401


def test_nobody_ends_anothers_token(client: Client, user: User, make_user: Callable[..., User]) -> None:
    mine, plain = create_token(user, name="x")
    theirs, _ = create_token(make_user(), name="x")
    headers = {"Authorization": f"Bearer {plain}"}
    assert client.delete(f"/api/v1/tokens/{theirs.pk}", headers=headers).status_code == 404
    theirs.refresh_from_db()
    assert theirs.revoked_at is None
    assert client.delete(f"/api/v1/tokens/{mine.pk}", headers=headers).status_code == 204


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Bearer \u00fc", "Bearer " + "x" * 9000])
def test_a_malformed_header_is_a_401(header: str, client: Client) -> None:
    answer = client.get("/api/v1/me", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "not_signed_in")


def test_me_needs_somebody(client: Client, user: User) -> None:
    assert client.get("/api/v1/me").status_code == 401
    client.force_login(user)
    assert client.get("/api/v1/me").json()["scopes"] is None


def test_an_event_says_what_happened_to_what(user: User) -> None:
    event = record_event(user, "user.renamed", actor=user, before="a", after="b", reason="Asked.", data={"n": 1})
    assert (event.subject_type, event.subject_id, event.actor) == ("user", str(user.pk), user)
    assert record_event(user, "user.seen").actor is None


def test_the_log_of_events_cannot_be_changed_by_operators(client: Client, make_user: Callable[..., User]) -> None:
    operator = make_user("operator", is_staff=True, is_superuser=True)
    event = record_event(operator, "user.renamed")
    client.force_login(operator)
    page = f"/admin/accounts/event/{event.pk}/"
    assert client.get("/admin/accounts/event/").status_code == 200
    assert client.post(f"{page}change/", {"name": "x"}).status_code == 403
    assert client.post(f"{page}delete/", {"post": "yes"}).status_code == 403
    assert client.get("/admin/accounts/event/add/").status_code == 403


@pytest.mark.parametrize("model", ["user", "apitoken", "event", "competition", "phase", "participation", "submission"])
def test_operators_pages_open(
    model: str, client: Client, make_user: Any, make_phase: Any, make_submission: Any
) -> None:
    operator = make_user("operator", is_staff=True, is_superuser=True)
    submission = make_submission(make_phase())
    create_token(operator, name="x")
    app = {"user": "accounts", "apitoken": "accounts", "event": "accounts", "submission": "submissions"}
    client.force_login(operator)
    address = f"/admin/{app.get(model, 'competitions')}/{model}/"
    assert client.get(address).status_code == 200
    if model == "submission":
        assert client.get(f"{address}{submission.pk}/change/").status_code == 200
    if model == "phase":
        assert client.get(f"{address}{submission.phase.pk}/change/").status_code == 200
    if model == "competition":
        assert client.get(f"{address}{submission.phase.competition.pk}/change/").status_code == 200
