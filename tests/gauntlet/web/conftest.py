"""The showcase's rows, made once a module and rolled back, and clients of the three roles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

if TYPE_CHECKING:
    from gauntlet.web.showcase import Showcase


@pytest.fixture(autouse=True)
def own_storage(settings: Any) -> None:
    """Unlike the other apps' tests: the showcase's files outlive one test, so they stay in the run's own folder."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[Showcase]:
    """Made-up competitions in every state; what a test changes is rolled back after it, the world after the module."""
    from django.db import connection, transaction

    from gauntlet.web.showcase import build

    with django_db_blocker.unblock(), transaction.atomic():
        made = build()
        # The server's own look at these tables would find them empty, since nothing is committed, and plan joins that
        # take minutes. This one sees what is there, and keeps that one out until the end.
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        yield made
        transaction.set_rollback(True)


@pytest.fixture
def visitor(world: Showcase, db: None) -> Client:
    """Somebody without an account."""
    return Client()


@pytest.fixture
def participant(world: Showcase, db: None) -> Client:
    """Somebody who takes part and has submissions in every state."""
    client = Client()
    client.force_login(world.participant)
    return client


@pytest.fixture
def stranger(world: Showcase, db: None) -> Client:
    """Somebody with an account who takes part nowhere."""
    client = Client()
    client.force_login(world.newcomer)
    return client


@pytest.fixture
def organizer(world: Showcase, db: None) -> Client:
    """The organizer of all competitions, who may import more."""
    client = Client()
    client.force_login(world.organizer)
    return client


@pytest.fixture
def expert(world: Showcase, db: None) -> Client:
    """Somebody who was invited to a judge validation and a survey, and has answered all of both."""
    client = Client()
    client.force_login(world.expert)
    return client
