"""Uploads in parts, as a tus client speaks: begun, broken off, gone on with, submitted, refused, swept."""

from __future__ import annotations

import base64
import errno
import fcntl
import hashlib
import io
import os
import shutil
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gauntlet.accounts.models import User
from gauntlet.accounts.services import create_token
from gauntlet.storage.services import open_artifact
from gauntlet.submissions import resumable, services
from gauntlet.submissions.errors import TooManyUploads, UploadOffsetWrong
from gauntlet.submissions.models import Submission, Upload
from gauntlet.submissions.part_files import PartFiles, path_of

pytestmark = pytest.mark.django_db
TUS = {"Tus-Resumable": "1.0.0"}
PART = "application/offset+octet-stream"


class Sender:
    """A participant's program that speaks tus."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.client = Client()
        self.token = {"Authorization": f"Bearer {create_token(user, name='test')[1]}"}

    def begin(self, length: object, name: str = "image.tar", **headers: str) -> Any:
        metadata = f"filename {base64.b64encode(name.encode()).decode()},is_confidential"
        sent = {**self.token, **TUS, "Upload-Length": str(length), "Upload-Metadata": metadata, **headers}
        return self.client.post("/api/v1/uploads", headers=sent)

    def begun(self, length: int, name: str = "image.tar") -> str:
        answer = self.begin(length, name)
        assert answer.status_code == 201, answer.content
        return str(answer["Location"]).partition("8000")[2] or str(answer["Location"])

    def part(self, place: str, content: bytes, offset: object, kind: str = PART, **headers: str) -> Any:
        sent = {**self.token, **TUS, "Upload-Offset": str(offset), **headers}
        return self.client.patch(place, data=content, content_type=kind, headers=sent)

    def offset(self, place: str) -> Any:
        return self.client.head(place, headers={**self.token, **TUS})


@pytest.fixture
def phase(make_phase: Callable[..., Any]) -> Any:
    """An open phase."""
    return make_phase()


@pytest.fixture
def sender(phase: Any, make_participant: Callable[[Any], User]) -> Sender:
    """A participant."""
    return Sender(make_participant(phase))


def submit(sender: Sender, phase: Any, place: str, **fields: str) -> Any:
    """Submit what was sent."""
    address = f"/api/v1/competitions/{phase.competition.slug}/phases/{phase.index}/submissions"
    fields = {"upload": place.rpartition("/")[2], **fields}
    return sender.client.post(address, fields, headers=sender.token)


def test_a_file_is_sent_in_parts_and_submitted(sender: Sender, phase: Any, agent_zip: Any, settings: Any) -> None:
    content = agent_zip()
    place = sender.begun(len(content), "mine.zip")
    first = sender.part(place, content[:100], 0)
    assert (first.status_code, first["Upload-Offset"], first["Tus-Resumable"]) == (204, "100", "1.0.0")
    assert first["Upload-Expires"].endswith("GMT")
    asked = sender.offset(place)
    assert (asked.status_code, asked["Upload-Offset"], asked["Upload-Length"]) == (200, "100", str(len(content)))
    assert asked["Cache-Control"] == "no-store"
    assert sender.part(place, content[100:], 100).status_code == 204
    answer = submit(sender, phase, place, name="Mine")
    assert answer.status_code == 201, answer.content
    submission = Submission.objects.get(pk=answer.json()["id"])
    assert (submission.file_name, submission.name) == ("mine.zip", "Mine")
    with open_artifact(submission.bundle) as stored:
        assert stored.read() == content
    assert not list(Path(settings.FILE_UPLOAD_TEMP_DIR, "in-parts").iterdir())
    assert sender.part(place, b"more", len(content)).status_code == 404
    assert sender.client.delete(place, headers={**sender.token, **TUS}).status_code == 204
    assert sender.offset(place).status_code == 404
    assert submit(sender, phase, place).status_code == 404
    assert Submission.objects.get() == submission


def test_what_came_before_the_connection_broke_stays(sender: Sender) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            chunk = super().read(size)
            if not chunk:
                raise OSError("the connection broke")
            return chunk

    upload = resumable.begin(owner=sender.user, length=10)
    with pytest.raises(OSError, match="broke"):
        resumable.append(upload, Broken(b"1234"), offset=0)
    assert resumable.offset_of(upload) == 4
    assert resumable.append(upload, io.BytesIO(b"567890"), offset=4) == 10
    assert path_of(upload).read_bytes() == b"1234567890"


def test_a_part_that_does_not_begin_at_the_end_is_refused(sender: Sender) -> None:
    place = sender.begun(10)
    sender.part(place, b"1234", 0)
    for offset in (0, 3, 5):
        answer = sender.part(place, b"x", offset)
        assert (answer.status_code, answer.json()["code"]) == (409, "wrong_offset")
        assert "has 4 bytes" in answer.json()["message"]
    assert sender.offset(place)["Upload-Offset"] == "4"


def test_more_than_was_announced_is_refused_and_taken_back(sender: Sender) -> None:
    place = sender.begun(10)
    sender.part(place, b"1234", 0)
    assert sender.part(place, b"5678901", 4).status_code == 413
    assert sender.offset(place)["Upload-Offset"] == "4"


def test_a_part_of_another_checksum_is_taken_back(sender: Sender) -> None:
    place = sender.begun(10)
    right = base64.b64encode(hashlib.sha256(b"12345").digest()).decode()
    damaged = sender.part(place, b"1234X", 0, **{"Upload-Checksum": f"sha256 {right}"})
    assert (damaged.status_code, damaged.json()["code"]) == (460, "checksum_mismatch")
    assert sender.offset(place)["Upload-Offset"] == "0"
    assert sender.part(place, b"12345", 0, **{"Upload-Checksum": f"sha256 {right}"}).status_code == 204
    for odd in ("crc32 AAAA", "sha256 ?"):
        assert sender.part(place, b"6", 5, **{"Upload-Checksum": odd}).status_code == 400


def test_what_is_no_tus_is_refused(sender: Sender, settings: Any) -> None:
    settings.MAX_IMAGE_BYTES, settings.MAX_BUNDLE_BYTES = 1000, 500
    plain = sender.client.post("/api/v1/uploads", headers={**sender.token, "Upload-Length": "5"})
    assert (plain.status_code, plain["Tus-Version"]) == (412, "1.0.0")
    assert sender.begin(1001).status_code == 413
    for length in ("0", "", "-1", "1e3", "9" * 30):
        assert sender.begin(length).status_code == 400, length
    assert sender.begin(5, **{"Upload-Metadata": "filename ***"}).status_code == 400
    place = sender.begun(5)
    assert sender.part(place, b"1", 0, kind="application/octet-stream").status_code == 415
    assert sender.part(place, b"1", "x").status_code == 400
    assert Client().post("/api/v1/uploads", headers={**TUS, "Upload-Length": "5"}).status_code == 401


def test_what_the_server_can_is_told_to_anybody(settings: Any) -> None:
    settings.MAX_IMAGE_BYTES = 5 << 30
    answer = Client().options("/api/v1/uploads")
    assert answer.status_code == 204
    assert answer["Tus-Version"] == "1.0.0"
    assert answer["Tus-Extension"] == "creation,expiration,checksum,termination"
    assert answer["Tus-Max-Size"] == str(5 << 30)


def test_a_token_that_only_reads_sends_nothing(sender: Sender) -> None:
    sender.token = {"Authorization": f"Bearer {create_token(sender.user, name='r', scopes=['read'])[1]}"}
    assert sender.begin(5).status_code == 403
    assert not Upload.objects.exists()


def test_nobody_sees_or_sends_to_anothers(sender: Sender, phase: Any, make_participant: Any) -> None:
    place = sender.begun(4)
    other = Sender(make_participant(phase))
    assert other.offset(place).status_code == 404
    assert other.part(place, b"evil", 0).status_code == 404
    assert other.client.delete(place, headers={**other.token, **TUS}).status_code == 404
    sender.part(place, b"good", 0)
    assert submit(other, phase, place).status_code == 404
    assert sender.offset(place)["Upload-Offset"] == "4"


def test_an_upload_that_is_not_complete_is_not_submitted(sender: Sender, phase: Any) -> None:
    place = sender.begun(10)
    sender.part(place, b"1234", 0)
    answer = submit(sender, phase, place)
    assert (answer.status_code, Submission.objects.count()) == (400, 0)
    assert "has 4 of its 10 bytes" in answer.json()["message"]
    assert submit(sender, phase, "/nonsense").status_code == 404
    assert sender.part(place, b"567890", 4).status_code == 204


def test_one_that_was_refused_can_be_submitted_later(
    sender: Sender, make_phase: Any, phase: Any, agent_zip: Any
) -> None:
    closed = make_phase(competition=phase.competition, end=timezone.now() - timedelta(days=1))
    content = agent_zip()
    place = sender.begun(len(content), "mine.zip")
    sender.part(place, content, 0)
    assert submit(sender, closed, place).status_code == 409
    assert submit(sender, phase, place).status_code == 201


def sent_whole(sender: Sender, content: bytes) -> str:
    """The address of an upload that is complete."""
    place = sender.begun(len(content), "mine.zip")
    assert sender.part(place, content, 0).status_code == 204
    return place


def test_who_did_not_hear_the_answer_asks_again_and_gets_the_same_submission(
    sender: Sender, make_phase: Any, phase: Any, agent_zip: Any
) -> None:
    """Also where it used the last attempt; asked for in another phase, it is over."""
    other = make_phase(competition=phase.competition)
    type(phase).objects.filter(pk=phase.pk).update(max_submissions=1)
    place = sent_whole(sender, agent_zip())
    first, again = submit(sender, phase, place), submit(sender, phase, place)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert submit(sender, other, place).status_code == 404
    assert Submission.objects.count() == 1
    asked = sender.offset(place)
    assert asked["Upload-Offset"] == asked["Upload-Length"]


def test_what_was_submitted_is_not_among_the_open_ones(
    sender: Sender, phase: Any, agent_zip: Any, settings: Any
) -> None:
    settings.MAX_OPEN_UPLOADS = 1
    assert submit(sender, phase, sent_whole(sender, agent_zip())).status_code == 201
    assert sender.begin(5).status_code == 201


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attempts", [1, 9])
def test_of_one_upload_that_is_submitted_twice_at_once_one_submission_is_made(
    sender: Sender, phase: Any, agent_zip: Any, monkeypatch: pytest.MonkeyPatch, at_once: Any, attempts: int
) -> None:
    type(phase).objects.filter(pk=phase.pk).update(max_submissions=attempts)
    phase.refresh_from_db()
    upload = Upload.objects.get(pk=sent_whole(sender, agent_zip()).rpartition("/")[2])
    both = threading.Barrier(2)
    store = services.store

    def store_together(*what: Any, **more: Any) -> Any:
        both.wait(60)
        return store(*what, **more)

    monkeypatch.setattr(services, "store", store_together)
    made = at_once(2, lambda: services.receive_sent(upload.pk, phase=phase, participant=sender.user).pk)
    assert made == [Submission.objects.get().pk] * 2


def test_only_a_few_are_open_at_once(sender: Sender, settings: Any) -> None:
    settings.MAX_OPEN_UPLOADS = 2
    places = [sender.begun(5) for _ in range(2)]
    answer = sender.begin(5)
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 3600
    assert sender.client.delete(places[0], headers={**sender.token, **TUS}).status_code == 204
    assert not path_of(Upload(pk=places[0].rpartition("/")[2])).exists()
    assert sender.begin(5).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_of_two_begun_at_once_one_is_too_many(make_user: Any, settings: Any) -> None:
    settings.MAX_OPEN_UPLOADS = 1
    user, outcomes, both = make_user(), [], threading.Barrier(2)

    def begin() -> None:
        from django.db import connection

        both.wait(60)
        try:
            outcomes.append(type(resumable.begin(owner=user, length=1)))
        except TooManyUploads as error:
            outcomes.append(type(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=begin) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(one.__name__ for one in outcomes) == ["TooManyUploads", "Upload"]


def test_a_part_while_another_is_written_is_told_to_wait(sender: Sender) -> None:
    place = sender.begun(10)
    upload = Upload.objects.get()
    with path_of(upload).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert sender.part(place, b"1", 0).status_code == 423
    assert sender.part(place, b"1", 0).status_code == 204


def test_what_has_expired_is_not_there_and_swept(sender: Sender, settings: Any) -> None:
    old, fresh = sender.begun(5), sender.begun(5)
    Upload.objects.filter(pk=old.rpartition("/")[2]).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert sender.offset(old).status_code == 404
    assert sender.part(old, b"1", 0).status_code == 404
    assert resumable.sweep_uploads() == 1
    assert resumable.sweep_uploads() == 0
    assert [str(one.pk) for one in Upload.objects.all()] == [fresh.rpartition("/")[2]]
    assert sender.part(fresh, b"1", 0).status_code == 204


def test_each_part_gives_it_its_whole_time_again(sender: Sender, settings: Any) -> None:
    place = sender.begun(5)
    soon = timezone.now() + timedelta(minutes=1)
    Upload.objects.update(expires_at=soon)
    sender.part(place, b"1", 0)
    assert Upload.objects.get().expires_at > soon + timedelta(hours=settings.UPLOAD_HOURS - 1)


def test_a_file_that_lost_its_row_is_swept_after_an_hour(sender: Sender, settings: Any) -> None:
    upload = resumable.begin(owner=sender.user, length=5)
    path = path_of(upload)
    Upload.objects.all().delete()
    assert resumable.sweep_uploads() == 0
    os.utime(path, (0, 0))
    assert resumable.sweep_uploads() == 1
    assert not path.exists()


def test_the_offset_is_checked_under_the_lock(sender: Sender) -> None:
    upload = resumable.begin(owner=sender.user, length=4)
    resumable.append(upload, io.BytesIO(b"12"), offset=0)
    with pytest.raises(UploadOffsetWrong):
        resumable.append(upload, io.BytesIO(b"12"), offset=0)
    assert path_of(upload).read_bytes() == b"12"


def test_one_that_is_gone_on_with_while_it_is_swept_stays(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweeper has read that two expired; while it removes the one, a part of the other comes."""
    for _ in range(2):
        sender.begun(5)
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    class Parts(PartFiles):
        def remove(self, upload: Upload) -> None:
            Upload.objects.update(expires_at=timezone.now() + timedelta(hours=1))
            super().remove(upload)

    monkeypatch.setattr(resumable, "parts", Parts)
    assert resumable.sweep_uploads() == 1
    assert path_of(Upload.objects.get()).exists()


