"""Reading counters under both versions of control groups. The files of version 2 are written by the test itself:
a host has its controllers in one version only, and what is read is plain text."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gauntlet_runtime.sandbox.cgroups import HierarchyV2, find_hierarchy, group_of, remove_group
from gauntlet_runtime.sandbox.interface import Limits, SandboxGone


@pytest.fixture
def version_2(tmp_path: Path) -> HierarchyV2:
    return HierarchyV2(tmp_path, frozenset({"memory", "pids", "cpu"}))


def test_version_2_gets_its_limits(version_2, tmp_path):
    version_2.make("run", Limits(memory=1 << 20, processes=10, cpus=0.5))
    written = {path.name: path.read_text() for path in (tmp_path / "run").iterdir()}
    assert written == {"memory.max": "1048576", "pids.max": "11", "cpu.max": "50000 100000"}


def test_version_2_is_read(version_2, tmp_path):
    version_2.make("run", Limits())
    (tmp_path / "run" / "memory.events").write_text("low 0\nhigh 0\nmax 31\noom 2\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "run" / "memory.peak").write_text("12345\n")
    (tmp_path / "run" / "pids.events").write_text("max 7\n")
    (tmp_path / "run" / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n")
    counters = version_2.counters("run")
    assert (counters.oom_kills, counters.process_limit_hits) == (2, 7)
    assert (counters.memory_peak, counters.cpu_seconds) == (12345, 1.5)


def test_a_group_that_disappeared_is_the_sandboxs_fault(version_2):
    with pytest.raises(SandboxGone):
        version_2.counters("never")


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


def test_no_group_is_made_where_the_platform_may_make_none(tmp_path):
    own = tmp_path / "cgroup"
    own.write_text("4:memory:/elsewhere\n0::/\n")
    assert find_hierarchy(root=tmp_path, own=own) is None
