"""Uploads over the API: what is taken, and that every failure is a 4xx with a sentence."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from gauntlet.accounts.models import User
from gauntlet.accounts.services import create_token
from gauntlet.competitions.models import Participation
from gauntlet.storage.models import Artifact
from gauntlet.submissions.models import Submission

pytestmark = pytest.mark.django_db
BOUNDARY = "x-boundary-x"


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    """An open phase."""
    return make_phase(max_submissions_per_day=2)


@pytest.fixture
def user(phase: Any, make_participant: Callable[[Any], User]) -> User:
    """A participant."""
    return make_participant(phase)


@pytest.fixture
def headers(user: User) -> dict[str, str]:
    """A token of the participant's."""
    return {"Authorization": f"Bearer {create_token(user, name='test')[1]}"}


@pytest.fixture
def address(phase: Any) -> str:
    """Where to send."""
    return f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/submissions"


def refused(answer: Any, status: int, code: str) -> str:
    """Assert the shape of a refusal, and that nothing happened; the sentence."""
    assert answer.status_code == status, answer.content
    body = answer.json()
    assert body["code"] == code
    assert body["message"]
    assert set(body) <= {"code", "message", "errors", "retry_after"}
    assert not Submission.objects.filter(file_name="mine.zip").exists()
    message: str = body["message"]
    return message


def test_an_upload_is_taken(client: Client, address: str, headers: Any, user: User, agent_zip: Any) -> None:
    upload = SimpleUploadedFile("mine.zip", agent_zip())
    answer = client.post(address, {"bundle": upload, "name": "First"}, headers=headers)
    assert answer.status_code == 201
    submission = Submission.objects.get()
    body = answer.json()
    assert body["id"] == str(submission.pk)
    assert (body["name"], body["state"]) == ("First", "received")
    assert body["url"].endswith(f"/submissions/{submission.pk}/")
    assert (submission.participant, submission.source) == (user, "api")


def test_the_command_is_told_apart_from_other_programs(
    client: Client, address: str, headers: Any, agent_zip: Any
) -> None:
    headers |= {"User-Agent": "gauntlet-agent/0.1.0"}
    client.post(address, {"bundle": SimpleUploadedFile("mine.zip", agent_zip())}, headers=headers)
    assert Submission.objects.get().source == "command"


def test_a_session_uploads_only_with_the_csrf_token(address: str, user: User, agent_zip: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    refused(client.post(address, {"bundle": SimpleUploadedFile("mine.zip", agent_zip())}), 403, "forbidden")


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("nobody", 401, "not_signed_in"),
        ("unknown token", 401, "not_signed_in"),
        ("read-only token", 403, "forbidden"),
        ("stranger", 403, "not_participating"),
        ("draft", 404, "not_found"),
        ("phase", 404, "not_found"),
    ],
)
def test_who_may_not(
    kind: str,
    status: int,
    code: str,
    client: Client,
    address: str,
    phase: Any,
    user: User,
    make_user: Any,
    agent_zip: Any,
) -> None:
    sender = make_user() if kind in ("stranger", "draft") else user
    _, plain = create_token(sender, name="x", scopes=["read"] if kind == "read-only token" else ["read", "submit"])
    headers = {"Authorization": f"Bearer {'gnt_wrong' if kind == 'unknown token' else plain}"}
    if kind == "draft":
        phase.competition.published = False
        phase.competition.save()
    if kind == "phase":
        address = address.replace(f"phases/{phase.index}", "phases/999")
    upload = {"bundle": SimpleUploadedFile("mine.zip", agent_zip())}
    answer = client.post(address, upload, headers={} if kind == "nobody" else headers)
    refused(answer, status, code)
    assert not Artifact.objects.filter(size=len(agent_zip())).exists()


def test_the_quota_is_a_429_that_says_how_long_to_wait(
    client: Client, address: str, headers: Any, phase: Any, user: User, make_submission: Any, agent_zip: Any
) -> None:
    for _ in range(2):
        make_submission(phase, user)
    answer = client.post(address, {"bundle": SimpleUploadedFile("mine.zip", agent_zip())}, headers=headers)
    assert "The next is allowed at" in refused(answer, 429, "quota_used")
    assert int(answer["Retry-After"]) == answer.json()["retry_after"] > 0


class _NeverRead(io.RawIOBase):
    """A body that must not be read."""

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("the body was read")


@pytest.mark.security
@pytest.mark.parametrize("by_session", [False, True])
def test_too_large_a_request_is_refused_before_it_is_read(
    by_session: bool, client: Client, address: str, headers: Any, user: User, settings: Any
) -> None:
    settings.MAX_BUNDLE_BYTES = 1000
    if by_session:
        client.force_login(user)
    answer = client.generic(
        "POST",
        address,
        b"",
        content_type=f"multipart/form-data; boundary={BOUNDARY}",
        headers={} if by_session else headers,
        **{"CONTENT_LENGTH": str(100 << 20), "wsgi.input": _NeverRead()},
    )
    assert "1,000 bytes" in refused(answer, 413, "too_large")


