"""A queue that its owner deletes while another request of theirs is about it: that one is told that there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from gauntlet.accounts.models import User
from gauntlet.evaluation.own_queues import delete_queue
from gauntlet.queues.errors import QueueNotFound
from gauntlet.queues.models import Queue, QueueToken
from gauntlet.queues.services import create_queue, issue_token, revoke_token, share_queue, unshare_queue

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def queue(make_user: Callable[..., User]) -> Queue:
    """Shared with Bob."""
    owner = make_user("ada")
    owner.user_permissions.add(Permission.objects.get(codename="add_competition"))
    made = create_queue("lab", owner=owner)
    share_queue(made, username=make_user("bob").username, actor=owner)
    return made


@pytest.fixture
def token(queue: Queue) -> QueueToken:
    return issue_token(queue, label="the lab", actor=queue.owner)[0]


@pytest.mark.parametrize(
    "act",
    [
        lambda token, actor: delete_queue(token.queue, actor=actor),
        lambda token, actor: share_queue(token.queue, username="eve", actor=actor),
        lambda token, actor: unshare_queue(token.queue, username="bob", actor=actor),
        lambda token, actor: issue_token(token.queue, label="another", actor=actor),
        lambda token, actor: revoke_token(token, actor=actor),
    ],
    ids=["delete", "share", "unshare", "issue", "revoke"],
)
def test_a_queue_that_has_just_been_deleted_is_not_found(
    act: Callable[[QueueToken, User], Any], token: QueueToken, make_user: Callable[..., User], overlapping: Any
) -> None:
    make_user("eve")
    owner = token.queue.owner
    told = overlapping(lambda: delete_queue(token.queue, actor=owner), lambda: act(token, owner))
    assert isinstance(told, QueueNotFound)
    assert not QueueToken.objects.exists()
