"""What is answered while the database or the storage is away: 503, by pages and API alike, that need neither."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import botocore.exceptions
import psycopg
import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from gauntlet.away import is_away

if TYPE_CHECKING:
    from gauntlet.submissions.models import Submission


def of_the_server(error: type[psycopg.Error] | None) -> OperationalError:
    """As Django wraps the driver's."""
    wrapped = OperationalError("a secret address")
    wrapped.__cause__ = error("a secret address") if error else None
    return wrapped


def of_storage(status: int) -> botocore.exceptions.ClientError:
    return botocore.exceptions.ClientError({"ResponseMetadata": {"HTTPStatusCode": status}}, "GetObject")


AWAY = [
    of_the_server(None),
    of_the_server(psycopg.OperationalError),  # no connection
    of_the_server(psycopg.errors.AdminShutdown),
    of_the_server(psycopg.errors.CannotConnectNow),
    of_the_server(psycopg.errors.DeadlockDetected),
    of_the_server(psycopg.errors.DiskFull),
    of_the_server(psycopg.errors.TooManyConnections),
    InterfaceError("connection already closed"),
    OSError(errno.ENOSPC, "no room"),
    of_storage(503),
    botocore.exceptions.EndpointConnectionError(endpoint_url="https://store.example"),
    botocore.exceptions.ReadTimeoutError(endpoint_url="https://store.example"),
]
OURS = [
    None,
    RuntimeError("a secret address"),
    FileNotFoundError(errno.ENOENT, "a file that should be there"),
    of_the_server(psycopg.errors.ProgramLimitExceeded),
    of_storage(403),
]


@pytest.mark.parametrize("error", AWAY, ids=repr)
def test_the_same_may_work_in_a_moment(error: BaseException) -> None:
    assert is_away(error)


@pytest.mark.parametrize("error", OURS, ids=repr)
def test_nothing_gets_better_by_itself(error: BaseException | None) -> None:
    assert not is_away(error)


@pytest.fixture
def submission(make_phase: Any, make_submission: Any) -> Any:
    return make_submission(make_phase())


@pytest.fixture
def owner(submission: Submission) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(submission.participant)
    return client


def fail(error: Exception) -> Any:
    """Every statement from now on."""

    def fails(*_: Any) -> None:
        raise error

    return connection.execute_wrapper(fails)


PAGES = ["/", "/submissions/", "/submissions/{pk}/", "/competitions/{slug}/", "/accounts/profile/"]
API = [
    "/submissions/{pk}",
    "/submissions/{pk}/events",
    "/submissions",
    "/competitions/{slug}/phases/{phase}/leaderboard",
]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_offers_to_try_again(path: str, submission: Submission, owner: Client) -> None:
    place = path.format(pk=submission.pk, slug=submission.phase.competition.slug)
    with fail(of_the_server(psycopg.errors.AdminShutdown)):
        answer = owner.get(place)
    html = answer.content.decode()
    assert (answer.status_code, answer["Retry-After"], answer["Cache-Control"]) == (503, "5", "no-store")
    assert "Back in a moment" in html
    assert '<a class="b first" href="">Try again</a>' in html
    assert "secret" not in html
    assert owner.get(place).status_code == 200


@pytest.mark.parametrize("path", API)
def test_the_api_says_when_to_ask_again(path: str, submission: Submission, owner: Client) -> None:
    phase = submission.phase
    place = "/api/v1" + path.format(pk=submission.pk, slug=phase.competition.slug, phase=phase.index)
    with fail(of_the_server(None)):
        answer = owner.get(place)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    told = answer.json()
    assert (told["code"], told["retry_after"]) == ("platform_away", 5)
    assert "cannot be reached at the moment" in told["message"]


def test_a_form_is_not_sent_again_by_itself(submission: Submission, owner: Client) -> None:
    with fail(of_the_server(psycopg.errors.DeadlockDetected)):
        answer = owner.post(f"/submissions/{submission.pk}/cancel")
    html = answer.content.decode()
    assert answer.status_code == 503
    assert "Try again" not in html
    assert "may or may not have been stored" in html


def test_a_fault_of_ours_has_the_apis_shape_there(submission: Submission, owner: Client) -> None:
    with fail(RuntimeError("a secret address")):
        answer = owner.get(f"/api/v1/submissions/{submission.pk}")
        page = owner.get(f"/submissions/{submission.pk}/")
    assert (answer.status_code, answer.json()["code"]) == (500, "platform_fault")
    assert page.status_code == 500
    assert "secret" not in answer.content.decode() + page.content.decode()
