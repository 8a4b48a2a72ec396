"""Queues of one's own: who makes them, how they are called, with whom they are shared, who reaches them as whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import IntegrityError, transaction

from gauntlet.accounts.models import Event, User
from gauntlet.api_errors import DomainError
from gauntlet.queues import access, services
from gauntlet.queues.errors import (
    CannotShare,
    InvalidQueueName,
    MayNotMakeQueues,
    NotQueueOwner,
    QueueNameTaken,
    QueueNotUsable,
    TooMany,
)
from gauntlet.queues.models import Queue
from gauntlet.queues.selectors import own_queue, own_queues, queues_usable_by, shared_with

pytestmark = pytest.mark.django_db


def test_who_may_import_competitions_makes_a_queue(owner: User) -> None:
    queue = services.create_queue("lab-2", owner=owner)
    assert own_queue("lab-2") == queue
    assert list(queues_usable_by(owner)) == [queue]
    (event,) = Event.objects.filter(name="queue.created")
    assert (event.actor, event.data) == (owner, {"name": "lab-2"})


def test_nobody_else_makes_one(make_user: Callable[..., User]) -> None:
    with pytest.raises(MayNotMakeQueues):
        services.create_queue("lab", owner=make_user())
    assert not Queue.objects.exists()


@pytest.mark.parametrize("name", ["", "Lab", "a b", "a_b", "-lab", "läb", "x" * 61, "lab\n", "a/b", "lab\x00"])
def test_a_name_is_small_letters_digits_and_hyphens(owner: User, name: str) -> None:
    with pytest.raises(InvalidQueueName):
        services.create_queue(name, owner=owner)
    assert not Queue.objects.exists()


def test_the_database_holds_the_form_of_names_too(owner: User) -> None:
    with pytest.raises(IntegrityError, match="queue_name"), transaction.atomic():
        Queue.objects.create(name="Not this", owner=owner)


@pytest.mark.parametrize("name", ["lab", "default", "gpu"])
def test_a_name_is_taken_once_and_never_the_platforms(queue: Queue, owner: User, settings: Any, name: str) -> None:
    settings.QUEUES = ["default", "gpu"]
    with pytest.raises(QueueNameTaken, match=name):
        services.create_queue(name, owner=owner)
    assert list(Queue.objects.all()) == [queue]


@pytest.mark.django_db(transaction=True)
def test_of_those_who_take_a_name_at_once_one_gets_it(owner: User, at_once: Any) -> None:
    def take() -> bool:
        try:
            services.create_queue("lab", owner=owner)
        except QueueNameTaken:
            return False
        return True

    assert sorted(at_once(4, take)) == [False, False, False, True]
    assert Queue.objects.count() == 1


def test_there_are_so_many_of_one_owner_and_no_more(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_QUEUES", 2)
    for number in range(2):
        services.create_queue(f"lab-{number}", owner=owner)
    with pytest.raises(TooMany):
        services.create_queue("lab-2", owner=owner)
    assert Queue.objects.count() == 2


def test_a_queue_of_the_operators_that_took_a_name_is_the_platforms_and_told(queue: Queue, settings: Any) -> None:
    settings.QUEUES = ["default", "lab"]
    assert own_queue("lab") is None
    assert own_queues(["lab", "default"]) == {}
    assert list(queues_usable_by(queue.owner)) == []
    with pytest.raises(SystemCheckError, match="QUEUES names 'lab', which is a queue of") as told:
        call_command("check", databases=["default"])
    assert "queues.E001" in str(told.value)
    settings.QUEUES = ["default"]
    call_command("check", databases=["default"])


def test_a_shared_queue_may_be_used_until_it_is_not(queue: Queue, make_user: Callable[..., User]) -> None:
    friend = make_user("friend")
    assert list(queues_usable_by(friend)) == []
    for _ in range(2):
        assert services.share_queue(queue, username=" friend ", actor=queue.owner) == friend
    assert list(queues_usable_by(friend)) == [queue]
    assert list(shared_with(queue)) == [friend]
    assert [services.unshare_queue(queue, username="friend", actor=queue.owner) for _ in range(2)] == [True, False]
    assert list(queues_usable_by(friend)) == []
    assert list(Event.objects.filter(name__startswith="queue.").values_list("name", flat=True)) == [
        "queue.created",
        "queue.shared",
        "queue.unshared",
    ]


@pytest.mark.parametrize("name", ["nobody", "owner itself", "switched off", "x\x01" * 100])
def test_it_is_shared_with_somebody_else_who_is_there(queue: Queue, make_user: Callable[..., User], name: str) -> None:
    make_user("off", is_active=False)
    username = {"owner itself": queue.owner.username, "switched off": "off"}.get(name, name)
    with pytest.raises(CannotShare):
        services.share_queue(queue, username=username, actor=queue.owner)
    assert not shared_with(queue).exists()


def test_who_only_uses_it_changes_nothing(queue: Queue, make_user: Callable[..., User]) -> None:
    friend, third = make_user("friend"), make_user("third")
    services.share_queue(queue, username="friend", actor=queue.owner)
    token, _ = services.issue_token(queue, label="x", actor=queue.owner)
    for act in (
        lambda: services.share_queue(queue, username=third.username, actor=friend),
        lambda: services.unshare_queue(queue, username=friend.username, actor=friend),
        lambda: services.issue_token(queue, label="mine", actor=friend),
        lambda: services.revoke_token(token, actor=friend),
    ):
        with pytest.raises(NotQueueOwner, match=queue.owner.username):
            act()
    token.refresh_from_db()
    assert (list(shared_with(queue)), queue.tokens.count(), token.revoked_at) == ([friend], 1, None)


# Role: what the queue answers to a user of it, and to its owner.
OK = "ok"
MATRIX = {
    "nobody": ("not_signed_in", "not_signed_in"),
    "stranger": ("not_found", "not_found"),
    "owner of another": ("not_found", "not_found"),
    "shared with": (OK, "not_queue_owner"),
    "shared with once": ("not_found", "not_found"),
    "staff": ("not_found", "not_found"),
    "owner": (OK, OK),
    "operator": (OK, OK),
}


@pytest.mark.parametrize("role", MATRIX)
def test_who_reaches_a_queue_as_whom(
    role: str, queue: Queue, make_user: Callable[..., User], make_owner: Callable[[], User]
) -> None:
    user: Any = make_owner() if role == "owner of another" else make_user(is_staff=role == "staff")
    if role == "owner of another":
        services.create_queue("another", owner=user)
    if role.startswith("shared with"):
        services.share_queue(queue, username=user.username, actor=queue.owner)
    if role == "shared with once":
        services.unshare_queue(queue, username=user.username, actor=queue.owner)
    user = {"nobody": AnonymousUser(), "owner": queue.owner, "operator": make_user(is_superuser=True)}.get(role, user)
    got = []
    for function in (access.access_queue_as_user, access.access_queue_as_owner):
        try:
            got.append(OK if function(user, "lab") == queue else "another")
        except DomainError as refusal:
            got.append(refusal.code)
    assert tuple(got) == MATRIX[role]


def test_a_queue_that_is_not_there_answers_as_somebody_elses(queue: Queue, make_user: Callable[..., User]) -> None:
    refusals = []
    for name in ("lab", "nothing"):
        with pytest.raises(DomainError) as caught:
            access.access_queue_as_user(make_user(), name)
        refusals.append((caught.value.code, caught.value.message))
    assert refusals[0] == refusals[1]


def test_what_begins_to_use_a_queue_holds_it(queue: Queue, make_user: Callable[..., User], settings: Any) -> None:
    friend = make_user("friend")
    with transaction.atomic():
        services.hold_usable_queue("lab", user=queue.owner)
        services.hold_usable_queue("default", user=friend)
    for name in ("lab", "nothing", "", "x" * 100, "a\x00b"):
        with pytest.raises(QueueNotUsable), transaction.atomic():
            services.hold_usable_queue(name, user=friend)