def test_one_that_cannot_be_removed_keeps_no_other(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        sender.begun(5)
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    spoilt = Upload.objects.first()
    places = [path_of(one) for one in Upload.objects.all() if one != spoilt]

    class Parts(PartFiles):
        def remove(self, upload: Upload) -> None:
            if upload == spoilt:
                raise PermissionError(errno.EPERM, "immutable")
            super().remove(upload)

    monkeypatch.setattr(resumable, "parts", Parts)
    assert resumable.sweep_uploads() == 2
    assert not any(path.exists() for path in places)


def full(*_: Any, **__: Any) -> Any:
    """A disk without room."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_told_and_what_came_stays(
    sender: Sender, phase: Any, agent_zip: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = agent_zip()
    place = sender.begun(len(content), "mine.zip")
    assert sender.part(place, content[:50], 0).status_code == 204
    with monkeypatch.context() as now:
        now.setattr(os, "fsync", full)
        refused = sender.part(place, content[50:60], 50)
    assert (refused.status_code, refused.json()["code"]) == (507, "no_room")
    assert "No attempt was used" in refused.json()["message"]
    there = int(sender.offset(place)["Upload-Offset"])
    assert sender.part(place, content[there:], there).status_code == 204
    with monkeypatch.context() as now:
        now.setattr(services, "store", full)
        assert submit(sender, phase, place).status_code == 507
    assert not Submission.objects.exists()
    assert submit(sender, phase, place).status_code == 201


def test_none_is_begun_that_the_disk_has_no_room_for(sender: Sender, settings: Any, monkeypatch: Any) -> None:
    settings.MIN_FREE_BYTES = 1000
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1020))
    assert sender.begin(11).status_code == 507
    assert not Upload.objects.exists()
    assert sender.begin(10).status_code == 201
