"""What a run's supervisor owes to those who wait, whatever fails in it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

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
