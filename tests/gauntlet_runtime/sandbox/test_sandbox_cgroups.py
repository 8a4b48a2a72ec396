"""Reading counters under both versions of control groups. The files of version 2 are written by the test itself:
a host has its controllers in one version only, and what is read is plain text."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gauntlet_runtime.sandbox import cgroups, this_process
from gauntlet_runtime.sandbox.bubblewrap import Bubblewrap
from gauntlet_runtime.sandbox.cgroups import (
    ROOT,
    Hierarchy,
    HierarchyV2,
    find_hierarchy,
    group_in,
    group_of,
    remove_group,
)
from gauntlet_runtime.sandbox.interface import Cause, Limits, SandboxGone, SandboxSpec

EVENTS = "low 0\nhigh 0\nmax 31\noom {oom}\noom_kill 2\noom_group_kill 0\n"
HOG = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))"


@pytest.fixture
def version_2(tmp_path: Path) -> HierarchyV2:
    return HierarchyV2(tmp_path, frozenset({"memory", "pids", "cpu"}))


def test_version_2_gets_its_limits(version_2, tmp_path):
    version_2.make("run", Limits(memory=1 << 20, processes=10, cpus=0.5))
    written = {path.name: path.read_text() for path in (tmp_path / "run").iterdir()}
    assert written == {"memory.max": "1048576", "pids.max": "11", "cpu.max": "50000 100000"}


def test_version_2_is_read(version_2, tmp_path):
    version_2.make("run", Limits())
    (tmp_path / "run" / "memory.events").write_text(EVENTS.format(oom=2))
    (tmp_path / "run" / "memory.peak").write_text("12345\n")
    (tmp_path / "run" / "pids.events").write_text("max 7\n")
    (tmp_path / "run" / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n")
    counters = version_2.counters("run")
    assert (counters.oom_kills, counters.process_limit_hits) == (2, 7)
    assert (counters.memory_peak, counters.cpu_seconds) == (12345, 1.5)


def test_a_group_that_disappeared_is_the_sandboxs_fault(version_2):
    with pytest.raises(SandboxGone):
        version_2.counters("never")


def test_version_2_tells_a_kill_for_the_hosts_want_of_memory_from_one_for_its_own(version_2, tmp_path):
    version_2.make("run", Limits())
    (tmp_path / "run" / "memory.events").write_text(EVENTS.format(oom=0))
    (tmp_path / "run" / "memory.peak").write_text(f"{20 << 20}\n")
    with pytest.raises(SandboxGone, match="ran out of memory: run lost processes; it had 20 MiB at most"):
        version_2.counters("run")


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[Hierarchy]:
    """Groups below one that may have 100 MiB together: a host, or a worker's group, without more memory."""
    own = Path("/proc/self/cgroup").read_text(encoding="ascii")
    lines = [line.split(":", 2) for line in own.splitlines()]
    path = next((path for _, controllers, path in lines if controllers == "memory"), None)
    name = f"gauntlet-crowded-{os.getpid()}"
    if path is None:
        tight = ROOT / name
        tight.mkdir()
        for folder in (ROOT, tight):
            (folder / "cgroup.subtree_control").write_text("+memory")
        (tight / "memory.max").write_text(str(100 << 20))
        hierarchy: Hierarchy | None = HierarchyV2(tight, frozenset({"memory"}))
    else:
        tight = ROOT / "memory" / path.lstrip("/") / name
        tight.mkdir()
        (tight / "memory.limit_in_bytes").write_text(str(100 << 20))
        told = tmp_path / "cgroup"
        told.write_text(own.replace(f":memory:{path}", f":memory:{path.rstrip('/')}/{name}"))
        hierarchy = find_hierarchy(own=told)
    assert hierarchy is not None
    yield hierarchy
    tight.rmdir()


def test_a_program_killed_for_the_hosts_want_of_memory_has_no_verdict(crowded, images_folder, tmp_path):
    sandbox = Bubblewrap(state=tmp_path / "state", images=images_folder)
    sandbox._hierarchy = crowded
    limits = {"more than there is": 400 << 20, "less": 50 << 20}
    ended = {}
    for what, memory in limits.items():
        spec = SandboxSpec(
            image="gauntlet/agent",
            command=["python", "-c", HOG],
            label="crowded",
            owner=this_process(),
            limits=Limits(memory=memory, seconds=60),
        )
        with sandbox.prepare(spec) as run:
            run.start()
            try:
                verdict = run.wait()
                ended[what] = verdict and (verdict.cause, verdict.memory_peak)
            except SandboxGone as error:
                ended[what] = str(error)
    assert "ran out of memory" in ended["more than there is"]
    assert ended["less"] == (Cause.MEMORY_LIMIT, pytest.approx(50 << 20, rel=0.05))


