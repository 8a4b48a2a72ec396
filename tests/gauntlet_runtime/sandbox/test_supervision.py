"""What a run's supervisor owes to those who wait, whatever fails in it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
import time
from typing import Any

import pytest

from gauntlet_runtime.sandbox.folders import Anchor
from gauntlet_runtime.sandbox.interface import SandboxError, SandboxSpec
from gauntlet_runtime.sandbox.supervision import Setting, SupervisedRun


class Broken(SupervisedRun):
    """A backend in which the steps that are named fail, in ways that nobody thought of."""

    def __init__(self, folder: Any, *fails: str) -> None:
        self._fails = fails
        self.released = 0
        self._go = threading.Event()
        spec = SandboxSpec(image="none", command=["none"], label="broken", owner="1:1")
        super().__init__(spec, Setting(uid=0, owner=None, folder=folder, mounts=(), release=self._release))

    def _release(self) -> None:
        self.released += 1

    @property
    def host_pid(self) -> None:
        return None

    def _launch(self) -> Any:
        if "launch" in self._fails:
            raise ZeroDivisionError
        return None

    def _let_go(self) -> None:
        self._go.set()

    def _watch(self, anchor: Any) -> Any:
        assert self._go.wait(30)
        return "a verdict"

    def _clear_away(self) -> None:
        if "clear" in self._fails:
            raise KeyError


@pytest.mark.parametrize(
    ("fails", "told"), [(("launch",), ZeroDivisionError), (("launch", "clear"), ZeroDivisionError)]
)
def test_whoever_prepares_hears_why_it_failed(tmp_path, fails, told):
    heard: list[BaseException] = []

    def prepare() -> None:
        try:
            Broken(tmp_path, *fails)
        except SandboxError as error:
            heard.append(error)

    thread = threading.Thread(target=prepare, daemon=True)
    thread.start()
    thread.join(30)
    assert [type(error.__cause__) for error in heard] == [ZeroDivisionError]


def test_whoever_waits_hears_that_it_was_not_cleared_away(tmp_path):
    run = Broken(tmp_path, "clear")
    run.start()
    with pytest.raises(SandboxError, match="KeyError"):
        run.wait(30)
    run.close()
    assert run.released == 1


def test_a_run_that_no_thread_can_supervise_is_the_sandboxs_fault_and_leaves_nothing(tmp_path, monkeypatch):
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    released: list[Broken] = []
    monkeypatch.setattr(Broken, "_release", lambda run: released.append(run))
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with pytest.raises(SandboxError, match="can't start new thread"):
        Broken(tmp_path)
    assert len(released) == 1
    assert os.listdir("/proc/self/fd") == before


def test_a_kill_that_comes_after_the_end_reaches_nobody_else() -> None:
    """The number of a handle that was closed is given out again: here to another sandbox's."""
    over, lives = subprocess.Popen(["sleep", "600"]), subprocess.Popen(["sleep", "600"])
    late = Anchor(init=over.pid, init_handle=os.pidfd_open(over.pid))
    number = late.init_handle
    late.close()
    other = Anchor(init=lives.pid, init_handle=os.pidfd_open(lives.pid))
    try:
        assert other.init_handle == number
        late.kill()
        late.close()
        os.fstat(other.init_handle)
        other.kill()
        assert lives.wait(30) == -9
    finally:
        other.close()
        for process in (over, lives):
            process.kill()
            process.wait()


def test_an_end_is_waited_for_also_by_a_worker_that_has_many_files_open() -> None:
    """`select` takes no descriptor above 1023."""
    ends = subprocess.Popen(["sleep", "0.2"])
    low = os.pidfd_open(ends.pid)
    high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 1500)
    os.close(low)
    anchor = Anchor(init=ends.pid, init_handle=high)
    try:
        begun = time.monotonic()
        anchor.wait(30)
        assert ends.poll() == 0
        assert time.monotonic() - begun < 20
    finally:
        anchor.close()
        ends.kill()
        ends.wait()
