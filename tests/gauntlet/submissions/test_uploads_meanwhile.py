"""What happens to an upload in parts while a part of it comes, while it is submitted, or while it is asked about."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.accounts.services import create_token
from gauntlet.submissions import resumable, services
from gauntlet.submissions.errors import UploadNotFound
from gauntlet.submissions.models import Submission, Upload
from gauntlet.submissions.part_files import PartFiles, path_of
from gauntlet.submissions.services import receive_sent

pytestmark = pytest.mark.django_db
TUS = {"Tus-Resumable": "1.0.0"}


class Coming(io.BytesIO):
    """A part that comes slowly: something else happens before each read of it."""

    def __init__(self, content: bytes, meanwhile: Callable[[], object]) -> None:
        super().__init__(content)
        self.meanwhile = meanwhile

    def read(self, size: int | None = -1, /) -> bytes:
        self.meanwhile()
        return super().read(size)


def let_pass(**time: float) -> int:
    """Let time pass for all uploads, and the sweeper come; how many it removed."""
    Upload.objects.update(expires_at=F("expires_at") - timedelta(**time))
    return resumable.sweep_uploads()


def to_expire(upload: Upload, **left: float) -> None:
    Upload.objects.filter(pk=upload.pk).update(expires_at=timezone.now() + timedelta(**left))


@contextmanager
def once_stored(monkeypatch: pytest.MonkeyPatch, what: Callable[[], object]) -> Iterator[None]:
    """Have something happen, once, while an upload is stored."""
    store, due = services.store, [what]

    def store_then(*given: Any, **more: Any) -> Any:
        stored = store(*given, **more)
        if due:
            due.pop()()
        return stored

    with monkeypatch.context() as now:
        now.setattr(services, "store", store_then)
        yield


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    """An open phase."""
    return make_phase()


@pytest.fixture
def owner(phase: Any, make_participant: Callable[[Any], User]) -> User:
    """A participant."""
    return make_participant(phase)


@pytest.fixture
def upload(owner: User) -> Upload:
    """Ten bytes are to come."""
    return resumable.begin(owner=owner, length=10)


@pytest.fixture
def sent(owner: User, agent_zip: Callable[..., bytes]) -> Upload:
    """One that is complete."""
    content = agent_zip()
    made = resumable.begin(owner=owner, length=len(content), file_name="mine.zip")
    resumable.append(made, io.BytesIO(content), offset=0)
    return made


@pytest.fixture
def ask(owner: User) -> Callable[..., Any]:
    """Ask about an upload, as a tus client does."""
    headers = {"Authorization": f"Bearer {create_token(owner, name='test')[1]}", **TUS}

    def ask(method: str, upload: Upload, content: bytes = b"", **more: str) -> Any:
        kind = "application/offset+octet-stream"
        address = f"/api/v1/uploads/{upload.pk}"
        return Client().generic(method, address, content, content_type=kind, headers={**headers, **more})

    return ask


def test_a_part_that_was_begun_in_time_is_not_swept_while_it_comes(upload: Upload) -> None:
    to_expire(upload, minutes=1)
    swept: list[int] = []
    part = Coming(b"1234", lambda: swept.append(let_pass(minutes=2)))
    assert resumable.append(upload, part, offset=0) == 4
    assert set(swept) == {0}
    assert path_of(upload).read_bytes() == b"1234"
    assert Upload.objects.get().expires_at == upload.expires_at


def test_a_part_whose_connection_breaks_gives_it_its_whole_time_too(upload: Upload, settings: Any) -> None:
    def break_off() -> None:
        let_pass(hours=settings.UPLOAD_HOURS / 2)
        raise OSError("the connection broke")

    with pytest.raises(OSError, match="broke"):
        resumable.append(upload, Coming(b"", break_off), offset=0)
    assert Upload.objects.get().expires_at > timezone.now() + timedelta(hours=settings.UPLOAD_HOURS - 1)


def test_a_part_of_an_upload_that_is_deleted_meanwhile_is_told_so(
    upload: Upload, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Parts(PartFiles):
        def append(self, upload: Upload, part: Any, **more: Any) -> int:
            return super().append(upload, Coming(part.read(100), lambda: resumable.end(upload)), **more)

    monkeypatch.setattr(resumable, "parts", Parts)
    answer = ask("PATCH", upload, b"1234", **{"Upload-Offset": "0"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert not Upload.objects.exists()
    assert not path_of(upload).exists()


def test_a_part_of_an_upload_that_is_swept_as_it_begins_is_not_taken(upload: Upload) -> None:
    to_expire(upload, minutes=-1)
    assert resumable.sweep_uploads() == 1
    part = io.BytesIO(b"1234")
    with pytest.raises(UploadNotFound):
        resumable.append(upload, part, offset=0)
    assert part.tell() == 0


def test_what_is_submitted_in_time_is_not_swept_while_it_is_stored(
    sent: Upload, phase: Any, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_expire(sent, minutes=1)
    swept: list[int] = []
    with once_stored(monkeypatch, lambda: swept.append(let_pass(minutes=2))):
        submission = receive_sent(sent.pk, phase=phase, participant=owner)
    assert (swept, Submission.objects.get()) == ([0], submission)


def test_what_is_submitted_to_another_phase_meanwhile_is_not_the_same_submission(
    sent: Upload, phase: Any, owner: User, make_phase: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_phase(competition=phase.competition)
    first: list[Submission] = []

    def submit_to_other() -> None:
        first.append(receive_sent(sent.pk, phase=other, participant=owner))

    with (
        once_stored(monkeypatch, submit_to_other),
        pytest.raises(UploadNotFound, match="submitted to another phase"),
    ):
        receive_sent(sent.pk, phase=phase, participant=owner)
    assert ([Submission.objects.get()], first[0].phase) == (first, other)


def test_how_much_has_come_of_one_that_is_submitted_meanwhile_is_all(
    sent: Upload, phase: Any, owner: User, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Parts(PartFiles):
        due = True

        def size_of(self, upload: Upload) -> int:
            if Parts.due:
                Parts.due = False
                receive_sent(upload.pk, phase=phase, participant=owner)
            return super().size_of(upload)

    monkeypatch.setattr(resumable, "parts", Parts)
    answer = ask("HEAD", sent)
    assert (answer.status_code, answer["Upload-Offset"]) == (200, str(sent.length))
    assert not path_of(sent).exists()


def test_how_much_has_come_of_one_that_is_deleted_meanwhile_is_not_found(
    upload: Upload, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Parts(PartFiles):
        def size_of(self, upload: Upload) -> int:
            resumable.end(upload)
            return super().size_of(upload)

    monkeypatch.setattr(resumable, "parts", Parts)
    assert ask("HEAD", upload).status_code == 404


def test_one_more_is_begun_where_the_open_ones_are_gone_as_they_are_counted(
    upload: Upload, owner: User, settings: Any
) -> None:
    settings.MAX_OPEN_UPLOADS = 1

    def go(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        found = execute(sql, params, many, context)
        if "COUNT(" in sql:
            Upload.objects.all().delete()
        return found

    with connection.execute_wrapper(go):
        begun = resumable.begin(owner=owner, length=1)
    assert Upload.objects.get() == begun
