"""Tokens of workers: shown once, hashed, of one queue, revoked at once; and how the API knows a worker by one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from gauntlet.accounts.models import Event, User
from gauntlet.accounts.services import create_token
from gauntlet.queues import services
from gauntlet.queues.authentication import IsWorker, WorkerAuthentication
from gauntlet.queues.errors import NoSuchQueueToken, TooMany
from gauntlet.queues.models import Queue, QueueToken
from gauntlet.queues.selectors import tokens_of

pytestmark = pytest.mark.django_db


def test_only_the_digest_is_kept(queue: Queue) -> None:
    token, secret = services.issue_token(queue, label=" rack 3 ", actor=queue.owner)
    assert secret.startswith("gqt_")
    assert (token.label, token.prefix, token.digest) == (
        "rack 3",
        secret[:12],
        hashlib.sha256(secret.encode()).hexdigest(),
    )
    assert secret not in str(list(QueueToken.objects.values()))
    assert secret not in str(list(Event.objects.values()))


def test_a_token_opens_its_queue(queue: Queue) -> None:
    token, secret = services.issue_token(queue, label="x", actor=queue.owner)
    found = services.authenticate_worker(secret)
    assert found == token
    assert found.queue == queue


@pytest.mark.parametrize("secret", ["", "gqt_", "gqt_unknown", "\x00", "é", "\ud800", "x" * 100_000])
def test_nothing_else_opens_it(queue: Queue, secret: str) -> None:
    services.issue_token(queue, label="x", actor=queue.owner)
    assert services.authenticate_worker(secret) is None


def test_neither_the_digest_nor_a_persons_token_does(queue: Queue) -> None:
    token, _ = services.issue_token(queue, label="x", actor=queue.owner)
    _, persons = create_token(queue.owner, name="x")
    assert services.authenticate_worker(token.digest) is None
    assert services.authenticate_worker(persons) is None


def test_a_revoked_token_opens_nothing_from_then_on_and_no_other_with_it(queue: Queue) -> None:
    first, secret = services.issue_token(queue, label="one", actor=queue.owner)
    second, other = services.issue_token(queue, label="two", actor=queue.owner)
    for _ in range(2):
        services.revoke_token(first, actor=queue.owner)
    assert services.authenticate_worker(secret) is None
    assert services.authenticate_worker(other) == second
    assert list(tokens_of(queue)) == [second]
    assert Event.objects.filter(name="queue.token_revoked").count() == 1


def test_tokens_of_somebody_who_is_switched_off_open_nothing(queue: Queue) -> None:
    _, secret = services.issue_token(queue, label="x", actor=queue.owner)
    User.objects.filter(pk=queue.owner.pk).update(is_active=False)
    assert services.authenticate_worker(secret) is None


def test_a_token_opens_no_queue_of_the_platforms(queue: Queue, settings: object) -> None:
    _, secret = services.issue_token(queue, label="x", actor=queue.owner)
    settings.QUEUES = ["default", "lab"]  # type: ignore[attr-defined]
    assert services.authenticate_worker(secret) is None


def test_when_it_was_used_is_noted_once_a_minute(queue: Queue) -> None:
    token, secret = services.issue_token(queue, label="x", actor=queue.owner)
    services.authenticate_worker(secret)
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    services.authenticate_worker(secret)
    token.refresh_from_db()
    assert token.last_used_at == first
    QueueToken.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    with CaptureQueriesContext(connection) as asked:
        services.authenticate_worker(secret)
    token.refresh_from_db()
    assert token.last_used_at > first
    assert len(asked) == 2


def test_a_queue_has_so_many_tokens_and_no_more(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_TOKENS", 1)
    token, _ = services.issue_token(queue, label="one", actor=queue.owner)
    with pytest.raises(TooMany):
        services.issue_token(queue, label="two", actor=queue.owner)
    services.revoke_token(token, actor=queue.owner)
    services.issue_token(queue, label="two", actor=queue.owner)


def asked_with(header: str | None) -> Request:
    """A request as a view of workers takes it."""
    headers = {} if header is None else {"HTTP_AUTHORIZATION": header}
    return Request(APIRequestFactory().get("/", **headers), authenticators=[WorkerAuthentication()])


def test_a_worker_is_known_by_its_token_and_is_no_person(queue: Queue) -> None:
    token, secret = services.issue_token(queue, label="x", actor=queue.owner)
    request = asked_with(f"Bearer {secret}")
    assert request.auth == token
    assert not request.user.is_authenticated
    assert IsWorker().has_permission(request, None)  # type: ignore[arg-type]  # it looks at the request alone


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer a b", "Basic gqt_x", "Bearer gqt_x", "Bearer \xff\xfe"])
def test_without_one_it_is_told_what_to_send(queue: Queue, header: str | None) -> None:
    with pytest.raises(NoSuchQueueToken) as caught:
        _ = asked_with(header).auth
    assert (caught.value.code, caught.value.status) == ("not_authenticated", 401)


@pytest.mark.parametrize("path", ["/api/v1/me", "/api/v1/queues", "/api/v1/queues/lab/tokens", "/api/v1/submissions"])
def test_the_token_of_a_queue_opens_nothing_that_is_a_persons(queue: Queue, client: Client, path: str) -> None:
    _, secret = services.issue_token(queue, label="x", actor=queue.owner)
    assert client.get(path, headers={"Authorization": f"Bearer {secret}"}).status_code == 401


def test_the_operators_page_shows_no_digest(
    queue: Queue, client: Client, make_user: Callable[..., User], owner: User
) -> None:
    token, _ = services.issue_token(queue, label="rack 3", actor=owner)
    client.force_login(make_user(is_superuser=True, is_staff=True))
    for path in (f"/admin/queues/queuetoken/{token.pk}/change/", "/admin/queues/queuetoken/", "/admin/queues/queue/"):
        page = client.get(path)
        assert page.status_code == 200
        assert token.digest not in page.content.decode()
    assert client.get("/admin/queues/queue/add/").status_code == 403
    assert client.post(f"/admin/queues/queuetoken/{token.pk}/delete/").status_code == 403
