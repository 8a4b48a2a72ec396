"""Collecting by descriptor: regular files only, within limits, and nothing is followed on either side."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gauntlet_runtime.sandbox.interface import Collected, SandboxError
from gauntlet_runtime.sandbox.outputs import collect_tree, seed_tree, tree_size


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def into(tmp_path: Path) -> Path:
    return tmp_path / "into"


def collect(source: Path, into: Path, *, max_bytes: int = 1 << 20, max_files: int = 100) -> Collected:
    descriptor = os.open(source, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return collect_tree(descriptor, into, max_bytes=max_bytes, max_files=max_files)
    finally:
        os.close(descriptor)


def test_copies_files_and_folders(source, into):
    (source / "a" / "b").mkdir(parents=True)
    (source / "a" / "b" / "deep").write_bytes(b"1")
    (source / "top").write_bytes(b"22")
    collected = collect(source, into)
    assert (collected.files, collected.bytes, collected.skipped, collected.truncated) == (2, 3, (), False)
    assert (into / "a" / "b" / "deep").read_bytes() == b"1"


def test_links_to_anything_are_skipped(source, into, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (source / "file").symlink_to(tmp_path / "secret")
    (source / "folder").symlink_to(tmp_path)
    (source / "dangling").symlink_to("nowhere")
    (source / "loop").symlink_to("loop")
    collected = collect(source, into)
    assert list(into.iterdir()) == []
    assert len(collected.skipped) == 4


def test_special_files_are_skipped_without_being_opened(source, into, monkeypatch):
    os.mkfifo(source / "fifo")
    monkeypatch.chdir(source)  # a unix socket's path must be short
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")
        os.mknod(source / "null", 0o020666, os.makedev(1, 3))
        collected = collect(source, into)
    assert list(collected.skipped) == ["door: a socket", "fifo: a FIFO", "null: a device"]


def test_the_size_limit_is_kept_though_small_files_follow(source, into):
    (source / "1-large").write_bytes(bytes(900))
    (source / "2-too-large").write_bytes(bytes(200))
    (source / "3-fits").write_bytes(bytes(100))
    collected = collect(source, into, max_bytes=1000)
    assert (collected.files, collected.bytes, collected.truncated) == (2, 1000, True)
    assert [name.split(":")[0] for name in collected.skipped] == ["2-too-large"]


def test_a_sparse_file_counts_with_its_length(source, into):
    with (source / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    collected = collect(source, into)
    assert (collected.files, collected.truncated) == (0, True)


def test_what_is_in_the_way_is_neither_followed_nor_overwritten(source, into, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    into.mkdir()
    (into / "file").symlink_to(outside / "kept")
    (into / "folder").symlink_to(outside)
    (source / "file").write_text("new")
    (source / "folder").mkdir()
    (source / "folder" / "new").write_text("new")
    collected = collect(source, into)
    assert collected.files == 0
    assert len(collected.skipped) == 2
    assert (outside / "kept").read_text() == "kept"
    assert sorted(path.name for path in outside.iterdir()) == ["kept"]


def test_a_chain_of_folders_without_end_is_cut(source, into):
    path = source
    descriptor = os.open(source, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    collected = collect(path, into)
    assert collected.truncated
    assert collected.skipped[0].endswith("too deep")


def test_the_list_of_what_was_skipped_has_an_end(source, into):
    for number in range(1500):
        (source / str(number)).symlink_to("nowhere")
    assert len(collect(source, into).skipped) == 1000


def test_of_a_folder_with_too_many_files_no_more_are_looked_at(source, into, monkeypatch):
    for number in range(1200):
        (source / str(number)).write_bytes(b"1")
    looked_at = []
    look = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **how: looked_at.append(path) or look(path, **how))
    collected = collect(source, into, max_files=100)
    monkeypatch.undo()
    assert (collected.files, collected.truncated) == (100, True)
    assert len(looked_at) == 1100
    assert len(list(into.iterdir())) == 100


def test_folders_without_files_have_an_end_too(source, into):
    for number in range(150):
        (source / "wide" / str(number)).mkdir(parents=True)
    collected = collect(source, into, max_files=100)
    assert collected.truncated
    assert len(list((into / "wide").iterdir())) == 99
    assert collected.skipped[0].endswith("more folders than files are allowed")


def test_names_that_are_no_text_are_carried_over(source, into):
    name = os.fsdecode(b"caf\xe9 \n")
    (source / name).write_text("x")
    assert collect(source, into).files == 1
    assert [path.name for path in into.iterdir()] == [name]


def test_special_modes_are_not_carried_over(source, into):
    (source / "tool").write_text("#!/bin/sh\n")
    (source / "tool").chmod(0o6777)
    (source / "text").write_text("x")
    (source / "text").chmod(0o000)
    collect(source, into)
    assert (into / "tool").stat().st_mode & 0o7777 == 0o755
    assert (into / "text").stat().st_mode & 0o7777 == 0o644


@pytest.fixture
def open_target(tmp_path: Path) -> Iterator[int]:
    target = tmp_path / "target"
    target.mkdir()
    descriptor = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def test_a_private_copy_belongs_to_the_sandbox(source, open_target, tmp_path):
    (source / "folder").mkdir()
    (source / "folder" / "file").write_text("x")
    (source / "link").symlink_to("folder/file")
    seed_tree(source, open_target, owner=1_900_000_001)
    for path in (tmp_path / "target").rglob("*"):
        assert path.lstat().st_uid == path.lstat().st_gid == 1_900_000_001
    assert (tmp_path / "target" / "link").read_text() == "x"


def test_a_private_copy_of_something_else_than_files_is_refused(source, open_target):
    os.mkfifo(source / "fifo")
    with pytest.raises(SandboxError, match="fifo"):
        seed_tree(source, open_target, owner=None)


def test_the_size_of_a_copy_covers_its_entries(source):
    (source / "folder").mkdir()
    (source / "folder" / "file").write_bytes(bytes(10_000))
    assert tree_size(source) >= 10_000 + 2 * 4096
