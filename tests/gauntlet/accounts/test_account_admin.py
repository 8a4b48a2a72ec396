"""Accounts that operators make: with an address, which nobody else has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.test import Client

if TYPE_CHECKING:
    from gauntlet.accounts.models import User


def test_an_operator_makes_accounts_each_with_an_address(client: Client, make_user: Callable[..., User]) -> None:
    from gauntlet.accounts.models import User

    client.force_login(make_user(is_staff=True, is_superuser=True))
    secret = "long enough to be taken"

    def add(username: str, email: str) -> Any:
        fields = {"username": username, "email": email, "usable_password": "true"}
        return client.post("/admin/accounts/user/add/", {**fields, "password1": secret, "password2": secret})

    assert [add("first", "first@people.example").status_code, add("second", "second@people.example").status_code] == [
        302
    ] * 2
    assert User.objects.get(username="second").email == "second@people.example"
    for email, said in (("second@people.example", "already exists"), ("", "required"), ("none", "valid email")):
        answer = add("third", email)
        assert (answer.status_code, said in answer.content.decode()) == (200, True), email
    assert not User.objects.filter(username="third").exists()
