"""Signing up, logging in and out by the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.test import Client

from gauntlet.accounts.models import User

pytestmark = pytest.mark.django_db
PASSWORD = "a long pass phrase"


@pytest.fixture(autouse=True)
def fresh_limits() -> None:
    """Each test begins with no attempt made."""
    cache.clear()


def sign_up(client: Client, **fields: str) -> int:
    """Fill the form in."""
    form = {"username": "ada", "email": "ada@example.org", "password1": PASSWORD, "password2": PASSWORD, **fields}
    return client.post("/accounts/signup/", form).status_code


def test_one_signs_up_and_is_logged_in(client: Client) -> None:
    assert sign_up(client) == 302
    assert client.get("/api/v1/me").json()["username"] == "ada"
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


@pytest.mark.parametrize(
    "fields",
    [
        {"password2": "another pass phrase"},
        {"password1": "12345678", "password2": "12345678"},
        {"email": "no address"},
        {"email": ""},
        {"username": ""},
        {"username": "a b"},
    ],
)
def test_a_wrong_form_makes_nobody(fields: dict[str, str], client: Client) -> None:
    assert sign_up(client, **fields) == 200
    assert not User.objects.exists()


def test_a_name_is_taken_whatever_its_case(client: Client, make_user: Callable[..., User]) -> None:
    make_user("Ada")
    assert sign_up(client) == 200
    assert User.objects.count() == 1


def sign_up_after_another(overlapping: Any, username: str, email: str) -> Any:
    """What Ada is answered where somebody else signs up after her form was checked, and before she is saved."""
    form = {"username": "ada", "email": "ada@example.org", "password1": PASSWORD, "password2": PASSWORD}
    return overlapping(
        lambda: User.objects.create_user(username, email), lambda: Client().post("/accounts/signup/", form)
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("username", "email", "said"),
    [
        ("ada", "ada@example.org", "A user with that username already exists."),  # a double click
        ("ada", "other@example.org", "A user with that username already exists."),
        ("Ada", "other@example.org", "A user with that username already exists."),
        ("other", "ada@example.org", "A user is already registered with this email address."),
    ],
)
def test_of_two_who_sign_up_at_once_the_second_is_told_what_is_taken(
    username: str, email: str, said: str, overlapping: Any
) -> None:
    answer = sign_up_after_another(overlapping, username, email)
    assert (answer.status_code, said in answer.content.decode()) == (200, True)
    assert list(User.objects.values_list("username", flat=True)) == [username]
    assert not mail.outbox


@pytest.mark.django_db(transaction=True)
def test_where_addresses_are_confirmed_the_answer_does_not_tell_whether_one_is_taken(
    overlapping: Any, settings: Any, client: Client
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    answer = sign_up_after_another(overlapping, "other", "ada@example.org")
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/confirm-email/")
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]  # who has it is told by mail
    assert list(User.objects.values_list("username", flat=True)) == ["other"]


@pytest.mark.parametrize("login", ["ada", "ada@example.org"])
def test_one_logs_in_by_name_or_address_and_out(login: str, client: Client, make_user: Callable[..., User]) -> None:
    make_user("ada")
    assert client.post("/accounts/login/", {"login": login, "password": "wrong"}).status_code == 200
    assert client.get("/api/v1/me").status_code == 401
    assert client.post("/accounts/login/", {"login": login, "password": PASSWORD}).status_code == 302
    assert client.get("/api/v1/me").status_code == 200
    assert client.get("/accounts/logout/").status_code == 200  # asks; nothing changes on GET
    assert client.get("/api/v1/me").status_code == 200
    assert client.post("/accounts/logout/").status_code == 302
    assert client.get("/api/v1/me").status_code == 401
