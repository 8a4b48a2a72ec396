"""Parts of an upload on a storage that is no file system: any web server takes any of them."""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.utils import timezone
from moto.server import ThreadedMotoServer

from gauntlet.accounts.models import User
from gauntlet.storage.services import open_artifact
from gauntlet.submissions import part_objects, resumable
from gauntlet.submissions.errors import (
    TooManyParts,
    UploadBusy,
    UploadNotFound,
    UploadOffsetWrong,
    UploadPartDamaged,
    UploadTooLarge,
    UploadUnusable,
)
from gauntlet.submissions.models import Upload, UploadPart
from gauntlet.submissions.services import receive_sent

pytestmark = pytest.mark.django_db
PATIENCE = 60.0


@pytest.fixture
def owner(make_user: Callable[..., User], settings: Any) -> User:
    """Somebody, on an installation whose storage is no file system."""
    memory = {"BACKEND": "django.core.files.storage.InMemoryStorage"}
    settings.STORAGES = {**settings.STORAGES, "default": memory}
    return make_user()


@pytest.fixture
def upload(owner: User) -> Upload:
    """Ten bytes are to come."""
    return resumable.begin(owner=owner, length=10)


def objects(upload: Upload) -> list[str]:
    """The names of what is stored of it."""
    try:
        return sorted(default_storage.listdir(f"in-parts/{upload.pk}")[1])
    except FileNotFoundError:
        return []


def whole(upload: Upload) -> bytes:
    """What has come."""
    with resumable.CompleteUpload(upload) as opened:
        return opened.read()


def send(upload: Upload, *parts: bytes) -> int:
    """Send parts, one after the other."""
    for part in parts:
        resumable.append(upload, io.BytesIO(part), offset=resumable.offset_of(upload))
    return resumable.offset_of(upload)


def test_parts_become_one_file(upload: Upload) -> None:
    assert resumable.offset_of(upload) == 0
    assert send(upload, b"1234", b"", b"5", b"67890") == 10
    assert whole(upload) == b"1234567890"
    with resumable.CompleteUpload(upload) as opened:
        assert [opened.read(3), opened.read(3), opened.seek(2), opened.read(4), opened.read(), opened.read()] == [
            b"123",
            b"456",
            2,
            b"3456",
            b"7890",
            b"",
        ]


def test_what_does_not_belong_there_leaves_nothing(upload: Upload) -> None:
    send(upload, b"1234")
    stored = objects(upload)
    refused = [
        (b"x", 3, None, UploadOffsetWrong),
        (b"x", 5, None, UploadOffsetWrong),
        (b"5678901", 4, None, UploadTooLarge),
        (b"56", 4, ("sha256", hashlib.sha256(b"other").digest()), UploadPartDamaged),
    ]
    for content, offset, checksum, error in refused:
        with pytest.raises(error):
            resumable.append(upload, io.BytesIO(content), offset=offset, checksum=checksum)
    assert (resumable.offset_of(upload), objects(upload)) == (4, stored)
    with pytest.raises(UploadUnusable, match="has 4 of its 10 bytes"):
        resumable.CompleteUpload(upload)


def test_what_came_before_the_connection_broke_stays(upload: Upload) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            chunk = super().read(size)
            if not chunk:
                raise OSError("the connection broke")
            return chunk

    for content in (b"1234", b""):
        with pytest.raises(OSError, match="broke"):
            resumable.append(upload, Broken(content), offset=resumable.offset_of(upload))
    assert send(upload, b"567890") == 10
    assert whole(upload) == b"1234567890"


def test_the_place_is_looked_at_again_once_the_part_is_here(upload: Upload) -> None:
    """Of two parts for one place, sent at once, the one that is here first is kept."""

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() == 0:
                send(upload, b"first")
            return super().read(size)

    with pytest.raises(UploadOffsetWrong, match="has 5 bytes"):
        resumable.append(upload, Slow(b"second"), offset=0)
    assert send(upload, b"67890") == 10
    assert whole(upload) == b"first67890"


@pytest.mark.django_db(transaction=True)
def test_a_part_while_another_is_kept_is_told_to_wait(upload: Upload) -> None:
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Upload.objects.select_for_update().get(pk=upload.pk)
            held.set()
            over.wait(PATIENCE)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(PATIENCE)
    with pytest.raises(UploadBusy):
        send(upload, b"1234")
    over.set()
    thread.join(PATIENCE)
    assert objects(upload) == []
    assert send(upload, b"1234") == 4


def test_an_object_without_a_row_counts_for_nothing_and_goes_with_its_upload(upload: Upload) -> None:
    send(upload, b"1234")
    default_storage.save(f"in-parts/{upload.pk}/00004-dead", ContentFile(b"a server died after this"))
    assert send(upload, b"567890") == 10
    assert whole(upload) == b"1234567890"
    resumable.end(upload)
    assert objects(upload) == []
    with pytest.raises(UploadNotFound):
        send(upload, b"1234")
    assert objects(upload) == []


def test_parts_without_end_are_refused(upload: Upload, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_objects, "_MOST_PARTS", 3)
    send(upload, b"1", b"2", b"3")
    with pytest.raises(TooManyParts, match="in 3 parts"):
        send(upload, b"4")
    assert UploadPart.objects.count() == len(objects(upload)) == 3


def test_what_expired_or_lost_its_row_is_swept(owner: User, upload: Upload) -> None:
    lost, fresh = (resumable.begin(owner=owner, length=10) for _ in range(2))
    for one in (upload, lost, fresh):
        send(one, b"1234", b"56")
    Upload.objects.filter(pk=upload.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    Upload.objects.filter(pk=lost.pk).delete()
    assert resumable.sweep_uploads() == 2
    assert (objects(upload), objects(lost)) == ([], [])
    assert len(objects(fresh)) == UploadPart.objects.count() == 2
    assert resumable.sweep_uploads() == 0


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3-compatible server."""
    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


def test_each_web_server_takes_any_part(
    s3: str, settings: Any, tmp_path: Path, make_phase: Any, make_participant: Any, agent_zip: Any
) -> None:
    """Three servers, each with a folder of its own, share a bucket."""
    bucket = f"gauntlet-{os.urandom(4).hex()}"
    options = {"bucket_name": bucket, "endpoint_url": s3, "access_key": "x", "secret_key": "x"}
    backend = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": {**options, "region_name": "us-east-1"}}
    settings.STORAGES = {**settings.STORAGES, "default": backend}
    stored = default_storage.connection.create_bucket(Bucket=bucket)  # type: ignore[attr-defined]
    phase = make_phase()
    user, content = make_participant(phase), agent_zip()

    def on(server: str) -> None:
        settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / server)
        (tmp_path / server).mkdir(exist_ok=True)

    on("a")
    upload = resumable.begin(owner=user, length=len(content), file_name="mine.zip")
    for server, part in zip("bcab", (content[:50], content[50:51], content[51:90], content[90:]), strict=True):
        on(server)
        send(upload, part)
    on("c")
    submission = receive_sent(upload.pk, phase=phase, participant=user)
    with open_artifact(submission.bundle) as opened:
        assert opened.read() == content
    assert not list(stored.objects.filter(Prefix="in-parts"))
    assert [list((tmp_path / server).iterdir()) for server in "abc"] == [[], [], []]
    on("b")
    assert receive_sent(upload.pk, phase=phase, participant=user) == submission
