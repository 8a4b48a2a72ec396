"""No two sandboxes of a host have one uid at once, whatever becomes of their workers."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from gauntlet_runtime.sandbox import uids
from gauntlet_runtime.sandbox.interface import SandboxError


def test_leases_of_one_process_differ_until_the_range_is_used_up(tmp_path):
    leases = [uids.lease(tmp_path, run=f"r{number}", first=5000, count=3) for number in range(3)]
    assert {lease.uid for lease in leases} == {5000, 5001, 5002}
    with pytest.raises(SandboxError, match="no free uid"):
        uids.lease(tmp_path, run="one too many", first=5000, count=3)
    leases[1].release()
    leases[1].release()
    assert uids.lease(tmp_path, run="next", first=5000, count=3).uid == leases[1].uid


def test_a_uid_that_cannot_be_noted_is_the_sandboxs_fault_and_stays_free(tmp_path):
    """A full disk: here a file may not grow."""
    open_before = len(os.listdir("/proc/self/fd"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(SandboxError, match="no uid can be leased"):
            uids.lease(tmp_path, run="r", first=5000, count=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert uids.lease(tmp_path, run="r", first=5000, count=1).uid == 5000


HOLDER = """
import sys
from pathlib import Path
from gauntlet_runtime.sandbox import uids
lease = uids.lease(Path(sys.argv[1]), run="of the other", first=5000, count=1)
print(lease.uid, flush=True)
sys.stdin.read()
"""


def test_a_dead_workers_uid_rests_until_its_run_was_reaped(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "5000\n"
        with pytest.raises(SandboxError):
            uids.lease(tmp_path, run="mine", first=5000, count=1)
        uids.forget(tmp_path, uid=5000, run="of the other")  # a live lease is not forgotten
        with pytest.raises(SandboxError):
            uids.lease(tmp_path, run="mine", first=5000, count=1)
        other.kill()
        other.wait()
    with pytest.raises(SandboxError):  # its processes may still be about
        uids.lease(tmp_path, run="mine", first=5000, count=1)
    uids.forget(tmp_path, uid=5000, run="somebody else's")
    with pytest.raises(SandboxError):
        uids.lease(tmp_path, run="mine", first=5000, count=1)
    uids.forget(tmp_path, uid=5000, run="of the other")
    assert uids.lease(tmp_path, run="mine", first=5000, count=1).uid == 5000


def test_a_uid_whose_owner_died_before_it_had_a_record_is_freed_and_a_live_or_recorded_ones_is_not(tmp_path):
    for uid, run in ((5000, "died early"), (5001, "has a record")):
        (tmp_path / str(uid)).write_text(run)
    live = uids.lease(tmp_path, run="live", first=5002, count=1)
    assert uids.forget_strays(tmp_path, has_record=lambda run: run == "has a record") == 1
    assert [(tmp_path / str(uid)).read_text() for uid in (5000, 5001, 5002)] == ["", "has a record", "live"]
    live.release()
    assert uids.forget_strays(tmp_path / "missing", has_record=lambda run: False) == 0
