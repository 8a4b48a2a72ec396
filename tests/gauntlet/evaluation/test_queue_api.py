"""Own queues through the API: made, shared, tokens issued and revoked, one queue told, deleted; a phase's queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Phase
from gauntlet.queues.models import Queue, QueueToken
from gauntlet.queues.services import authenticate_worker, create_queue, share_queue

pytestmark = pytest.mark.django_db
QUEUES = "/api/v1/queues"


@pytest.fixture
def phase(make_phase: Callable[..., Phase]) -> Phase:
    return make_phase()


@pytest.fixture
def owner(phase: Phase) -> User:
    phase.competition.organizer.user_permissions.add(Permission.objects.get(codename="add_competition"))
    return phase.competition.organizer


@pytest.fixture
def mine(owner: User) -> Client:
    """The owner's client."""
    client = Client()
    client.force_login(owner)
    return client


def send(client: Client, method: str, path: str, **body: Any) -> Any:
    """A request with a JSON body."""
    return getattr(client, method)(path, body, "application/json")


def test_a_queue_from_its_making_to_its_end(mine: Client, owner: User, phase: Phase) -> None:
    made = send(mine, "post", QUEUES, name="lab")
    assert made.status_code == 201
    assert [(one["name"], one["owner"]) for one in mine.get(QUEUES).json()] == [("lab", owner.username)]
    issued = send(mine, "post", f"{QUEUES}/lab/tokens", label="rack 3").json()
    token = authenticate_worker(issued["token"])
    assert token is not None
    assert str(token.pk) == issued["id"]
    (listed,) = mine.get(f"{QUEUES}/lab/tokens").json()
    assert listed["prefix"] == issued["token"][:12]
    assert "token" not in listed
    path = f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/queue"
    assert send(mine, "put", path, queue="lab").json() == {"queue": "lab", "moved": 0}
    told = mine.get(f"{QUEUES}/lab").json()
    assert (told["serving"], told["waiting"], told["in_work"], told["workers"]) == (0, 0, 0, [])
    assert told["phases"] == [{"id": phase.pk, "name": f"“{phase.name}” of “{phase.competition.title}”"}]
    refused = mine.delete(f"{QUEUES}/lab")
    assert (refused.status_code, refused.json()["code"]) == (409, "queue_in_use")
    assert mine.delete(f"{QUEUES}/lab/phases/{phase.pk}").json() == {"queue": "default", "moved": 0}
    assert mine.delete(f"{QUEUES}/lab/phases/{phase.pk}").status_code == 404
    assert mine.delete(f"{QUEUES}/lab/tokens/{issued['id']}").status_code == 204
    assert authenticate_worker(issued["token"]) is None
    assert mine.delete(f"{QUEUES}/lab").status_code == 204
    assert not Queue.objects.exists()