def test_a_file_just_above_the_limit_is_refused_too(
    client: Client, address: str, headers: Any, settings: Any, agent_zip: Any
) -> None:
    settings.MAX_BUNDLE_BYTES = len(agent_zip()) - 1
    answer = client.post(address, {"bundle": SimpleUploadedFile("mine.zip", agent_zip())}, headers=headers)
    refused(answer, 413, "too_large")
    settings.MAX_BUNDLE_BYTES = len(agent_zip())
    answer = client.post(address, {"bundle": SimpleUploadedFile("mine.zip", agent_zip())}, headers=headers)
    assert answer.status_code == 201


def part(name: str, content: bytes, file_name: str = "") -> bytes:
    """A part of a multipart body."""
    disposition = f'form-data; name="{name}"' + (f'; filename="{file_name}"' if file_name else "")
    return f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + content + b"\r\n"


END = f"--{BOUNDARY}--\r\n".encode()
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
MALFORMED: dict[str, tuple[bytes, str, int, str]] = {
    "no body": (b"", MULTIPART, 400, "invalid_upload"),
    "not multipart": (b"{}", "application/json", 415, "unsupported_media_type"),
    "the bare zip": (b"PK", "application/zip", 415, "unsupported_media_type"),
    "no boundary": (END, "multipart/form-data", 400, "invalid"),
    "a bad boundary": (END, "multipart/form-data; boundary=" + "ü" * 9, 400, "invalid"),
    "no parts": (END, MULTIPART, 400, "invalid_upload"),
    "another part": (part("file", b"x", "mine.zip") + END, MULTIPART, 400, "invalid_upload"),
    "a field and no file": (part("bundle", b"x") + END, MULTIPART, 400, "invalid_upload"),
    "an empty file": (part("bundle", b"", "mine.zip") + END, MULTIPART, 400, "invalid_upload"),
    "junk": (b"\0\xff" * 400, MULTIPART, 400, "invalid_upload"),
    "a broken encoding": (
        part("bundle", b"!!!", "mine.zip").replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n") + END,
        MULTIPART,
        400,
        "invalid",
    ),
    "too many fields": (b"".join(part(f"f{n}", b"") for n in range(1100)) + END, MULTIPART, 400, "invalid"),
    "too many files": (b"".join(part(f"f{n}", b"x", "x") for n in range(110)) + END, MULTIPART, 400, "invalid"),
    "a huge field": (part("name", b"x" * (3 << 20)) + END, MULTIPART, 413, "too_large"),
}


@pytest.mark.security
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_requests(case: str, client: Client, address: str, headers: Any) -> None:
    body, content_type, status, code = MALFORMED[case]
    refused(client.generic("POST", address, body, content_type=content_type, headers=headers), status, code)


@pytest.mark.security
def test_a_request_that_does_not_say_how_long_it_is(client: Client, address: str, headers: Any) -> None:
    """As with a chunked body; a server in front turns away lengths that are no number."""
    answer = client.generic("POST", address, b"", content_type=MULTIPART, headers=headers, CONTENT_LENGTH="")
    assert "Content-Length" in refused(answer, 400, "invalid_upload")


def test_an_upload_that_breaks_off_is_not_taken(client: Client, address: str, headers: Any, agent_zip: Any) -> None:
    body = part("bundle", agent_zip(), "mine.zip")[:-200]
    answer = client.generic("POST", address, body, content_type=MULTIPART, headers=headers)
    # Django hands over what came; the check then rejects it as damaged. Either way nothing is run.
    assert answer.status_code in (201, 400)
    assert not Submission.objects.filter(state="accepted").exists()


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
def test_other_methods(method: str, client: Client, address: str, headers: Any) -> None:
    assert getattr(client, method)(address, headers=headers).status_code == 405


@pytest.mark.parametrize("name", ["x" * 5000, "\0\x01", "<script>", "\u202e"])
def test_any_name_is_stored_as_one_line(name: str, client: Client, address: str, headers: Any, agent_zip: Any) -> None:
    upload = {"bundle": SimpleUploadedFile("mine.zip", agent_zip()), "name": name}
    assert client.post(address, upload, headers=headers).status_code == 201
    stored = Submission.objects.get().name
    assert 0 < len(stored) <= 200
    assert stored.isprintable()


def test_a_participation_that_was_taken_back_ends_uploads(
    client: Client, address: str, headers: Any, user: User, agent_zip: Any
) -> None:
    Participation.objects.filter(user=user).update(state="denied")
    upload = {"bundle": SimpleUploadedFile("mine.zip", agent_zip())}
    refused(client.post(address, upload, headers=headers), 403, "not_participating")
