"""Artifacts: the same bytes are one row and one object, wholly or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage, default_storage
from django.db import connections

from gauntlet.storage.errors import FolderRefused
from gauntlet.storage.folders import write_zip
from gauntlet.storage.models import Artifact, Form
from gauntlet.storage.services import copy_to, open_artifact, store, store_folder

pytestmark = pytest.mark.django_db


def _objects(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def storage_folder(tmp_path: Path) -> Path:
    """Where the test's artifacts lie."""
    return tmp_path / "artifacts"


def test_an_artifact_is_named_by_its_content_and_read_back() -> None:
    content = os.urandom(3 << 20)
    artifact = store(io.BytesIO(content), form=Form.FILE)
    assert artifact.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert artifact.size == len(content)
    with open_artifact(artifact) as opened:
        assert opened.read() == content


def test_the_same_bytes_twice_are_one_row_and_one_object(storage_folder: Path) -> None:
    first = store(io.BytesIO(b"same"), form=Form.FILE)
    second = store(io.BytesIO(b"same"), form=Form.FILE)
    assert first == second
    assert Artifact.objects.count() == 1
    assert len(_objects(storage_folder)) == 1


def test_a_file_that_comes_again_as_a_zip_becomes_a_zip_and_never_back() -> None:
    store(io.BytesIO(b"bytes"), form=Form.FILE)
    assert store(io.BytesIO(b"bytes"), form=Form.ZIP).form == Form.ZIP
    assert store(io.BytesIO(b"bytes"), form=Form.FILE).form == Form.ZIP
    assert Artifact.objects.get().form == Form.ZIP


class _Breaks(io.RawIOBase):
    """A source whose second chunk cannot be read."""

    def __init__(self) -> None:
        self._chunks = iter([b"x" * 1000])

    def read(self, size: int = -1) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            raise OSError("the client hung up") from None


def test_a_source_that_breaks_leaves_neither_row_nor_file(storage_folder: Path) -> None:
    with pytest.raises(OSError, match="hung up"):
        store(_Breaks(), form=Form.FILE)  # type: ignore[arg-type]
    assert not Artifact.objects.exists()
    assert _objects(storage_folder) == []


@pytest.mark.django_db(transaction=True)
def test_many_who_store_the_same_bytes_at_once_get_one_artifact(storage_folder: Path) -> None:
    content = os.urandom(1 << 20)
    barrier = threading.Barrier(4)
    got: list[Any] = []

    def run() -> None:
        try:
            barrier.wait()
            got.append(store(io.BytesIO(content), form=Form.FILE).digest)
        except OSError as error:
            got.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [f"sha256:{hashlib.sha256(content).hexdigest()}"] * 4
    assert Artifact.objects.count() == 1
    (only,) = _objects(storage_folder)
    assert only.read_bytes() == content


def test_a_cut_off_object_of_a_dying_disk_is_replaced(storage_folder: Path) -> None:
    artifact = store(io.BytesIO(b"whole"), form=Form.FILE)
    path = storage_folder / artifact.path
    path.chmod(0o600)
    path.write_bytes(b"who")
    store(io.BytesIO(b"whole"), form=Form.FILE)
    assert path.read_bytes() == b"whole"


def test_a_copy_on_the_same_file_system_is_a_link_and_not_writable_by_others(tmp_path: Path) -> None:
    artifact = store(io.BytesIO(b"content"), form=Form.FILE)
    copy_to(artifact, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"content"
    assert (tmp_path / "copy").stat().st_nlink == 2
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o444


def test_another_storage_than_a_file_system_is_used_through_djangos_interface(settings: Any, tmp_path: Path) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "django.core.files.storage.InMemoryStorage", "OPTIONS": {}},
    }
    artifact = store(io.BytesIO(b"content"), form=Form.FILE)
    assert store(io.BytesIO(b"content"), form=Form.FILE) == artifact
    assert default_storage.listdir(artifact.path[:2])[1] == [artifact.path[3:]]
    copy_to(artifact, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"content"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["copy"]


def test_who_loses_a_race_on_another_storage_leaves_nothing_behind(settings: Any, monkeypatch: Any) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {"BACKEND": "django.core.files.storage.InMemoryStorage", "OPTIONS": {}},
    }
    first = store(io.BytesIO(b"content"), form=Form.FILE)
    monkeypatch.setattr(InMemoryStorage, "exists", lambda self, name: False, raising=True)
    monkeypatch.setattr(
        InMemoryStorage, "get_available_name", lambda self, name, max_length=None: f"{name}_other", raising=True
    )
    store(io.BytesIO(b"content"), form=Form.FILE)
    assert default_storage.listdir(first.path[:2])[1] == [first.path[3:]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small folder with what operating systems leave behind."""
    root = tmp_path / "folder"
    (root / "b" / "empty").mkdir(parents=True)
    (root / "__MACOSX").mkdir()
    (root / "__MACOSX" / "x").write_text("noise")
    (root / ".DS_Store").write_text("noise")
    (root / "a.txt").write_text("a")
    (root / "b" / "run.sh").write_text("#!/bin/sh\n")
    (root / "b" / "run.sh").chmod(0o755)
    return root


def _zip(folder: Path) -> bytes:
    out = io.BytesIO()
    write_zip(folder, out)
    return out.getvalue()


def test_a_folder_gives_the_same_bytes_whatever_its_times_modes_and_order(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "b" / "empty").mkdir(parents=True)
    (other / "b" / "run.sh").write_text("#!/bin/sh\n")
    (other / "b" / "run.sh").chmod(0o700)
    (other / "a.txt").write_text("a")
    (other / "a.txt").chmod(0o600)
    os.utime(other / "a.txt", (1, 1))
    assert _zip(folder) == _zip(other)
    assert store_folder(folder) == store_folder(other)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda f: (f / "a.txt").write_text("b"), id="content"),
        pytest.param(lambda f: (f / "a.txt").rename(f / "c.txt"), id="name"),
        pytest.param(lambda f: (f / "a.txt").chmod(0o755), id="execute bit"),
        pytest.param(lambda f: (f / "b" / "empty").rmdir(), id="empty folder"),
    ],
)
def test_a_change_gives_other_bytes(folder: Path, change: Callable[[Path], object]) -> None:
    before = _zip(folder)
    change(folder)
    assert _zip(folder) != before


def test_a_folder_with_a_link_is_refused_by_name(folder: Path) -> None:
    (folder / "b" / "secret").symlink_to("/etc/passwd")
    with pytest.raises(FolderRefused, match="secret"):
        store_folder(folder)
    assert not Artifact.objects.exists()


def test_the_database_refuses_a_digest_of_another_form() -> None:
    from django.db import IntegrityError

    with pytest.raises(IntegrityError):
        Artifact.objects.create(digest="md5:abc", size=1)