def test_removing_a_group_kills_what_is_in_it():
    hierarchy = find_hierarchy()
    assert hierarchy is not None
    run = f"test-removal-{os.getpid()}"
    hierarchy.make(run, Limits())
    with subprocess.Popen(["sleep", "600"]) as process:
        hierarchy.add(run, process.pid)
        assert hierarchy.counters(run).oom_kills == 0
        assert group_of(process.pid)[1] == run
        hierarchy.remove(run)
        assert process.wait() == -9
    assert not any(folder.exists() for folder in hierarchy.folders(run))
    remove_group(hierarchy.folders(run)[0])


@pytest.fixture
def delegated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A group of version 2 that a plain user may do with as it likes, as systemd gives one to a session."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    session = tmp_path / "session"
    (session / "gauntlet").mkdir(parents=True)
    for folder in (tmp_path, session, session / "gauntlet"):
        (folder / "cgroup.controllers").write_text("memory pids cpu\n")
    return session


def _found_from(session: Path, group: str) -> Hierarchy | None:
    own = session / "own"
    own.write_text(f"0::{group}\n")
    return find_hierarchy(root=session.parent, own=own)


def test_a_plain_users_process_that_asks_again_has_the_same_place(delegated):
    """It was moved into a leaf the first time, and so were the processes that it starts."""
    (delegated / "cgroup.procs").write_text(f"{os.getpid()}\n")
    first = _found_from(delegated, "/session")
    again = _found_from(delegated, "/session/worker")
    assert first is not None
    assert again is not None
    assert first.folders("run") == again.folders("run") == [delegated / "gauntlet/run"]
    assert not (delegated / "worker/worker").exists()


@pytest.mark.parametrize(("top", "moved"), [("a container's", True), ("the host's own", False)])
def test_root_in_a_container_makes_room_at_the_top_and_on_a_host_moves_nobody(delegated, monkeypatch, top, moved):
    """Else no controller could be had in a container: the kernel refuses it where processes are."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    if top == "a container's":
        (delegated / "cgroup.type").write_text("domain\n")
    (delegated / "own").write_text("0::/\n")
    listed = iter([[os.getpid()], []])
    monkeypatch.setattr(cgroups, "processes_of", lambda group: next(listed))
    hierarchy = find_hierarchy(root=delegated, own=delegated / "own")
    assert hierarchy is not None
    assert hierarchy.folders("run") == [delegated / "gauntlet/run"]
    place = delegated / "worker/cgroup.procs"
    assert (place.exists() and place.read_text() == str(os.getpid())) == moved


def test_processes_that_come_and_go_meanwhile_take_no_limit_away(delegated, monkeypatch):
    listed = iter([[os.getpid(), 99_999_999], [os.getppid()], []])
    monkeypatch.setattr(cgroups, "processes_of", lambda group: next(listed))
    write, moved = cgroups._write, []

    def move(path: Path, value: int | str) -> None:
        if value == 99_999_999:
            raise ProcessLookupError(errno.ESRCH, "No such process")  # as the kernel says it
        if path == delegated / "worker/cgroup.procs":
            moved.append(value)
        write(path, value)

    monkeypatch.setattr(cgroups, "_write", move)
    assert _found_from(delegated, "/session") is not None
    assert moved == [os.getpid(), os.getppid()]


def test_a_container_is_found_on_a_host_that_does_not_count_memory(tmp_path):
    """Of version 1, started with cgroup_disable=memory."""
    proc = tmp_path / "cgroup"
    proc.write_text("3:pids:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/\n")
    hierarchy, run = group_in(proc.read_text(), root=tmp_path)
    assert run == "abc"
    assert hierarchy.controllers == {"pids", "cpu"}


def test_no_group_is_made_where_the_platform_may_make_none(tmp_path):
    own = tmp_path / "cgroup"
    own.write_text("4:memory:/elsewhere\n0::/\n")
    assert find_hierarchy(root=tmp_path, own=own) is None