def test_it_is_shared_and_not(mine: Client, owner: User, make_user: Callable[..., User]) -> None:
    create_queue("lab", owner=owner)
    friend = make_user("friend@work.example")
    theirs = Client()
    theirs.force_login(friend)
    assert theirs.get(f"{QUEUES}/lab").status_code == 404
    assert send(mine, "post", f"{QUEUES}/lab/organizers", user=friend.username).json() == {
        "organizers": [friend.username]
    }
    assert theirs.get(f"{QUEUES}/lab").status_code == 200
    assert [one["name"] for one in theirs.get(QUEUES).json()] == ["lab"]
    assert mine.delete(f"{QUEUES}/lab/organizers/{friend.username}").status_code == 204
    assert mine.get(f"{QUEUES}/lab/organizers").json() == {"organizers": []}
    assert theirs.get(f"{QUEUES}/lab").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("post", "", {}, 400, "invalid"),
        ("post", "", {"name": "Not This"}, 422, "invalid_queue_name"),
        ("post", "", {"name": "lab"}, 409, "queue_name_taken"),
        ("post", "", {"name": "default"}, 409, "queue_name_taken"),
        ("post", "", {"name": "x" * 61}, 400, "invalid"),
        ("post", "", {"name": "a\x00b"}, 400, "invalid"),
        ("post", "/lab/tokens", {}, 400, "invalid"),
        ("post", "/lab/tokens", {"label": "x" * 101}, 400, "invalid"),
        ("post", "/lab/organizers", {"user": "nobody"}, 422, "cannot_share"),
        ("delete", "/lab/tokens/1b8f0dfa-7fe6-4b1f-8d1b-1f2f3a4b5c6d", {}, 404, "not_found"),
        ("delete", "/lab/phases/99999999999999999999", {}, 404, "not_found"),
        ("get", "/nothing", {}, 404, "not_found"),
        ("delete", "/lab/organizers/a%00b", {}, 400, "invalid"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(
    mine: Client, owner: User, method: str, path: str, body: Any, status: int, code: str
) -> None:
    create_queue("lab", owner=owner)
    answer = send(mine, method, f"{QUEUES}{path}", **body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (Queue.objects.count(), QueueToken.objects.count()) == (1, 0)


ROUTES = [
    ("get", "/lab", OK := "ok"),
    ("delete", "/lab", "not_queue_owner"),
    ("get", "/lab/tokens", "not_queue_owner"),
    ("post", "/lab/tokens", "not_queue_owner"),
    ("get", "/lab/organizers", "not_queue_owner"),
    ("post", "/lab/organizers", "not_queue_owner"),
    ("delete", "/lab/organizers/friend", "not_queue_owner"),
    ("delete", "/lab/tokens/1b8f0dfa-7fe6-4b1f-8d1b-1f2f3a4b5c6d", "not_queue_owner"),
    ("delete", "/lab/phases/1", "not_queue_owner"),
]


@pytest.mark.parametrize(("method", "path", "for_friends"), ROUTES)
def test_each_route_is_the_owners_or_of_those_with_whom_it_is_shared(
    owner: User, make_user: Callable[..., User], method: str, path: str, for_friends: str
) -> None:
    queue = create_queue("lab", owner=owner)
    share_queue(queue, username=make_user("friend").username, actor=owner)
    make_user("stranger")
    for name, expected in (("", "not_signed_in"), ("stranger", "not_found"), ("friend", for_friends)):
        client = Client()
        if name:
            client.force_login(User.objects.get(username=name))
        answer = send(client, method, f"{QUEUES}{path}", label="x", user="stranger")
        assert answer.json().get("code", OK) == expected, (name, answer.content)
    assert (Queue.objects.count(), QueueToken.objects.count(), queue.organizers.count()) == (1, 0, 1)


def test_who_may_not_import_competitions_makes_no_queue(make_user: Callable[..., User], client: Client) -> None:
    client.force_login(make_user())
    answer = send(client, "post", QUEUES, name="lab")
    assert (answer.status_code, answer.json()["code"]) == (403, "may_not_make_queues")
    assert not Queue.objects.exists()
    assert Client().get(QUEUES).status_code == 401


def test_only_organizers_change_a_phases_queue_by_the_api(
    mine: Client, phase: Phase, make_user: Callable[..., User], client: Client
) -> None:
    path = f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/queue"
    client.force_login(make_user())
    assert send(client, "put", path, queue="default").json()["code"] == "not_organizer"
    refused = send(mine, "put", path, queue="nothing")
    assert (refused.status_code, refused.json()["code"]) == (409, "queue_not_usable")
    assert send(mine, "put", path.replace(str(phase.index), "77"), queue="default").status_code == 404


def test_the_schema_describes_the_routes(client: Client) -> None:
    schema = client.get("/api/v1/schema?format=json", headers={"Accept": "application/json"}).json()
    assert set(schema["paths"]["/api/v1/queues/{name}"]) == {"get", "delete"}
    assert set(schema["paths"]["/api/v1/queues"]) == {"get", "post"}
    answer = schema["components"]["schemas"]["NewQueueTokenAnswer"]["properties"]
    assert {"token", "label", "prefix", "last_used_at"} <= set(answer)
