"""Somebody who may have queues, and a queue of theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gauntlet.accounts.models import User
    from gauntlet.queues.models import Queue


@pytest.fixture
def make_owner(make_user: Callable[..., User]) -> Callable[[], User]:
    """Make somebody who may import competitions."""
    from django.contrib.auth.models import Permission

    def make() -> User:
        owner = make_user()
        owner.user_permissions.add(Permission.objects.get(codename="add_competition"))
        return owner

    return make


@pytest.fixture
def owner(make_owner: Callable[[], User]) -> User:
    """Who owns the queue."""
    return make_owner()


@pytest.fixture
def queue(owner: User) -> Queue:
    """A queue named "lab"."""
    from gauntlet.queues.services import create_queue

    return create_queue("lab", owner=owner)
