"""Accounts that operators make: with an address, which nobody else has."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection
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


@pytest.mark.parametrize(("username", "email"), [("ADA", "other@people.example"), ("other", "Ada@Example.org")])
def test_of_names_and_addresses_that_differ_in_case_alone_there_is_one(
    username: str, email: str, client: Client, make_user: Callable[..., User]
) -> None:
    from gauntlet.accounts.models import User

    make_user("ada")
    client.force_login(make_user("operator", is_staff=True, is_superuser=True))
    secret = "long enough to be taken"
    fields = {"username": username, "email": email, "usable_password": "true"}
    answer = client.post("/admin/accounts/user/add/", {**fields, "password1": secret, "password2": secret})
    assert (answer.status_code, "already exists." in answer.content.decode()) == (200, True)
    with pytest.raises(IntegrityError):
        User.objects.create_user(username, email)


def test_the_migration_names_accounts_that_are_alike_and_changes_nothing(make_user: Callable[..., User]) -> None:
    from gauntlet.accounts.models import User

    refuse_doubles = import_module("gauntlet.accounts.migrations.0002_any_case").refuse_doubles
    with connection.schema_editor() as editor:
        for constraint in User._meta.constraints:
            editor.remove_constraint(User, constraint)
        for name in ("ada", "grace", "Grace", "stra\N{LATIN SMALL LETTER SHARP S}e", "strasse"):
            make_user(name)
        with pytest.raises(ValueError, match=r"username of each account.*alike: grace and Grace\. Change"):
            refuse_doubles(apps, editor)
        User.objects.filter(username="Grace").update(username="hopper")
        with pytest.raises(ValueError, match=r"email of each account.*alike: grace@.* and Grace@example"):
            refuse_doubles(apps, editor)
        User.objects.filter(username="hopper").update(email="hopper@example.org")
        refuse_doubles(apps, editor)
