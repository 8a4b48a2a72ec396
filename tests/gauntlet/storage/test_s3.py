"""Artifacts on S3-compatible storage: moto's server, reached over the loopback as any other would be."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from moto.server import ThreadedMotoServer

from gauntlet.storage.models import Form
from gauntlet.storage.services import copy_to, open_artifact, store, store_folder

pytestmark = pytest.mark.django_db
MEMORY = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Its address."""
    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


@pytest.fixture(autouse=True)
def bucket(own_storage: None, server: str, settings: Any) -> Any:
    """An empty bucket as the installation's storage; what is read goes to the disk beyond a megabyte."""
    options = {
        "bucket_name": f"gauntlet-{os.urandom(4).hex()}",
        "endpoint_url": server,
        "access_key": "x",
        "secret_key": "x",
        "region_name": "us-east-1",
        "max_memory_size": MEMORY,
    }
    backend = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": backend}
    return default_storage.connection.create_bucket(Bucket=options["bucket_name"])  # type: ignore[attr-defined]


def keys(bucket: Any) -> list[str]:
    return [each.key for each in bucket.objects.all()]


def test_what_is_stored_twice_is_one_object_named_by_its_digest(bucket: Any) -> None:
    first = store(io.BytesIO(b"content"), form=Form.FILE)
    assert store(io.BytesIO(b"content"), form=Form.FILE) == first
    assert keys(bucket) == [first.path]
    with open_artifact(first) as opened:
        assert opened.read() == b"content"


def test_a_folder_comes_back_as_it_went(bucket: Any, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "run.sh").write_text("#!/bin/sh\n")
    artifact = store_folder(folder)
    copy_to(artifact, tmp_path / "copy.zip")
    assert (tmp_path / "copy.zip").stat().st_size == artifact.size
    assert store(tmp_path / "copy.zip", form=Form.ZIP) == artifact


def test_a_large_object_is_read_through_the_disk(bucket: Any) -> None:
    content = os.urandom(3 * MEMORY)
    artifact = store(io.BytesIO(content), form=Form.FILE)
    with open_artifact(artifact) as opened:
        opened.seek(2 * MEMORY)
        assert opened.read() == content[2 * MEMORY :]
        assert opened.file._rolled  # type: ignore[attr-defined]  # of tempfile.SpooledTemporaryFile


def test_an_object_that_was_cut_off_is_replaced(bucket: Any) -> None:
    artifact = store(io.BytesIO(b"whole"), form=Form.FILE)
    bucket.put_object(Key=artifact.path, Body=b"who")
    store(io.BytesIO(b"whole"), form=Form.FILE)
    with open_artifact(artifact) as opened:
        assert opened.read() == b"whole"
